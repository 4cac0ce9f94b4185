// Package azure tests that tapedeck reads Azure Blob Storage by URL, on Microsoft's emulator Azurite.
package azure

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/store"
	web "tapedeck/codec/store/http"
	"tapedeck/test/internal/process"
	"tapedeck/test/samples"
)

// The account in Azurite, and its key in base64.
const account, key = "car", "c2VjcmV0IG9mIHRoZSBhY2NvdW50"

// bin is the folder of the converter.
var bin string

func TestMain(m *testing.M) { os.Exit(process.Main(m, &bin, "converter")) }

// azurite is a running Azurite with one container, fleet.
type azurite struct {
	t       *testing.T
	address string // of the container
}

// newStore starts Azurite.
func newStore(t *testing.T) *azurite {
	modules := process.Modules(t, "Azure Blob Storage is not tested with Azurite")
	port := process.Port(t)
	cmd := exec.Command("node", modules+"/node_modules/azurite/dist/src/blob/main.js", "--blobHost", "127.0.0.1",
		"--blobPort", port, "--location", t.TempDir(), "--silent", "--disableTelemetry")
	cmd.Env = append(os.Environ(), "AZURITE_ACCOUNTS="+account+":"+key)
	process.Start(t, cmd)
	process.Await(t, func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	s := &azurite{t: t, address: "http://127.0.0.1:" + port + "/" + account + "/fleet"}
	s.sendPut(s.address+"?restype=container&"+s.token("rwcl"), nil)
	return s
}

// token returns a shared access signature of the account.
func (s *azurite) token(permissions string) string {
	const version, services, resources, protocol = "2019-12-12", "b", "sco", "https,http"
	expiry := time.Now().UTC().Add(time.Hour).Format(time.RFC3339)
	secret, err := base64.StdEncoding.DecodeString(key)
	require.NoError(s.t, err)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(strings.Join([]string{account, permissions, services, resources, "", expiry, "", protocol, version,
		""}, "\n")))
	return url.Values{"sv": {version}, "ss": {services}, "srt": {resources}, "sp": {permissions}, "se": {expiry},
		"spr": {protocol}, "sig": {base64.StdEncoding.EncodeToString(mac.Sum(nil))}}.Encode()
}

// sendPut sends a PUT request and requires that it creates a container or blob.
func (s *azurite) sendPut(url string, content []byte) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPut, url, bytes.NewReader(content))
	require.NoError(s.t, err)
	request.Header.Set("X-Ms-Blob-Type", "BlockBlob")
	request.Header.Set("X-Ms-Version", "2019-12-12")
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	require.Equal(s.t, http.StatusCreated, response.StatusCode, response.Header)
}

// put stores a blob and returns the URL that reads it.
func (s *azurite) put(name string, content []byte) string {
	s.sendPut(s.address+"/"+name+"?"+s.token("rwcl"), content)
	return s.address + "/" + name + "?" + s.token("r")
}

// converter runs the converter, requires the exit code and returns the printed text.
func converter(t *testing.T, code int, args ...string) string {
	t.Helper()
	return process.Start(t, exec.Command(filepath.Join(bin, "converter"), args...)).Wait(code)
}

// TestRecordings checks that recordings in Azurite are identical to their local copies, and can be converted.
func TestRecordings(t *testing.T) {
	s := newStore(t)
	for _, path := range []string{"rosbag2/rosbags_rs/test_bag_mcap/test_bag_mcap.mcap",
		"rosbag2/rosbags_rs/test_bag_sqlite3/test_bag_sqlite3.db3", "apollo/apollo_cpp_sensors.record",
		"bag/cruise_example.bag"} {
		t.Run(filepath.Ext(path), func(t *testing.T) {
			local := samples.Path(t, path)
			content, err := os.ReadFile(local)
			require.NoError(t, err)
			remote := s.put("drive%201/"+filepath.Base(path), content)
			require.Contains(t, converter(t, 0, "diff", local, remote), "identical")
			out := t.TempDir()
			converter(t, 0, remote, "--output-folder", out, "--to", "mcap")
			converted, err := filepath.Glob(out + "/*.mcap")
			require.NoError(t, err)
			require.Len(t, converted, 1)
		})
	}
}

// TestRefused checks that an error of the server is printed in one line with the reason.
func TestRefused(t *testing.T) {
	s := newStore(t)
	s.put("drive.mcap", []byte("drive"))
	for _, c := range []struct{ name, path, want string }{
		{"token", "/drive.mcap?" + strings.Replace(s.token("r"), "sig=", "sig=A", 1), "the server answers 403"},
		{"permission", "/drive.mcap?" + s.token("w"), "the server answers 403"},
		{"blob", "/other.mcap?" + s.token("r"), "file does not exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			printed := converter(t, 1, "info", s.address+c.path)
			require.Contains(t, printed, c.want)
			require.Equal(t, 1, strings.Count(printed, "\n"), printed)
		})
	}
}

// TestChanged checks that reading reports the replacement of a blob.
func TestChanged(t *testing.T) {
	files := store.New(web.New())
	s := newStore(t)
	content := make([]byte, 3<<20)
	f, err := files.Open(s.put("f", content))
	require.NoError(t, err)
	defer f.Close()
	b := make([]byte, 1<<10)
	_, err = f.ReadAt(b, 1<<20)
	require.NoError(t, err)
	content[0] = 1
	s.put("f", content)
	_, err = f.ReadAt(b, 2<<20)
	require.ErrorContains(t, err, "was replaced while it was read")

	// Empty blobs have no ranges.
	empty, err := files.Open(s.put("empty", nil))
	require.NoError(t, err)
	defer empty.Close()
	info, err := empty.Stat()
	require.NoError(t, err)
	require.Zero(t, info.Size())
}

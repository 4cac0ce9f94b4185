// Package azure tests reading of Azure Blob Storage on Azurite, Microsoft's emulator.
package azure

import (
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/stretchr/testify/require"

	"tapedeck/codec/blob"
	"tapedeck/test/internal/process"
	"tapedeck/test/samples"
)

const account = "car"

// key is of the account, and wrong is another one.
const key, wrong = "c2VjcmV0IG9mIHRoZSBhY2NvdW50", "bm90IHRoZSBzZWNyZXQ="

var readOnly = sas.ContainerPermissions{Read: true, List: true}

// bin is the folder of the converter.
var bin string

func TestMain(m *testing.M) { os.Exit(process.Main(m, &bin, "converter")) }

// store is a running Azurite with one container, fleet. The environment has its address and key.
type store struct {
	t       *testing.T
	address string
	client  *container.Client // which is not ours
}

func newStore(t *testing.T) *store {
	modules := process.Modules(t, "Azure is not tried on a server of its own")
	port := process.Port(t)
	s := &store{t: t, address: "127.0.0.1:" + port}
	cmd := exec.Command("node", modules+"/node_modules/azurite/dist/src/blob/main.js", "--blobHost", "127.0.0.1",
		"--blobPort", port, "--location", t.TempDir(), "--silent", "--disableTelemetry")
	cmd.Env = append(os.Environ(), "AZURITE_ACCOUNTS="+account+":"+key)
	process.Start(t, cmd)
	process.Await(t, func() bool {
		c, err := net.Dial("tcp", s.address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	for name, value := range map[string]string{
		"AZURE_STORAGE_ACCOUNT": account, "AZURE_STORAGE_KEY": key, "AZURE_STORAGE_DOMAIN": s.address,
		"AZURE_STORAGE_SAS_TOKEN": "", "AZURE_STORAGE_CONNECTION_STRING": "", "AZURE_STORAGE_SERVICE_ENDPOINT": "",
	} {
		t.Setenv(name, value)
	}
	credential, err := container.NewSharedKeyCredential(account, key)
	require.NoError(t, err)
	address := "http://" + s.address + "/" + account + "/fleet"
	s.client, err = container.NewClientWithSharedKeyCredential(address, credential, nil)
	require.NoError(t, err)
	_, err = s.client.Create(t.Context(), nil)
	require.NoError(t, err)
	return s
}

func (s *store) put(name string, content []byte) {
	s.t.Helper()
	_, err := s.client.NewBlockBlobClient(name).UploadBuffer(s.t.Context(), content, nil)
	require.NoError(s.t, err)
}

// connection returns settings of the container in one string, by which the store is reached at an address.
func connection(address, credential string) string {
	return fmt.Sprintf("DefaultEndpointsProtocol=http;AccountName=%s;%s;BlobEndpoint=http://%s/%[1]s", account,
		credential, address)
}

// token returns a SAS token for the container.
func (s *store) token(permissions sas.ContainerPermissions) string {
	credential, err := container.NewSharedKeyCredential(account, key)
	require.NoError(s.t, err)
	token, err := sas.BlobSignatureValues{Protocol: sas.ProtocolHTTPSandHTTP, ContainerName: "fleet",
		ExpiryTime: time.Now().UTC().Add(time.Hour), Permissions: permissions.String()}.SignWithSharedKey(credential)
	require.NoError(s.t, err)
	return token.Encode()
}

// converter runs the converter, requires that exit code and returns what it printed.
func converter(t *testing.T, code int, args ...string) string {
	t.Helper()
	return process.Start(t, exec.Command(filepath.Join(bin, "converter"), args...)).Wait(code)
}

// TestRecordings reads recordings as their local copies.
func TestRecordings(t *testing.T) {
	s := newStore(t)
	for name, path := range map[string]string{
		"mcap": "rosbag2/rosbags_rs/test_bag_mcap", "db3": "rosbag2/rosbags_rs/test_bag_sqlite3",
		"record": "apollo/apollo_cpp_sensors.record", "bag": "bag/cruise_example.bag",
	} {
		t.Run(name, func(t *testing.T) {
			local := samples.Path(t, path)
			require.NoError(t, filepath.WalkDir(local, func(file string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				content, err := os.ReadFile(file)
				require.NoError(t, err)
				s.put(filepath.Join("drives", name, strings.TrimPrefix(file, filepath.Dir(local))), content)
				return nil
			}))
			folder := "azblob://fleet/drives/" + name
			remote := folder + "/" + filepath.Base(local)
			want, got := converter(t, 0, "info", "--json", local), converter(t, 0, "info", "--json", remote)
			require.Equal(t, want, strings.ReplaceAll(got, remote, local))
			require.Contains(t, converter(t, 0, "diff", local, remote), "identical")
			out := t.TempDir()
			converter(t, 0, local, filepath.Join(out, "local.mcap"))
			converter(t, 0, folder, "--output-folder", out, "--to", "mcap")
			converted, err := filepath.Glob(out + "/*.mcap")
			require.NoError(t, err)
			require.Len(t, converted, 2)
			converter(t, 0, "diff", converted[0], converted[1])
		})
	}
}

// TestCredentials reads with each kind of credentials.
func TestCredentials(t *testing.T) {
	s := newStore(t)
	s.put("drive/f", []byte("content"))
	for name, env := range map[string]map[string]string{
		"key":   nil,
		"token": {"AZURE_STORAGE_KEY": "", "AZURE_STORAGE_SAS_TOKEN": s.token(readOnly)},
		"connection string": {"AZURE_STORAGE_KEY": "",
			"AZURE_STORAGE_CONNECTION_STRING": connection(s.address, "AccountKey="+key)},
		"connection string with a token": {"AZURE_STORAGE_KEY": "",
			"AZURE_STORAGE_CONNECTION_STRING": connection(s.address, "SharedAccessSignature="+s.token(readOnly))},
		"endpoint": {"AZURE_STORAGE_DOMAIN": "",
			"AZURE_STORAGE_SERVICE_ENDPOINT": "http://" + s.address + "/" + account},
	} {
		t.Run(name, func(t *testing.T) {
			for name, value := range env {
				t.Setenv(name, value)
			}
			entries, err := blob.ReadDir("azblob://fleet/drive")
			require.NoError(t, err)
			require.Len(t, entries, 1)
			f, err := blob.Open("azblob://fleet/drive/f")
			require.NoError(t, err)
			defer f.Close()
			content, err := io.ReadAll(io.NewSectionReader(f, 0, 100))
			require.NoError(t, err)
			require.Equal(t, "content", string(content))
		})
	}
}

// TestRefused requires one line that tells what is wrong.
func TestRefused(t *testing.T) {
	s := newStore(t)
	s.put("drive.mcap", []byte("drive"))
	writeOnly := s.token(sas.ContainerPermissions{Write: true})
	for _, c := range []struct{ name, path, key, token, want string }{
		{"key", "fleet/drive.mcap", wrong, "", "the store answers AuthorizationFailure; check AZURE_STORAGE_KEY"},
		{"nothing", "fleet/drive.mcap", "", "", "set AZURE_STORAGE_KEY"},
		{"permission", "fleet/drive.mcap", "", writeOnly, "the store answers AuthorizationPermissionMismatch"},
		{"container", "other/drive.mcap", key, "", "there is no container other"},
		{"blob", "fleet/other.mcap", key, "", "file does not exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("AZURE_STORAGE_KEY", c.key)
			t.Setenv("AZURE_STORAGE_SAS_TOKEN", c.token)
			printed := converter(t, 1, "info", "azblob://"+c.path)
			require.Contains(t, printed, c.want)
			require.Equal(t, 1, strings.Count(printed, "\n"), printed)
			require.NotContains(t, printed, "sig=")
		})
	}
}

// TestChanged changes a blob that is being read.
func TestChanged(t *testing.T) {
	s := newStore(t)
	content := make([]byte, 3<<20)
	s.put("f", content)
	f, err := blob.Open("azblob://fleet/f")
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
	s.put("empty", nil)
	empty, err := blob.Open("azblob://fleet/empty")
	require.NoError(t, err)
	defer empty.Close()
	info, err := empty.Stat()
	require.NoError(t, err)
	require.Zero(t, info.Size())
}

// TestPages lists a folder in pages of three. The proxy that asks for them may change a query that has a token.
func TestPages(t *testing.T) {
	s := newStore(t)
	for i := range 10 {
		s.put(fmt.Sprintf("drives/%d.mcap", i), []byte{1})
		s.put(fmt.Sprintf("drives/folder %d/a&b", i), []byte{1})
	}
	// Hadoop marks its folders so.
	yes := "true"
	_, err := s.client.NewBlockBlobClient("drives/folder 3").UploadBuffer(t.Context(), nil,
		&blockblob.UploadBufferOptions{Metadata: map[string]*string{"hdi_isfolder": &yes}})
	require.NoError(t, err)
	var pages atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: s.address})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if query := r.URL.Query(); query.Get("comp") == "list" {
			pages.Add(1)
			query.Set("maxresults", "3")
			r.URL.RawQuery = query.Encode()
		}
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", connection(server.Listener.Addr().String(),
		"SharedAccessSignature="+s.token(readOnly)))
	entries, err := blob.ReadDir("azblob://fleet/drives")
	require.NoError(t, err)
	require.Greater(t, pages.Load(), int64(6))
	require.Len(t, entries, 20)
	for i := range 10 {
		require.Equal(t, fmt.Sprintf("%d.mcap", i), entries[i].Name())
		info, err := entries[i].Info()
		require.NoError(t, err)
		stat, err := blob.Stat("azblob://fleet/drives/" + entries[i].Name())
		require.NoError(t, err)
		require.Equal(t, blob.ETag(stat), blob.ETag(info))
		require.Equal(t, stat.ModTime(), info.ModTime())
		require.Equal(t, fmt.Sprintf("folder %d", i), entries[10+i].Name())
		require.True(t, entries[10+i].IsDir())
	}
	_, err = blob.Stat("azblob://fleet/drives/folder 3/a&b")
	require.NoError(t, err)
	info, err := blob.Stat("azblob://fleet/drives/folder 3")
	require.NoError(t, err)
	require.True(t, info.IsDir())
}

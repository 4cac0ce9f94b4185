package packages

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/record"
	"tapedeck/msgs/std_msgs"
	"tapedeck/test/internal/process"
	"tapedeck/test/packages/internal/dist"
)

// TestSecurity checks that an installed recorder with keys of SROS 2 records an installed player with keys, and nothing
// else. Debian 11 has no OpenSSL 3, which the plugins need.
func TestSecurity(t *testing.T) {
	dist.Folder(t)
	for _, way := range installations {
		t.Run(way.name, func(t *testing.T) {
			shared := isolate(t)
			m := way.install(newMachine(t, shared, "bullseye", "amd64"), "amd64")
			keys := bridgetest.NewKeystore(t, 0)
			keys.Add("/recorder", bridgetest.Enclave{})
			keys.Add("/player", bridgetest.Enclave{})
			for _, topic := range []string{"secret", "public"} {
				writeTexts(t, filepath.Join(shared, topic+".record"), "/"+topic)
			}
			giveTo(t, plainUser, keys.Path)

			options := []string{"/secret", "/public", "--allow-unmatched"}
			open := m.start(plainUser, append([]string{"recorder", "-o", "open"}, options...)...)
			cmd := m.with(keys.Environment("/recorder")...).command(plainUser,
				append([]string{"recorder", "-o", "secured"}, options...)...)
			secured := process.Start(t, cmd)
			secured.Prints("security is on, enclave /, keys in " + keys.Path + "/enclaves/recorder, Enforce")
			loaded := libraries(t, cmd.Process.Pid)
			for _, name := range []string{"libddsc.so.0", "libdds_security_auth.so", "libdds_security_ac.so",
				"libdds_security_crypto.so", "libcrypto.so.3"} {
				require.Regexp(t, "/lib/tapedeck/"+name+"$", loaded[name], loaded)
			}

			play := append([]string{"player", "--wait-for-subscribers"}, process.Patient...)
			m.with(keys.Environment("/player")...).run(plainUser, append(play, "secret.record")...)
			m.run(plainUser, append(play, "public.record")...)
			for name, p := range map[string]*process.Process{"open": open, "secured": secured} {
				p.Interrupt()
				got := messages(t, filepath.Join(shared, name+".record.00000"))
				if name == "open" {
					require.Len(t, got["/public"], 100)
					require.Empty(t, got["/secret"])
				} else {
					require.Len(t, got["/secret"], 100)
					require.Empty(t, got["/public"])
				}
			}
		})
	}
}

// writeTexts writes a recording of 100 texts in a second.
func writeTexts(t *testing.T, path, topic string) {
	t.Helper()
	w, err := codec.Formats{record.Format}.Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: topic, Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR}
	for i := range 100 {
		data, err := cdr.Marshal(&std_msgs.String{Data: text(i)})
		require.NoError(t, err)
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: 1e18 + int64(i)*1e7, Data: data}))
	}
	require.NoError(t, w.Close())
}

// giveTo gives a folder and all in it to a user.
func giveTo(t *testing.T, user int, folder string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, user, user)
	}))
}

// libraries returns the paths of the libraries that a process has loaded, by their names.
func libraries(t *testing.T, pid int) map[string]string {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	require.NoError(t, err)
	loaded := map[string]string{}
	for line := range strings.Lines(string(maps)) {
		if fields := strings.Fields(line); len(fields) == 6 && strings.Contains(fields[5], ".so") {
			loaded[filepath.Base(fields[5])] = fields[5]
		}
	}
	return loaded
}

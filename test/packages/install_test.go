package packages

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/record"
	"tapedeck/msgs/std_msgs"
	"tapedeck/test/packages/internal/dist"
)

// distributions are the systems on which packages are tested.
var distributions = []struct{ suite, arch string }{
	{"bullseye", "amd64"},
	{"bookworm", "amd64"},
	{"trixie", "amd64"},
	{"bookworm", "arm64"},
}

// installations are the ways to install tapedeck without a compiler. Each is one command.
var installations = []struct {
	name    string
	install func(m *machine, arch string) *machine
}{
	{"package", installPackage},
	{"archive", unpackArchive},
}

func installPackage(m *machine, arch string) *machine {
	m.t.Helper()
	m.run(superuser, "dpkg", "-i", m.copyIn(dist.File(m.t, "tapedeck_*_"+arch+".deb")))
	return m
}

func unpackArchive(m *machine, arch string) *machine {
	m.t.Helper()
	archive := m.copyIn(dist.File(m.t, "tapedeck-*-linux-"+arch+".tar.gz"))
	m.run(plainUser, "tar", "-xf", archive)
	return m.with("PATH=" + strings.TrimSuffix(archive, ".tar.gz") + "/bin:/usr/bin:/bin")
}

// copyIn copies a file into the shared folder and returns the new path.
func (m *machine) copyIn(path string) string {
	m.t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(m.t, err)
	inside := filepath.Join(m.shared, filepath.Base(path))
	require.NoError(m.t, os.WriteFile(inside, content, 0o644))
	return inside
}

// TestForeignPublisher checks that three commands install tapedeck, record a publisher of Fast DDS without loss, and
// report on the recording.
func TestForeignPublisher(t *testing.T) {
	dist.Folder(t)
	for _, d := range distributions {
		for _, way := range installations {
			t.Run(strings.Join([]string{d.suite, d.arch, way.name}, " "), func(t *testing.T) {
				shared := isolate(t)
				m := newMachine(t, shared, d.suite, d.arch)
				publisher := publish(t, shared, "chatter")

				began := time.Now()
				m = way.install(m, d.arch)
				installed := time.Now()
				recorder := m.start(plainUser, "recorder", "--all", "-o", "drive")
				sent, heard := publisher.end()
				require.Contains(t, recorder.Interrupt(), "0 dropped, 0 lost in transport")
				recorded := time.Now()
				m.run(plainUser, "converter", "report", "drive.record.00000")
				t.Logf("%.1f s: %.1f s to install, %.1f s to record, %.1f s to report", time.Since(began).Seconds(),
					installed.Sub(began).Seconds(), recorded.Sub(installed).Seconds(), time.Since(recorded).Seconds())

				got := messages(t, filepath.Join(shared, "drive.record.00000"))["/chatter"]
				require.GreaterOrEqual(t, len(got), heard)
				for i, data := range got {
					want, err := cdr.Marshal(&std_msgs.String{Data: text(sent - len(got) + i)})
					require.NoError(t, err)
					padding := make([]byte, -len(want)&3) // Fast DDS's, as for nodes of ROS 2
					require.Equal(t, append(want, padding...), data)
				}
				page, err := os.ReadFile(filepath.Join(shared, "drive.record.html"))
				require.NoError(t, err)
				require.Contains(t, string(page), "/chatter")
			})
		}
	}
}

// messages returns the messages of a recording by topic.
func messages(t *testing.T, path string) map[string][][]byte {
	t.Helper()
	r, err := codec.Formats{record.Format}.Open(path)
	require.NoError(t, err)
	defer r.Close()
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	defer it.Close()
	all := map[string][][]byte{}
	for {
		m, err := it.Next()
		if err != nil {
			require.ErrorContains(t, err, "EOF")
			return all
		}
		all[m.Channel.Topic] = append(all[m.Channel.Topic], append([]byte(nil), m.Data...))
	}
}

// TestPurge checks that removal and purge leave recordings and their user. Without recordings they leave nothing.
func TestPurge(t *testing.T) {
	dist.Folder(t)
	for _, d := range distributions {
		t.Run(d.suite+" "+d.arch, func(t *testing.T) {
			m := newMachine(t, isolate(t), d.suite, d.arch)
			clean := m.files()
			installPackage(m, d.arch)
			require.Contains(t, m.run(plainUser, "recorder", "--version"), "0.1.0")
			require.Contains(t, m.files(), "/etc/tapedeck/recorder.yaml")
			m.run(superuser, "dpkg", "-r", "tapedeck")
			require.ElementsMatch(t, []string{"/etc/tapedeck", "/etc/tapedeck/recorder.yaml",
				"/etc/default/tapedeck-recorder"}, without(m.files(), clean))

			recording := "/var/lib/tapedeck/drive.mcap" // as the service would write
			m.run(superuser, "install", "-d", "-o", "tapedeck", filepath.Dir(recording))
			m.run(superuser, "touch", recording)
			m.run(superuser, "dpkg", "--purge", "tapedeck")
			require.ElementsMatch(t, []string{filepath.Dir(recording), recording}, without(m.files(), clean))
			m.run(superuser, "getent", "passwd", "tapedeck")

			installPackage(m, d.arch)
			m.run(superuser, "rm", recording)
			m.run(superuser, "dpkg", "--purge", "tapedeck")
			require.Empty(t, without(m.files(), clean))
			m.start(superuser, "getent", "passwd", "tapedeck").Wait(2)
		})
	}
}

// files returns the paths of all files of the machine, without files that dpkg and useradd keep for themselves.
func (m *machine) files() []string {
	m.t.Helper()
	var list []string
	require.NoError(m.t, filepath.WalkDir(m.root, func(path string, entry fs.DirEntry, err error) error {
		inside := strings.TrimPrefix(path, m.root)
		switch inside {
		case "/proc", "/dev", filepath.Dir(m.shared), "/run", "/var/log", "/var/cache", "/var/lib/dpkg":
			return fs.SkipDir
		}
		if !strings.HasPrefix(inside, "/etc/") || !strings.HasSuffix(inside, "-") { // copies of passwd and others
			list = append(list, inside)
		}
		return err
	}))
	return list
}

// without returns the elements of list that are not in others.
func without(list, others []string) (rest []string) {
	known := map[string]bool{}
	for _, s := range others {
		known[s] = true
	}
	for _, s := range list {
		if !known[s] {
			rest = append(rest, s)
		}
	}
	return rest
}

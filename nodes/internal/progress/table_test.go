package progress

import (
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/codec/text/printable"
)

func TestTableFitsTheTerminal(t *testing.T) {
	table := &Table{
		Columns: []string{"topic", "rate", "lost"},
		Rows: [][]string{{"/imu", "100.0", "0"}, {"/camera/front/image_raw", "30.0", "12"}, {"/a", "1.0", "0"},
			{"/b", "1.0", "0"}},
		Line: "[RECORDING] 1 s, 4 topics",
	}
	for name, c := range map[string]struct {
		width, height int
		want          string
	}{
		"all of it": {80, 24, `
topic                     rate  lost
/imu                     100.0     0
/camera/front/image_raw   30.0    12
/a                         1.0     0
/b                         1.0     0
[RECORDING] 1 s, 4 topics`},
		"narrow": {30, 24, `
topic              rate  lost
/imu              100.0     0
/camera/front/im   30.0    12
/a                  1.0     0
/b                  1.0     0
[RECORDING] 1 s, 4 topics`},
		"low": {80, logRows + 2 + 3, `
topic                     rate  lost
/imu                     100.0     0
/camera/front/image_raw   30.0    12
and 2 more
[RECORDING] 1 s, 4 topics`},
		"no room for a table": {20, logRows + 2, `
[RECORDING] 1 s, `},
		"no size": {0, 0, `
[RECORDING] 1 s, 4 topics`},
	} {
		t.Run(name, func(t *testing.T) {
			lines := table.lines(c.width, c.height)
			require.Equal(t, strings.Split(c.want[1:], "\n"), lines)
			require.LessOrEqual(t, len(lines), max(1, c.height-logRows))
		})
	}
}

func TestTableIsDrawnInPlace(t *testing.T) {
	screen, tty := terminal(t)
	require.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	out := new(strings.Builder)
	l := NewLine(tty)
	show := func(lines ...string) {
		// Not Show: no test is in the foreground.
		l.mu.Lock()
		l.draw(lines)
		l.mu.Unlock()
	}
	show("a", "b", "c")
	show("d")
	_, err := l.Write([]byte("log\n"))
	require.NoError(t, err)
	show("e", "f")
	l.Clear()
	require.NoError(t, tty.Close())
	_, _ = io.Copy(out, screen)
	require.Equal(t, strings.Join([]string{
		"\ra\x1b[K\r\n\rb\x1b[K\r\n\rc\x1b[K",
		"\x1b[2A\rd\x1b[K\x1b[J",
		"\r\x1b[Klog\r\n",
		"\re\x1b[K\r\n\rf\x1b[K",
		"\x1b[1A\x1b[J\r\x1b[K",
	}, ""), out.String())
}

// On Ctrl-C, the terminal discards output that it has not shown yet, such as a log line and the escape sequence before
// it, and prints ^C. The status line and ^C must be cleared nevertheless.
func TestLineIsClearedAfterCtrlC(t *testing.T) {
	for name, finish := range map[string]func(*Line, io.Writer){
		"Clear":          func(l *Line, _ io.Writer) { l.Clear() },
		"log line":       func(l *Line, _ io.Writer) { _, _ = io.WriteString(l, "recorded\n") },
		"another stream": func(l *Line, w io.Writer) { _, _ = io.WriteString(l.Above(w), "recorded\n") },
	} {
		t.Run(name, func(t *testing.T) {
			screen, tty := terminal(t)
			l := NewLine(tty)
			l.mu.Lock()
			l.draw([]string{"status"})
			l.mu.Unlock()
			_, err := io.WriteString(l, "discarded\n")
			require.NoError(t, err)
			_, err = io.ReadFull(screen, make([]byte, len("\rstatus\x1b[K\r\x1b[Kdiscarded\r\n")))
			require.NoError(t, err)
			finish(l, tty)
			require.NoError(t, tty.Close())
			shown, _ := io.ReadAll(screen) // ends with EIO
			require.True(t, strings.HasPrefix(string(shown), "\r\x1b[K"), "%q", shown)
		})
	}
}

// A line that was never drawn adds nothing to the output.
func TestLineThatIsNotDrawn(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	l := NewLine(w)
	l.Show("status")
	l.Clear()
	_, err = io.WriteString(l, "log\n")
	require.NoError(t, err)
	_, err = io.WriteString(l.Above(w), "recorded\n")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	shown, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "log\nrecorded\n", string(shown))
}

// A table fits into the terminal whatever the names of topics are, and names cannot contain control characters.
func FuzzTable(f *testing.F) {
	for _, s := range []string{"/imu", "a\nb\r", "\x1b[2J\x9b", "\u202e\u200b\u0085",
		strings.Repeat("日本\n", 20_000)} {
		f.Add(s, 80, 24)
		f.Add(s, 7, 8)
	}
	f.Fuzz(func(t *testing.T, s string, width, height int) {
		width, height = 3+int(uint32(width)%500), 1+int(uint32(height)%100)
		table := &Table{Columns: []string{"topic", "lost"}, Rows: [][]string{{s, "1"}, {"/imu", "2"}, {s, "3"}},
			Alert: "waiting for " + s, Line: s}
		lines := table.lines(width, height)
		require.LessOrEqual(t, len(lines), max(1, height-logRows)+maxAlert)
		for _, line := range lines {
			require.True(t, utf8.ValidString(line))
			require.False(t, strings.ContainsFunc(line, printable.Hidden), "%q", line)
			require.Less(t, utf8.RuneCountInString(line), width)
		}
	})
}

// An alert comes first and is not cut.
func TestAlertIsNotCut(t *testing.T) {
	table := &Table{Alert: "[RECORDING] 3 dropped, waiting for /a/very/long/name", Line: "12.3 s, 4 topics"}
	require.Equal(t, []string{"[RECORDING] 3 dropped, waiting for /a/very/long/name, 12.3 s, 4 topics"},
		table.lines(80, 24))
	lines := table.lines(30, 24)
	require.Equal(t, table.Alert, strings.Join(lines[:2], ""))
	require.Equal(t, table.Line, lines[2])
	table.Columns, table.Rows = []string{"topic"}, [][]string{{"/n"}}
	require.Equal(t, lines, table.lines(30, 24)[2:])
}

// The ^C that the terminal prints stays on the last line.
func TestLineLeavesRoomForCtrlC(t *testing.T) {
	for _, table := range []*Table{
		{Line: strings.Repeat("x", 100)},
		{Columns: []string{"topic"}, Rows: [][]string{{"/n"}}, Line: strings.Repeat("x", 100)},
	} {
		lines := table.lines(40, 24)
		require.Less(t, len(lines[len(lines)-1]+"^C"), 40)
	}
}

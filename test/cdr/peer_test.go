package cdr

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/cdr"
	"tapedeck/msgs"
)

// peer is a running peer.js.
type peer struct {
	in  *json.Encoder
	out *json.Decoder
}

type peerAnswer struct {
	Value   any
	Payload []byte
	Error   string
}

// startPeer starts peer.js, and installs what it needs into build/ on the first run.
func startPeer(t *testing.T) peer {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is not installed (Debian: nodejs and npm); CDR is not compared with Foxglove's")
	}
	dir, err := filepath.Abs("../../build/test-cdr")
	require.NoError(t, err)
	lock, err := os.ReadFile("package-lock.json")
	require.NoError(t, err)
	stamp := filepath.Join(dir, "node_modules", "package-lock.json")
	if installed, err := os.ReadFile(stamp); err != nil || !bytes.Equal(installed, lock) {
		require.NoError(t, os.MkdirAll(dir, 0o755))
		for _, name := range []string{"package.json", "package-lock.json"} {
			content, err := os.ReadFile(name)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
		}
		npm := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
		npm.Dir = dir
		output, err := npm.CombinedOutput()
		require.NoError(t, err, "npm ci in %s (Debian: npm; it needs the network once): %s", dir, output)
		require.NoError(t, os.WriteFile(stamp, lock, 0o644))
	}
	script, err := filepath.Abs("peer.js")
	require.NoError(t, err)
	command := exec.Command(node, script)
	command.Dir = dir
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		require.NoError(t, command.Wait())
	})
	return peer{json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))}
}

func (p peer) ask(t *testing.T, definition string, payload []byte) (a peerAnswer) {
	require.NoError(t, p.in.Encode(map[string]string{
		"definition": definition, "payload": base64.StdEncoding.EncodeToString(payload),
	}))
	require.NoError(t, p.out.Decode(&a))
	require.Empty(t, a.Error)
	return a
}

// Foxglove's implementation reads the same values from our payloads and writes the same bytes. It takes the length of a
// string in UTF-16 units for that in bytes when it writes, so only ASCII is compared there. It has no wstring; no type
// in msgs does.
func TestPeer(t *testing.T) {
	p := startPeer(t)
	lib := msgs.Library()
	for _, m := range types {
		t.Run(m.TypeName(), func(t *testing.T) {
			definition, err := lib.Concatenated(m.TypeName())
			require.NoError(t, err)
			if parsed, err := lib.Message(m.TypeName()); err == nil && len(parsed.Fields) == 0 && len(parsed.Constants) > 0 {
				t.Skip("Foxglove's takes a message with constants and no fields for constants outside of a message")
			}
			for _, s := range samples(t, m.TypeName()) {
				require.NoError(t, cdr.Unmarshal(s.payload, m))
				payload, err := cdr.Marshal(m)
				require.NoError(t, err)
				answer := p.ask(t, definition, payload)
				require.Equal(t, plain(s.message), answer.Value)
				if s.ascii {
					require.Equal(t, payload, answer.Payload)
				}
			}
		})
	}
}

// plain returns v as peer.js writes values.
func plain(v any) any {
	switch v := v.(type) {
	case *cdr.Struct:
		m := map[string]any{}
		for _, f := range v.Fields {
			m[f.Name] = plain(f.Value)
		}
		return m
	case bool, string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	}
	r := reflect.ValueOf(v)
	switch {
	case r.Kind() == reflect.Slice:
		list := make([]any, r.Len())
		for i := range list {
			list[i] = plain(r.Index(i).Interface())
		}
		return list
	case r.CanConvert(reflect.TypeFor[float64]()):
		f := r.Convert(reflect.TypeFor[float64]()).Float()
		if math.IsNaN(f) {
			return "NaN"
		}
		return fmt.Sprintf("%016x", math.Float64bits(f))
	}
	return fmt.Sprintf("unexpected %T", v)
}

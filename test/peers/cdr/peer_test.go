package cdr

import (
	"bufio"
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

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/test/internal/process"
)

// peer is a running peer.js.
type peer struct {
	in  *json.Encoder
	out *json.Decoder
}

// peerAnswer is the answer of peer.js to a payload.
type peerAnswer struct {
	Value   any    // decoded message
	Payload []byte // Value, encoded again
	Error   string
}

// startPeer starts peer.js. The first run installs its packages into build/.
func startPeer(t *testing.T) peer {
	dir := process.Modules(t, "CDR is not compared with Foxglove's")
	script, err := filepath.Abs("peer.js")
	require.NoError(t, err)
	command := exec.Command("node", script)
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

// ask lets the peer decode and encode a payload.
func (p peer) ask(t *testing.T, definition string, payload []byte) (a peerAnswer) {
	require.NoError(t, p.in.Encode(map[string]string{
		"definition": definition, "payload": base64.StdEncoding.EncodeToString(payload),
	}))
	require.NoError(t, p.out.Decode(&a))
	require.Empty(t, a.Error)
	return a
}

// TestPeer checks that Foxglove's implementation reads tapedeck's payloads to equal values and writes equal bytes.
// Bytes are compared for ASCII strings only, because Foxglove's writer takes the number of UTF-16 units for the number
// of bytes. Foxglove has no wstring, which no type in msgs has.
func TestPeer(t *testing.T) {
	p := startPeer(t)
	lib := msgs.Library()
	for _, m := range types {
		t.Run(m.TypeName(), func(t *testing.T) {
			definition, err := lib.Concatenated(m.TypeName())
			require.NoError(t, err)
			if parsed, err := lib.Message(m.TypeName()); err == nil && len(parsed.Fields) == 0 &&
				len(parsed.Constants) > 0 {
				t.Skip("Foxglove's parser does not take constants without fields for a message")
			}
			for _, s := range randomSamples(t, m.TypeName()) {
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

// plain returns a value in the form of peer.js.
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

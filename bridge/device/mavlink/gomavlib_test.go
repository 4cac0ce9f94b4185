package mavlink

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/bluenviron/gomavlib/v3/pkg/frame"
	"github.com/bluenviron/gomavlib/v3/pkg/streamwriter"
	theirtlog "github.com/bluenviron/gomavlib/v3/pkg/tlog"
	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/tlog"
	"tapedeck/codec/format/tlog/tlogtest"
)

// packets is a connection whose Read returns one datagram. As with UDP, Read drops the end of a datagram that is longer
// than the buffer.
type packets [][]byte

func (p *packets) Read(b []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	*p = (*p)[1:]
	return n, nil
}

// TestGomavlibLosesFrames shows why tapedeck has a scanner of its own. gomavlib's reader loses frames in two cases:
//   - After a damaged frame it skips as many bytes as the frame's header claims, and thus intact frames.
//   - It reads at most 512 bytes of a datagram.
//
// When gomavlib reads all frames, this test fails, and gomavlib's reader can replace tlog.Scanner.
func TestGomavlibLosesFrames(t *testing.T) {
	e := tlogtest.NewEncoder(t, 1, streamwriter.V2)
	rw, err := tlogtest.Dialect()
	require.NoError(t, err)
	damaged := []byte{frame.V2MagicByte, 200, 0, 0, 0, 1, 1, 30, 0, 0} // claims 200 bytes, but has none
	var many []byte
	for i := range uint32(20) {
		many = append(many, e.Encode(t, attitude(i))...)
	}
	require.Greater(t, len(many), 512)
	for name, stream := range map[string]packets{
		"a damaged frame":  {slices.Concat(damaged, many[:400]), many[400:]},
		"a large datagram": {many},
	} {
		t.Run(name, func(t *testing.T) {
			theirs := slices.Clone(stream)
			// gomavlib's frame reader has a buffer of 512 bytes.
			r := &frame.Reader{BufByteReader: bufio.NewReaderSize(&theirs, 512), DialectRW: rw}
			require.NoError(t, r.Initialize())
			read := 0
			for {
				_, err := r.Read()
				var damage frame.ReadError
				if err != nil && !errors.As(err, &damage) {
					break
				}
				if err == nil {
					read++
				}
			}
			require.Less(t, read, 20, "gomavlib now reads all frames: replace tlog.Scanner with its reader")

			scan := tlog.NewScanner(knownFormats(t))
			for _, p := range stream {
				scan.Write(p)
			}
			found := 0
			for _, _, ok := scan.Next(true); ok; _, _, ok = scan.Next(true) {
				found++
			}
			require.Equal(t, 20, found)
		})
	}
}

// TestGomavlibLosesRecords shows why tapedeck has a reader of logs of its own: gomavlib's reader does not find the
// next record after damage.
func TestGomavlibLosesRecords(t *testing.T) {
	e := tlogtest.NewEncoder(t, 1, streamwriter.V2)
	rw, err := tlogtest.Dialect()
	require.NoError(t, err)
	var log []byte
	for i := range uint32(20) {
		log = append(log, e.Record(t, someTime+int64(i)*1e9, attitude(i))...)
		if i == 5 {
			log = append(log, "garbage"...)
		}
	}
	theirs := &theirtlog.Reader{ByteReader: bytes.NewReader(log), DialectRW: rw}
	require.NoError(t, theirs.Initialize())
	read := 0
	for range 100 {
		if _, err := theirs.Read(); err == nil {
			read++
		}
	}
	require.Less(t, read, 20, "gomavlib now reads all records: replace tapedeck's reader of logs with its reader")

	found, _, err := readLog(t, log, StampReceive)
	require.NoError(t, err)
	require.Len(t, found, 20)
}

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

// packets is a connection that reads one datagram at a time, and drops the rest of it that does not fit, as UDP does.
type packets [][]byte

func (p *packets) Read(b []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	*p = (*p)[1:]
	return n, nil
}

// TestGomavlibLosesFrames shows why we use our own scanner: gomavlib's reader skips the claimed length of a damaged
// frame, and reads at most 512 bytes of a datagram. If it ever finds all frames, conn and scanner can be deleted.
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
			// As gomavlib's endpoints read.
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
			require.Less(t, read, 20, "gomavlib reads all frames: use its own reader")

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

// TestGomavlibLosesRecords shows why we use our own reader of logs: gomavlib's does not resynchronise after damage.
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
	require.Less(t, read, 20, "gomavlib reads all records: use its own reader")

	found, _, err := readLog(t, log, StampReceive)
	require.NoError(t, err)
	require.Len(t, found, 20)
}

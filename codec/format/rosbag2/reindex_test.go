package rosbag2

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
)

// Reindex repairs a bag of three files, one cut, one incomplete, whose metadata.yaml is missing, damaged or sound. The
// old files are kept.
func TestReindex(t *testing.T) {
	want := testMessages(90, testChannels()[0])
	random := rand.NewChaCha8([32]byte{1})
	for i := range want {
		want[i].Data = make([]byte, 4000)
		_, _ = random.Read(want[i].Data)
	}
	for i, o := range []Options{
		{Storage: storageMCAP}, {Storage: storageSQLite, Version: 5},
		{Storage: storageSQLite, CompressionMode: "message"},
		{Storage: storageMCAP, CompressionMode: "file"}, {Storage: storageSQLite, Version: 9, CompressionMode: "file"},
	} {
		for k, metadata := range []string{"gone", "damaged", "there"} {
			if testing.Short() && (i+k)%3 > 0 && i > 0 {
				continue // each storage has one of the two
			}
			t.Run(fmt.Sprint(o.Storage, o.Version, o.CompressionMode, metadata), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "drive")
				w, err := o.Create(dir, codec.CreateOptions{
					ChunkSize: 12_000, Metadata: map[string]string{"ros_distro": "jazzy", "car": "blue"},
				})
				require.NoError(t, err)
				channels := testChannels()
				require.NoError(t, w.Declare(channels[1]))
				for i := range want {
					if i == 30 || i == 60 {
						require.NoError(t, w.Split())
					}
					require.NoError(t, w.Write(&want[i]))
				}
				require.NoError(t, w.Close())
				files := readMetadata(t, dir).Paths

				path := filepath.Join(dir, metadataFile)
				switch metadata {
				case "gone":
					require.NoError(t, os.Remove(path))
				case "damaged":
					require.NoError(t, os.WriteFile(path, []byte("rosbag2_bagfile_information:\n  version: [\n"),
						0o666))
				}
				second := filepath.Join(dir, files[1])
				data, err := os.ReadFile(second)
				require.NoError(t, err)
				cut := data[:len(data)*3/4]
				require.NoError(t, os.WriteFile(second, cut, 0o666))
				if o.CompressionMode != "file" {
					require.NoError(t, os.Rename(filepath.Join(dir, files[2]),
						filepath.Join(dir, files[2]+codec.ActiveSuffix)))
				}

				var reports []string
				info, err := Reindex(dir, func(text string) { reports = append(reports, text) })
				require.NoError(t, err)
				require.NotEmpty(t, reports)
				require.True(t, info.Complete, info.Events)
				require.Empty(t, info.Events)
				got := read(t, open(t, dir), codec.Query{})
				require.Greater(t, len(got), 70, "more than half of what was cut")
				m := readMetadata(t, dir)
				require.EqualValues(t, len(got), m.Messages)
				require.Equal(t, files, m.Paths)
				requireMessages(t, want[:30], got[:30])
				requireMessages(t, want[60:], got[len(got)-30:])
				require.Equal(t, want[30].LogTime, got[30].LogTime)
				kept, err := os.ReadFile(second + damagedSuffix)
				require.NoError(t, err)
				require.Equal(t, cut, kept)
				require.Equal(t, metadata == "damaged", fileExists(path+damagedSuffix))
				require.Len(t, m.Topics, 2)
				if m.Version >= 8 {
					require.Equal(t, "jazzy", m.Distro)
				}
				if m.Version >= 6 {
					require.Equal(t, "blue", m.Custom["car"])
				}
				require.Equal(t, o.CompressionMode != "", m.Compression == "zstd")

				// Reindex does not change a sound bag, in which an interrupted call has left copies.
				reports = nil
				work := filepath.Join(dir, workFolder)
				require.NoError(t, os.MkdirAll(filepath.Join(work, "x"), 0o777))
				_, err = Reindex(dir, func(text string) { reports = append(reports, text) })
				require.NoError(t, err)
				require.Empty(t, reports)
				again := readMetadata(t, dir)
				require.Equal(t, m, again)
				require.NoDirExists(t, work)
			})
		}
	}
}

// TestReindexKeepsAttachments rebuilds a file that was not completed and has an attachment with a wrong checksum.
func TestReindexKeepsAttachments(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "drive")
	records := []codec.MetadataRecord{{Name: "car", Values: map[string]string{"plate": "1"}}}
	w, err := Options{}.Create(dir, codec.CreateOptions{Records: records, Attachments: []codec.Attachment{
		{Name: "map.bin", Size: 4, Open: func(func(error)) io.Reader { return strings.NewReader("<map") }},
	}})
	require.NoError(t, err)
	m := testMessages(1, testChannels()[0])
	require.NoError(t, w.Write(&m[0]))
	require.NoError(t, w.Close())
	path := filepath.Join(dir, "drive_0.mcap")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[bytes.Index(data, []byte("<map"))] = '['
	require.NoError(t, os.WriteFile(path, data[:len(data)-8], 0o666))
	info, err := Reindex(dir, func(string) {})
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.Equal(t, records, info.Records)
	info, err = open(t, dir).Info()
	require.NoError(t, err)
	require.Len(t, info.Attachments, 1)
	got, err := io.ReadAll(info.Attachments[0].Open(nil))
	require.NoError(t, err)
	require.Equal(t, "[map", string(got))
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestReindexRefuses(t *testing.T) {
	dir := t.TempDir()
	_, err := Reindex(dir, func(string) {})
	require.EqualError(t, err, "reindex "+dir+": no files of a bag")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a_0.mcap"), nil, 0o666))
	_, err = Reindex(dir, func(string) {})
	require.EqualError(t, err, "reindex "+dir+": none of its files can be read")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a_0.db3"), nil, 0o666))
	_, err = Reindex(dir, func(string) {})
	require.ErrorContains(t, err, "two storages")
	require.Equal(t, []string{"a_0.db3", "a_0.mcap"}, fileNames(t, dir))
}

// TestSeveralRecordings opens folders with several recordings.
func TestSeveralRecordings(t *testing.T) {
	for _, test := range []struct {
		name  string
		files []string
		want  string // in the error; "": the folder is one recording
	}{
		{"one", []string{"drive.mcap"}, ""},
		{"splits", []string{"drive_0.mcap", "drive_1.mcap", "drive_10.mcap"}, ""},
		{"our splits", []string{"drive.mcap", "drive_1.mcap"}, ""},
		{"dated splits", []string{"0_drive_2026_11_23-14_00_00.mcap", "1_drive_2026_11_23-15_00_00.mcap"}, ""},
		{"days", []string{"drive_2024_03_01.mcap", "drive_2024_03_02.mcap"},
			"drive_2024_03_01.mcap, drive_2024_03_02.mcap"},
		{"unrelated", []string{"a_0.mcap", "a_1.mcap", "b.mcap"}, "b.mcap, a_0.mcap"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for i, name := range test.files {
				w, err := mcap.Format.Create(filepath.Join(dir, name), codec.CreateOptions{})
				require.NoError(t, err)
				require.NoError(t, w.Write(&codec.Message{
					Channel: &codec.Channel{Topic: "/a", Type: "a/msg/A", Encoding: codec.EncodingCDR},
					LogTime: int64(1 + i),
				}))
				require.NoError(t, w.Close())
			}
			r, err := codec.Formats{Format}.Open(dir)
			_, reindexErr := Reindex(dir, func(string) {})
			if test.want == "" {
				require.NoError(t, err)
				require.NoError(t, reindexErr)
				require.NoError(t, r.Close())
				return
			}
			want := dir + " holds several recordings and no metadata.yaml: " + test.want + "; name the files"
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, reindexErr, want)
		})
	}
}

// TestSinglePackedFile opens compressed files without a metadata.yaml, however small they are.
func TestSinglePackedFile(t *testing.T) {
	for _, storage := range []string{"mcap", "sqlite3"} {
		for _, ending := range []string{".zstd", ".zst"} {
			t.Run(storage+ending, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "drive")
				w, err := Options{Storage: storage, CompressionMode: "file"}.Create(dir, codec.CreateOptions{})
				require.NoError(t, err)
				require.NoError(t, w.Write(&codec.Message{
					Channel: &codec.Channel{Topic: "/a", Type: "a/msg/A", Encoding: codec.EncodingCDR}, LogTime: 1,
				}))
				require.NoError(t, w.Close())
				files, err := filepath.Glob(filepath.Join(dir, "*.zstd"))
				require.NoError(t, err)
				require.Len(t, files, 1)
				path := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(files[0]), ".zstd")+ending)
				require.NoError(t, os.Rename(files[0], path))
				for _, path := range []string{path, filepath.Dir(path)} {
					r, err := codec.Formats{mcap.Format, Format}.Open(path)
					require.NoError(t, err)
					info, err := r.Info()
					require.NoError(t, err)
					require.EqualValues(t, 1, info.MessageCount)
					require.Len(t, read(t, r, codec.Query{}), 1)
					require.NoError(t, r.Close())
				}
			})
		}
	}
}

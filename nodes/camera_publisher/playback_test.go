package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/device/v4l2"
)

// jpegOf returns a JPEG that differs for each grey.
func jpegOf(t testing.TB, width, height, grey int) []byte {
	t.Helper()
	picture := image.NewGray(image.Rect(0, 0, width, height))
	for i := range picture.Pix {
		picture.Pix[i] = byte(grey + i%7)
	}
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, picture, nil))
	return b.Bytes()
}

func pngOf(t testing.TB, picture image.Image) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, picture))
	return b.String()
}

// folderOf returns a folder with files.
func folderOf(t testing.TB, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666))
	}
	return folder
}

// playedFrame is a frame of a playback.
type playedFrame struct {
	v4l2.Frame
	at time.Duration // time since the start
}

// collect plays images until the end, or until there are most frames.
func collect(t *testing.T, s *playback, most int) ([]playedFrame, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var list []playedFrame
	begin := time.Now()
	err := s.run(ctx, func(f *v4l2.Frame) {
		p := playedFrame{*f, time.Since(begin)}
		p.Data = slices.Clone(f.Data)
		require.Equal(t, time.Now().UnixNano(), p.Stamp)
		require.Equal(t, p.Stamp, p.Received)
		require.Equal(t, len(list), int(p.Sequence))
		list = append(list, p)
		if len(list) == most {
			cancel()
		}
	})
	s.close()
	return list, err
}

// play opens a folder or file and collects its frames, in simulated time.
func play(t *testing.T, path string, rate float64, loop bool, most int) (list []playedFrame, damaged []string,
	s *playback) {
	t.Helper()
	open := openJPEGFile
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		open = openFolder
	}
	s, err := newPlayback(path, rate, loop, func(err error) { damaged = append(damaged, err.Error()) }, open)
	require.NoError(t, err)
	list, err = collect(t, s, most)
	require.NoError(t, err)
	return list, damaged, s
}

func times(list []playedFrame) (at []time.Duration) {
	for _, p := range list {
		at = append(at, p.at)
	}
	return at
}

func TestFolder(t *testing.T) {
	grey := image.NewGray(image.Rect(0, 0, 3, 2))
	copy(grey.Pix, []byte{1, 2, 3, 4, 5, 6})
	depth := image.NewGray16(image.Rect(0, 0, 2, 1))
	depth.SetGray16(0, 0, color.Gray16{Y: 0x1234})
	depth.SetGray16(1, 0, color.Gray16{Y: 0xfffe})
	colours := image.NewRGBA(image.Rect(0, 0, 2, 1))
	copy(colours.Pix, []byte{1, 2, 3, 255, 4, 5, 6, 255})
	few := image.NewPaletted(image.Rect(0, 0, 1, 2), color.Palette{color.RGBA{9, 8, 7, 255}, color.RGBA{6, 5, 4, 255}})
	few.Pix[1] = 1
	photo := string(jpegOf(t, 16, 8, 100))
	folder := folderOf(t, map[string]string{
		"frame_10.png": pngOf(t, grey), "frame_9.PNG": pngOf(t, depth), "frame_2.png": pngOf(t, colours),
		"frame_02b.png": pngOf(t, few),
		"frame_1.jpg":   photo, "frame_11.jpeg": photo, "notes.txt": "no picture", ".hidden.png": "no picture",
		"frame_3.png": "\x89PNG\r\n\x1a\nand no more", "frame_4.jpg": "", "frame_5.jpg": photo[:20],
	})
	synctest.Test(t, func(t *testing.T) {
		list, damaged, s := play(t, folder, 0, false, 0)
		type want struct {
			code          v4l2.FourCC
			width, height int
			data          string
		}
		var got []want
		for _, p := range list {
			got = append(got, want{p.Format.FourCC, p.Format.Width, p.Format.Height, string(p.Data)})
		}
		require.Equal(t, []want{
			{v4l2.MJPG, 16, 8, photo},
			{v4l2.RGB3, 2, 1, "\x01\x02\x03\x04\x05\x06"},
			{v4l2.RGB3, 1, 2, "\x09\x08\x07\x06\x05\x04"},
			{v4l2.Z16, 2, 1, "\x34\x12\xfe\xff"},
			{v4l2.GREY, 3, 2, "\x01\x02\x03\x04\x05\x06"},
			{v4l2.MJPG, 16, 8, photo},
		}, got)
		require.Equal(t, []time.Duration{0, time.Second / 30, 2 * (time.Second / 30), 3 * (time.Second / 30),
			4 * (time.Second / 30), 5 * (time.Second / 30)}, times(list))
		require.Len(t, damaged, 1, "the first one is reported")
		require.Contains(t, damaged[0], "frame_3.png: ")
		require.Equal(t, uint64(3), s.Stats().Damaged, "all are counted")
		jpegs, pixels := s.carries()
		require.True(t, jpegs && pixels)
	})
}

func TestFolderWithTimes(t *testing.T) {
	photo := string(jpegOf(t, 8, 8, 100))
	folder := folderOf(t, map[string]string{"frame_1700000000.500.jpg": photo, "frame_1700000000.5333.jpg": photo + "2",
		"frame_1700000001.jpg": photo + "3"})
	synctest.Test(t, func(t *testing.T) {
		list, _, s := play(t, folder, 0, true, 5)
		ms := time.Millisecond
		require.Equal(t, []time.Duration{0, 33300 * time.Microsecond, 500 * ms, 500*ms + s.period,
			533300*time.Microsecond + s.period}, times(list))
		require.Equal(t, photo+"2", string(list[4].Data))
		list, _, _ = play(t, folder, 10, false, 0)
		require.Equal(t, []time.Duration{0, 100 * ms, 200 * ms}, times(list), "the rate wins")
		require.NoError(t, os.WriteFile(filepath.Join(folder, "frame_1700000000.5333.jpg"), nil, 0o666))
		list, _, s = play(t, folder, 0, true, 4)
		require.Equal(t, []time.Duration{0, 500 * ms, 500*ms + s.period, 1000*ms + s.period}, times(list),
			"where one is damaged, too")
	})
}

// An hour without images is not waited for.
func TestFolderWithGap(t *testing.T) {
	photo := string(jpegOf(t, 8, 8, 100))
	folder := folderOf(t, map[string]string{"1700000000.jpg": photo, "1700000060.jpg": photo, "1700003660.jpg": photo,
		"1700003661.jpg": photo})
	synctest.Test(t, func(t *testing.T) {
		list, _, s := play(t, folder, 0, false, 0)
		require.Equal(t, []time.Duration{0, time.Minute, time.Minute + s.period, time.Minute + s.period + time.Second},
			times(list))
	})
}

func TestNameTime(t *testing.T) {
	for name, want := range map[string]int64{
		"frame_1768388400.033.png":     1768388400_033_000_000,
		"frame_1768388400033.000.png":  1768388400_033_000_000,
		"1768388400033.jpg":            1768388400_033_000_000,
		"a_1768388400033123.jpg":       1768388400_033_123_000,
		"1768388400033123456.jpg":      1768388400_033_123_456,
		"cam2_1768388400.jpg":          1768388400_000_000_000,
		"frame_0001.png":               0,
		"frame_0000000001.png":         0,
		"frame_17683884000.png":        0,
		"frame_1768388400.033_a.png":   0,
		"frame.png":                    0,
		"9999999999999999999.png":      0,
		"frame_01768388400.png":        0,
		"frame_1768388400.0331234567.": 0,
	} {
		got, ok := nameTime(name)
		require.Equal(t, want != 0, ok, name)
		require.Equal(t, want, got, name)
	}
}

func TestNaturally(t *testing.T) {
	list := []string{"", "a", "a1", "a1b", "a02", "a9", "a10", "a010b", "a11", "b", "b1-2", "b1-10",
		"c99999999999999999999", "c100000000000000000000"}
	for i, a := range list {
		for j, b := range list {
			require.Equal(t, cmp.Compare(i, j), naturally(a, b), "%s and %s", a, b)
		}
	}
	require.Zero(t, naturally("a1", "a001"))
}

// TestStream finds whole JPEGs among other bytes.
func TestStream(t *testing.T) {
	var all [][]byte
	for i := range 5 {
		all = append(all, jpegOf(t, 16+i, 8, 40*i))
	}
	// with the first bytes of a JPEG within a segment
	thumbnail := append([]byte("\xff\xd8\xff\xe1\x00\x08abc\xff\xd8\xff"), all[0][2:]...)
	concat := slices.Concat[[]byte]
	half := all[1][:len(all[1])/2]
	for name, test := range map[string]struct {
		data    []byte
		want    [][]byte
		damaged int
	}{
		"one":     {all[0], all[:1], 0},
		"several": {concat(all...), all, 0},
		"of a multipart stream": {concat([]byte("--b\r\nContent-Type: image/jpeg\r\n\r\n"), all[0],
			[]byte("\r\n--b\r\n\r\n"), all[1], []byte("\r\n--b--")), all[:2], 0},
		"padded": {concat(make([]byte, 9), all[0], make([]byte, 4000), all[1], make([]byte, 77)), all[:2],
			0},
		"fill bytes": {concat([]byte("\xff\xff"), all[0], []byte("\xff\xff\xff"), all[1], []byte("\xff")),
			all[:2], 0},
		"one is cut off":        {concat(all[0], half, all[2], all[3]), [][]byte{all[0], all[2], all[3]}, 1},
		"the last is cut off":   {concat(all[0], half), all[:1], 1},
		"cut off in its header": {concat(all[0], all[1][:9]), all[:1], 1},
		"only a beginning":      {concat(all[0], all[1][:3], all[2]), [][]byte{all[0], all[2]}, 1},
		"a marker is damaged": {concat(all[0], []byte("\xff\xd8\xff\xe0\x00\x04ab*"), all[2]), [][]byte{all[0], all[2]},
			1},
		"a length is damaged": {concat(all[0], []byte("\xff\xd8\xff\xe0\x00\x01"), all[2]), [][]byte{all[0], all[2]},
			1},
		"something in a segment":    {concat(all[1], thumbnail), [][]byte{all[1], thumbnail}, 0},
		"no size in it":             {concat(all[1], []byte("\xff\xd8\xff\xd9")), all[1:2], 1},
		"ends with a beginning":     {concat(all[1], []byte("\xff\xd8")), all[1:2], 0},
		"ends with the one after":   {concat(all[1], []byte("\xff\xd8\xff")), all[1:2], 1},
		"restarts and stuffed ones": {concat([]byte("\xff\xd0\xff\x00"), all[3], []byte("\xff\xd9")), all[3:4], 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := put(t, "a.mjpeg", string(test.data))
			synctest.Test(t, func(t *testing.T) {
				list, reported, s := play(t, path, 100, false, 0)
				var got [][]byte
				for i, p := range list {
					got = append(got, p.Data)
					require.Equal(t, time.Duration(i)*10*time.Millisecond, p.at)
				}
				require.Equal(t, test.want, got)
				require.Len(t, reported, min(test.damaged, 1))
				require.Equal(t, test.damaged, int(s.Stats().Damaged))
				jpegs, pixels := s.carries()
				require.True(t, jpegs && !pixels)
			})
		})
	}
}

// TestStreamInPieces finds JPEGs wherever a read ends.
func TestStreamInPieces(t *testing.T) {
	a, b := jpegOf(t, 16, 8, 1), jpegOf(t, 8, 16, 2)
	data := slices.Concat([]byte("x\xff"), a, []byte("\xff\xff"), b, b[:40])
	most := len(data) - 37
	for n := range most {
		p := jpegSplitter{most: maxPicture, damaged: func(error) { require.Fail(t, "early report of damage") }}
		var got [][]byte
		for start, end := 0, n; ; end = most {
			for {
				advance, token, err := p.split(data[start:end], false)
				require.NoError(t, err)
				start += advance
				if token == nil {
					break
				}
				got = append(got, slices.Clone(token))
			}
			if end == most {
				break
			}
		}
		require.Equal(t, [][]byte{a, b}, got)
	}
}

// TestStreamBounds checks that a JPEG without an end is skipped.
func TestStreamBounds(t *testing.T) {
	good := jpegOf(t, 8, 8, 1)
	var reported []string
	p := jpegSplitter{most: 4000, damaged: func(err error) { reported = append(reported, err.Error()) }}
	endless := slices.Concat(good[:len(good)-2], make([]byte, 5000))
	advance, token, err := p.split(endless, false)
	require.NoError(t, err)
	require.Nil(t, token)
	require.Equal(t, len(endless)-2, advance)
	require.Equal(t, []string{"a JPEG has no end within 4000 bytes"}, reported)
	_, token, _ = p.split(slices.Concat(endless, good), false)
	require.Equal(t, good, token)
}

func TestFilesLoop(t *testing.T) {
	a, b := jpegOf(t, 8, 8, 1), jpegOf(t, 8, 8, 2)
	for _, path := range []string{put(t, "a.mjpeg", string(a)+string(b)),
		folderOf(t, map[string]string{"1.jpg": string(a), "2.jpg": string(b)})} {
		synctest.Test(t, func(t *testing.T) {
			list, _, s := play(t, path, 1, true, 5)
			for i, p := range list {
				require.Equal(t, [][]byte{a, b}[i%2], p.Data)
				require.Equal(t, time.Duration(i)*time.Second, p.at)
			}
			stats, status := s.Stats(), s.Status()
			require.Equal(t, []uint64{5, 1, 5}, []uint64{stats.Frames, stats.Opened, stats.Window.Frames})
			require.InDelta(t, 5.0/4, stats.Window.Rate, 1e-9)
			require.Zero(t, s.Stats().Window.Frames)
			require.Equal(t, v4l2.Status{Path: path, Rate: 1,
				Format: v4l2.Format{FourCC: v4l2.MJPG, Width: 8, Height: 8}},
				status)
		})
	}
}

// TestLateFiles checks that a playback catches up after a short delay, and not after a long one.
func TestLateFiles(t *testing.T) {
	path := put(t, "a.mjpeg", string(jpegOf(t, 8, 8, 1)))
	synctest.Test(t, func(t *testing.T) {
		s, err := newPlayback(path, 10, true, nil, openJPEGFile)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var at []time.Duration
		begin := time.Now()
		require.NoError(t, s.run(ctx, func(f *v4l2.Frame) {
			at = append(at, time.Since(begin))
			switch len(at) {
			case 1:
				time.Sleep(250 * time.Millisecond)
			case 5:
				time.Sleep(10 * time.Second)
			case 7:
				cancel()
			}
		}))
		ms := time.Millisecond
		require.Equal(t, []time.Duration{0, 250 * ms, 250 * ms, 300 * ms, 400 * ms, 10400 * ms, 10500 * ms}, at)
		s.close()
	})
}

func TestFileErrors(t *testing.T) {
	_, err := newPlayback("", 0, false, nil, func(string,
		func(error)) (pictures, error) {
		return openFolder(folderOf(t, nil), nil)
	})
	require.ErrorContains(t, err, "has no images: want .jpg, .jpeg or .png files")
	_, err = openFolder("/nowhere", nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = openJPEGFile("/nowhere", nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	for _, path := range []string{put(t, "a.mp4", "no JPEG in it"),
		folderOf(t, map[string]string{"a.png": "", "b.jpg": "\xff\xd8\xff"})} {
		for _, loop := range []bool{false, true} {
			open := openJPEGFile
			if strings.HasSuffix(path, "001") || filepath.Ext(path) == "" {
				open = openFolder
			}
			s, err := newPlayback(path, 0, loop, func(error) {}, open)
			require.NoError(t, err)
			_, err = collect(t, s, 0)
			require.EqualError(t, err, fmt.Sprintf("read %s: no usable image", path))
		}
	}
}

// TestDeletedFiles checks that a loop ends when all files are deleted.
func TestDeletedFiles(t *testing.T) {
	folder := folderOf(t, map[string]string{"1.jpg": string(jpegOf(t, 8, 8, 1))})
	synctest.Test(t, func(t *testing.T) {
		s, err := newPlayback(folder, 0, true, func(error) {}, openFolder)
		require.NoError(t, err)
		n := 0
		require.NoError(t, s.run(t.Context(), func(*v4l2.Frame) {
			n++
			require.NoError(t, os.Remove(filepath.Join(folder, "1.jpg")))
		}))
		require.Equal(t, 1, n)
	})
}

func TestTooLarge(t *testing.T) {
	_, err := jpegFormat(resizeJPEG(t, jpegOf(t, 8, 8, 1), 65535, 65535))
	require.EqualError(t, err, "invalid image size 65535×65535")

	header := []byte("IHDR\x00\x01\x00\x00\x00\x01\x00\x00\x08\x00\x00\x00\x00") // 65536×65536
	text := slices.Concat([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), header,
		binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(header)))
	require.EqualError(t, new(folder).decode(&v4l2.Frame{Data: text}), "invalid image size 65536×65536")
}

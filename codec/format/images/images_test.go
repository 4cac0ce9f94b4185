package images_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/images"
	"tapedeck/codec/internal/codectest"
	"tapedeck/codec/internal/stamped"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

// header returns a header with a stamp of sec s and 5 ns.
func header(sec int32) std_msgs.Header {
	return std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: sec, Nanosec: 5}, FrameId: "lens, left"}
}

// rawImage returns an Image with uncompressed pixels.
func rawImage(sec int32, encoding string, width, height, step uint32, data ...byte) *sensor_msgs.Image {
	return &sensor_msgs.Image{Header: header(sec), Encoding: encoding, Width: width, Height: height, Step: step,
		Data: data}
}

// encodePixels encodes two pixels of 16 bits.
func encodePixels(t *testing.T, encode func(b *bytes.Buffer, m image.Image) error) []byte {
	m := image.NewGray16(image.Rect(0, 0, 2, 1))
	m.SetGray16(1, 0, color.Gray16{Y: 1234})
	var b bytes.Buffer
	require.NoError(t, encode(&b, m))
	return b.Bytes()
}

// TestImages writes images and calibrations, valid and invalid ones. It checks the files, the losses and the errors.
func TestImages(t *testing.T) {
	photo := encodePixels(t, func(b *bytes.Buffer, m image.Image) error { return jpeg.Encode(b, m, nil) })
	deep := encodePixels(t, func(b *bytes.Buffer, m image.Image) error { return png.Encode(b, m) })
	topics := codectest.Topics{}
	message := func(topic string, at int64, m msgs.Message) codec.Message { return topics.Message(t, topic, at, m) }
	info := &sensor_msgs.CameraInfo{Header: header(1), Width: 640, Height: 480, DistortionModel: "plumb_bob",
		D: []float64{-0.1, 1e-7, 0, 0, 0.5}, K: [9]float64{500.25, 0, 320, 0, 500, 240, 0, 0, 1},
		R: [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, P: [12]float64{500, 0, 320, 0, 0, 500, 240, 0, 0, 0, 1, 0}}
	changed := *info
	changed.K[2], changed.BinningX = 321, 2
	compressed := func(sec int32, format string, data []byte) *sensor_msgs.CompressedImage {
		return &sensor_msgs.CompressedImage{Header: header(sec), Format: format, Data: data}
	}
	path := filepath.Join(t.TempDir(), "out")
	lost, refused := codectest.Export(t, images.Format, path,
		message("/cam/image_raw/compressed", 10, compressed(1, "jpeg", photo)),
		message("/cam/image_raw/compressed", 11, compressed(1, "jpeg", photo)), // same stamp as the frame before
		message("/cam/image_raw/compressed", 12, compressed(1, "jpeg", photo)),
		message("/cam/image_raw/compressed", 13, compressed(2, "webp", []byte("RIFF"))),
		message("/cam/camera_info", 14, info), message("/cam/camera_info", 15, info),
		message("/cam/camera_info", 16, &changed),
		message("/other/camera_info", 17, info),
		message("/depth/compressedDepth", 18, compressed(3, "16UC1; compressedDepth png",
			append(make([]byte, 12), deep...))),
		message("/depth", 19, rawImage(0, "16UC1", 2, 1, 6, 1, 2, 3, 4)), // the padding is missing
		message("/de/pth", 20, rawImage(4, "mono8", 2, 2, 3, 1, 2, 9, 3, 4, 9)),
		message("/de_pth", 21, rawImage(4, "bayer_rggb8", 2, 2, 2, 1, 2, 3, 4)),
		message("/../x", 22, rawImage(5, "bgr8", 1, 1, 3, 1, 2, 3)),
		message("/../x", 23, rawImage(6, "bgr8", 2, 1, 3, 1, 2, 3)),
		message("/../x", 24, rawImage(7, "bgr8", 1<<31, 1<<31, 3, 1, 2, 3)),
		message("/../x", 25, rawImage(8, "hologram", 1, 1, 3, 1, 2, 3)),
		message("/../x", 26, rawImage(9, "nv12", 2, 2, 2, 128, 128, 128, 128, 128, 128)),
	)
	require.Equal(t, []codec.Loss{{Topic: "/../x", What: "colours of YUV, which RGB rounds", Messages: 1},
		{Topic: "/cam/camera_info", What: "binning and region of interest of a camera", Messages: 1}}, lost)
	require.Len(t, refused, 5)
	for i, want := range []string{"neither a JPEG nor a PNG", "4 bytes of data cannot hold 1 row of 6",
		"row of 3 bytes", "cannot hold", "hologram"} {
		require.Contains(t, refused[i], want)
	}
	files := codectest.Tree(t, path)
	require.Equal(t, []string{
		"_._x/5.000000005.png", "_._x/9.000000005.png", "_._x/index.csv",
		"cam_image_raw_compressed/1.000000005.jpg", "cam_image_raw_compressed/1.000000005_1.jpg",
		"cam_image_raw_compressed/1.000000005_2.jpg", "cam_image_raw_compressed/camera_info.yaml",
		"cam_image_raw_compressed/camera_info_1.000000005_1.yaml", "cam_image_raw_compressed/index.csv",
		"de_pth/4.000000005.png", "de_pth/index.csv", "de_pth_2/4.000000005.png", "de_pth_2/index.csv",
		"depth_compressedDepth/3.000000005.png", "depth_compressedDepth/index.csv",
		"other_camera_info/camera_info.yaml",
	}, slices.Sorted(maps.Keys(files)))
	require.Equal(t, string(photo), files["cam_image_raw_compressed/1.000000005.jpg"])
	require.Equal(t, string(deep), files["depth_compressedDepth/3.000000005.png"])
	require.Equal(t, "file,header_stamp,log_time,publish_time,frame_id,width,height,encoding\n"+
		"1.000000005.jpg,1000000005,10,,\"lens, left\",2,1,jpeg\n"+
		"1.000000005_1.jpg,1000000005,11,,\"lens, left\",2,1,jpeg\n"+
		"1.000000005_2.jpg,1000000005,12,,\"lens, left\",2,1,jpeg\n", files["cam_image_raw_compressed/"+stamped.Table])
	require.Contains(t, files["de_pth_2/index.csv"], "2,2,bayer_rggb8\n")
	require.Equal(t, `image_width: 640
image_height: 480
camera_name: other
camera_matrix:
  rows: 3
  cols: 3
  data: [500.25, 0, 320, 0, 500, 240, 0, 0, 1]
distortion_model: plumb_bob
distortion_coefficients:
  rows: 1
  cols: 5
  data: [-0.1, 0.0000001, 0, 0, 0.5]
rectification_matrix:
  rows: 3
  cols: 3
  data: [1, 0, 0, 0, 1, 0, 0, 0, 1]
projection_matrix:
  rows: 3
  cols: 4
  data: [500, 0, 320, 0, 0, 500, 240, 0, 0, 0, 1, 0]
`, files["other_camera_info/camera_info.yaml"])

	pixels := func(name string) image.Image {
		m, err := png.Decode(strings.NewReader(files[name]))
		require.NoError(t, err)
		return m
	}
	require.Equal(t, []byte{1, 2, 3, 4}, pixels("de_pth/4.000000005.png").(*image.Gray).Pix)
	require.Equal(t, []byte{1, 2, 3, 4}, pixels("de_pth_2/4.000000005.png").(*image.Gray).Pix)
	require.Equal(t, color.RGBA{3, 2, 1, 255}, pixels("_._x/5.000000005.png").At(0, 0))
}

// TestDistances writes distances in m. The files must have mm in 16 bits. A distance between two mm must be a loss.
func TestDistances(t *testing.T) {
	topics := codectest.Topics{}
	path := filepath.Join(t.TempDir(), "out")
	half, near := []byte{0, 0, 0, 0x3f}, []byte{0, 1, 0, 0x3f} // 0.5 m, and a little more
	lost, refused := codectest.Export(t, images.Format, path,
		topics.Message(t, "/depth", 1, rawImage(1, "32FC1", 1, 1, 4, half...)),
		topics.Message(t, "/depth", 1, rawImage(3, "32FC1", 1, 1, 4, near...)),
		topics.Message(t, "/depth", 2, rawImage(2, "16UC1", 1, 1, 2, 1, 2)))
	require.Empty(t, refused)
	require.Len(t, lost, 1)
	require.EqualValues(t, 1, lost[0].Messages)
	files := codectest.Tree(t, path)
	for name, want := range map[string]uint16{"depth/1.000000005.png": 500, "depth/2.000000005.png": 0x201} {
		m, err := png.Decode(strings.NewReader(files[name]))
		require.NoError(t, err)
		require.Equal(t, want, m.(*image.Gray16).Gray16At(0, 0).Y)
	}
}

// TestAccepts checks that other messages than images and calibrations are refused.
func TestAccepts(t *testing.T) {
	require.ErrorContains(t, images.Format.Accepts(&codec.Channel{Type: "sensor_msgs/msg/Imu"}), "neither images")
}

// FuzzImages writes messages of random bytes. Closing must succeed.
func FuzzImages(f *testing.F) {
	topics := codectest.Topics{}
	for _, m := range []codec.Message{
		topics.Message(f, "/a", 1, rawImage(1, "rgb8", 1, 1, 3, 1, 2, 3)),
		topics.Message(f, "/b", 1, &sensor_msgs.CompressedImage{Data: []byte("\xff\xd8\xff")}),
		topics.Message(f, "/c", 1, &sensor_msgs.CameraInfo{D: []float64{1}}),
	} {
		f.Add(m.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := images.Format.Create(filepath.Join(t.TempDir(), "out"), codec.CreateOptions{})
		require.NoError(t, err)
		for _, c := range topics {
			_ = w.Write(&codec.Message{Channel: c, LogTime: 1, Data: data})
		}
		require.NoError(t, w.Close())
	})
}

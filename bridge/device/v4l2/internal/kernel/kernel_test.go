package kernel

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestHeader compares sizes, offsets and numbers with those that the C compiler finds in linux/videodev2.h.
func TestHeader(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed, so that the layout of structs cannot be compared with linux/videodev2.h")
	}
	values := map[string]uint32{
		"VIDIOC_QUERYCAP": VIDIOC_QUERYCAP, "VIDIOC_ENUM_FMT": VIDIOC_ENUM_FMT, "VIDIOC_G_FMT": VIDIOC_G_FMT,
		"VIDIOC_S_FMT": VIDIOC_S_FMT, "VIDIOC_REQBUFS": VIDIOC_REQBUFS, "VIDIOC_QUERYBUF": VIDIOC_QUERYBUF,
		"VIDIOC_QBUF": VIDIOC_QBUF, "VIDIOC_DQBUF": VIDIOC_DQBUF, "VIDIOC_STREAMON": VIDIOC_STREAMON,
		"VIDIOC_STREAMOFF": VIDIOC_STREAMOFF, "VIDIOC_S_PARM": VIDIOC_S_PARM, "VIDIOC_G_PARM": VIDIOC_G_PARM,
		"VIDIOC_S_CTRL": VIDIOC_S_CTRL, "VIDIOC_QUERYMENU": VIDIOC_QUERYMENU,
		"VIDIOC_S_EXT_CTRLS": VIDIOC_S_EXT_CTRLS, "VIDIOC_ENUM_FRAMESIZES": VIDIOC_ENUM_FRAMESIZES,
		"VIDIOC_ENUM_FRAMEINTERVALS": VIDIOC_ENUM_FRAMEINTERVALS, "VIDIOC_QUERY_EXT_CTRL": VIDIOC_QUERY_EXT_CTRL,

		"V4L2_CAP_VIDEO_CAPTURE":        V4L2_CAP_VIDEO_CAPTURE,
		"V4L2_CAP_VIDEO_CAPTURE_MPLANE": V4L2_CAP_VIDEO_CAPTURE_MPLANE,
		"V4L2_CAP_META_CAPTURE":         V4L2_CAP_META_CAPTURE, "V4L2_CAP_STREAMING": V4L2_CAP_STREAMING,
		"V4L2_CAP_DEVICE_CAPS": V4L2_CAP_DEVICE_CAPS, "V4L2_CAP_TIMEPERFRAME": V4L2_CAP_TIMEPERFRAME,
		"V4L2_BUF_TYPE_VIDEO_CAPTURE":        uint32(V4L2_BUF_TYPE_VIDEO_CAPTURE),
		"V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE": uint32(V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE),
		"V4L2_MEMORY_MMAP":                   V4L2_MEMORY_MMAP,
		"V4L2_FRMSIZE_TYPE_DISCRETE":         V4L2_FRMSIZE_TYPE_DISCRETE,
		"V4L2_FRMIVAL_TYPE_DISCRETE":         V4L2_FRMIVAL_TYPE_DISCRETE,
		"V4L2_BUF_FLAG_ERROR":                V4L2_BUF_FLAG_ERROR,
		"V4L2_BUF_FLAG_TIMESTAMP_MASK":       V4L2_BUF_FLAG_TIMESTAMP_MASK,
		"V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC":  V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC,
		"V4L2_BUF_FLAG_TIMESTAMP_COPY":       V4L2_BUF_FLAG_TIMESTAMP_COPY,
		"V4L2_BUF_FLAG_TSTAMP_SRC_MASK":      V4L2_BUF_FLAG_TSTAMP_SRC_MASK,
		"V4L2_BUF_FLAG_TSTAMP_SRC_SOE":       V4L2_BUF_FLAG_TSTAMP_SRC_SOE,
		"V4L2_CTRL_TYPE_INTEGER":             V4L2_CTRL_TYPE_INTEGER, "V4L2_CTRL_TYPE_BOOLEAN": V4L2_CTRL_TYPE_BOOLEAN,
		"V4L2_CTRL_TYPE_MENU": V4L2_CTRL_TYPE_MENU, "V4L2_CTRL_TYPE_BUTTON": V4L2_CTRL_TYPE_BUTTON,
		"V4L2_CTRL_TYPE_INTEGER64": V4L2_CTRL_TYPE_INTEGER64, "V4L2_CTRL_TYPE_CTRL_CLASS": V4L2_CTRL_TYPE_CTRL_CLASS,
		"V4L2_CTRL_TYPE_STRING": V4L2_CTRL_TYPE_STRING, "V4L2_CTRL_TYPE_BITMASK": V4L2_CTRL_TYPE_BITMASK,
		"V4L2_CTRL_TYPE_INTEGER_MENU": V4L2_CTRL_TYPE_INTEGER_MENU, "V4L2_CTRL_FLAG_DISABLED": V4L2_CTRL_FLAG_DISABLED,
		"V4L2_CTRL_FLAG_READ_ONLY": V4L2_CTRL_FLAG_READ_ONLY, "V4L2_CTRL_FLAG_INACTIVE": V4L2_CTRL_FLAG_INACTIVE,
		"V4L2_CTRL_FLAG_HAS_PAYLOAD": V4L2_CTRL_FLAG_HAS_PAYLOAD, "V4L2_CTRL_FLAG_NEXT_CTRL": V4L2_CTRL_FLAG_NEXT_CTRL,
	}
	add := func(expression string, value uintptr) { values[expression] = uint32(value) }
	size := func(name string, size uintptr) { add("sizeof(struct v4l2_"+name+")", size) }
	offset := func(name, field string, offset uintptr) { add("offsetof(struct v4l2_"+name+", "+field+")", offset) }

	size("capability", unsafe.Sizeof(Capability{}))
	offset("capability", "device_caps", unsafe.Offsetof(Capability{}.DeviceCaps))
	size("fmtdesc", unsafe.Sizeof(FmtDesc{}))
	offset("fmtdesc", "pixelformat", unsafe.Offsetof(FmtDesc{}.PixelFormat))
	size("format", unsafe.Sizeof(Format{}))
	offset("format", "fmt", unsafe.Offsetof(Format{}.Pix))
	size("pix_format", unsafe.Sizeof(PixFormat{}))
	offset("pix_format", "sizeimage", unsafe.Offsetof(PixFormat{}.SizeImage))
	size("pix_format_mplane", unsafe.Sizeof(PixFormatMplane{}))
	offset("pix_format_mplane", "plane_fmt", unsafe.Offsetof(PixFormatMplane{}.PlaneFmt))
	offset("pix_format_mplane", "num_planes", unsafe.Offsetof(PixFormatMplane{}.NumPlanes))
	size("plane_pix_format", unsafe.Sizeof(PlanePixFormat{}))
	size("frmsizeenum", unsafe.Sizeof(FrmSizeEnum{}))
	offset("frmsizeenum", "discrete.height", unsafe.Offsetof(FrmSizeEnum{}.MaxWidth))
	offset("frmsizeenum", "stepwise.step_height", unsafe.Offsetof(FrmSizeEnum{}.StepHeight))
	size("frmivalenum", unsafe.Sizeof(FrmIvalEnum{}))
	offset("frmivalenum", "discrete", unsafe.Offsetof(FrmIvalEnum{}.Min))
	offset("frmivalenum", "stepwise.max", unsafe.Offsetof(FrmIvalEnum{}.Max))
	size("streamparm", unsafe.Sizeof(StreamParm{}))
	offset("streamparm", "parm.capture.timeperframe", unsafe.Offsetof(StreamParm{}.TimePerFrame))
	size("requestbuffers", unsafe.Sizeof(RequestBuffers{}))
	size("buffer", unsafe.Sizeof(Buffer{}))
	offset("buffer", "timestamp", unsafe.Offsetof(Buffer{}.Timestamp))
	offset("buffer", "sequence", unsafe.Offsetof(Buffer{}.Sequence))
	offset("buffer", "m", unsafe.Offsetof(Buffer{}.M))
	offset("buffer", "length", unsafe.Offsetof(Buffer{}.Length))
	offset("buffer", "request_fd", unsafe.Offsetof(Buffer{}.RequestFD))
	size("plane", unsafe.Sizeof(Plane{}))
	offset("plane", "m", unsafe.Offsetof(Plane{}.M))
	offset("plane", "data_offset", unsafe.Offsetof(Plane{}.DataOffset))
	size("query_ext_ctrl", unsafe.Sizeof(QueryExtCtrl{}))
	offset("query_ext_ctrl", "minimum", unsafe.Offsetof(QueryExtCtrl{}.Minimum))
	offset("query_ext_ctrl", "flags", unsafe.Offsetof(QueryExtCtrl{}.Flags))
	size("querymenu", unsafe.Sizeof(QueryMenu{}))
	offset("querymenu", "value", unsafe.Offsetof(QueryMenu{}.Name))
	size("control", unsafe.Sizeof(Control{}))
	size("ext_controls", unsafe.Sizeof(ExtControls{}))
	offset("ext_controls", "controls", unsafe.Offsetof(ExtControls{}.Controls))
	size("ext_control", unsafe.Sizeof(ExtControl{}))
	offset("ext_control", "value64", unsafe.Offsetof(ExtControl{}.Value))

	var expressions []string
	program := new(strings.Builder)
	program.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include <linux/videodev2.h>\nint main(void) {\n")
	program.WriteString("printf(\"%lu\\n\", (unsigned long)sizeof(void *));\n")
	for expression := range values {
		expressions = append(expressions, expression)
		fmt.Fprintf(program, "printf(\"%%lu\\n\", (unsigned long)(unsigned int)(%s));\n", expression)
	}
	program.WriteString("return 0; }\n")
	source, binary := filepath.Join(t.TempDir(), "header.c"), filepath.Join(t.TempDir(), "header")
	require.NoError(t, os.WriteFile(source, []byte(program.String()), 0o666))
	output, err := exec.Command(gcc, "-o", binary, source).CombinedOutput()
	if strings.Contains(string(output), "linux/videodev2.h: No such file") {
		t.Skip("linux/videodev2.h is not installed")
	}
	require.NoError(t, err, "%s", output)
	output, err = exec.Command(binary).Output()
	require.NoError(t, err)
	lines := strings.Fields(string(output))
	require.Len(t, lines, len(values)+1)
	if lines[0] != fmt.Sprint(unsafe.Sizeof(uintptr(0))) {
		t.Skipf("gcc compiles for another machine than this test: its pointers have %s bytes", lines[0])
	}
	for i, line := range lines[1:] {
		require.Equal(t, line, fmt.Sprint(values[expressions[i]]), expressions[i])
	}
}

func TestString(t *testing.T) {
	require.Equal(t, "uvc", String([]byte{'u', 'v', 'c', 0, 'x'}))
	require.Equal(t, "uvc", String([]byte("uvc")))
	require.Empty(t, String(make([]byte, 4)))
}

func TestMenuValue(t *testing.T) {
	require.EqualValues(t, 0x0102, (&QueryMenu{Name: [32]byte{2, 1}}).Value())
}

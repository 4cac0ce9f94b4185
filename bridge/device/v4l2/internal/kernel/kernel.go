// Package kernel has the structs, requests and flags of linux/videodev2.h that capturing needs, under the kernel's
// names. The structs have the layout of C on little-endian machines of 32 and 64 bits. Reserved fields are blank, and
// so always zero, as the kernel demands.
package kernel

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests, which contain the size of their argument. They are encoded as in the kernel's asm-generic/ioctl.h, which
// amd64, arm64, 386, arm and riscv64 use.
const (
	VIDIOC_QUERYCAP            = read | uint32(unsafe.Sizeof(Capability{}))<<16 | 'V'<<8
	VIDIOC_ENUM_FMT            = read | write | uint32(unsafe.Sizeof(FmtDesc{}))<<16 | 'V'<<8 | 2
	VIDIOC_G_FMT               = read | write | uint32(unsafe.Sizeof(Format{}))<<16 | 'V'<<8 | 4
	VIDIOC_S_FMT               = read | write | uint32(unsafe.Sizeof(Format{}))<<16 | 'V'<<8 | 5
	VIDIOC_REQBUFS             = read | write | uint32(unsafe.Sizeof(RequestBuffers{}))<<16 | 'V'<<8 | 8
	VIDIOC_QUERYBUF            = read | write | uint32(unsafe.Sizeof(Buffer{}))<<16 | 'V'<<8 | 9
	VIDIOC_QBUF                = read | write | uint32(unsafe.Sizeof(Buffer{}))<<16 | 'V'<<8 | 15
	VIDIOC_DQBUF               = read | write | uint32(unsafe.Sizeof(Buffer{}))<<16 | 'V'<<8 | 17
	VIDIOC_STREAMON            = write | uint32(unsafe.Sizeof(BufType(0)))<<16 | 'V'<<8 | 18
	VIDIOC_STREAMOFF           = write | uint32(unsafe.Sizeof(BufType(0)))<<16 | 'V'<<8 | 19
	VIDIOC_S_PARM              = read | write | uint32(unsafe.Sizeof(StreamParm{}))<<16 | 'V'<<8 | 22
	VIDIOC_G_PARM              = read | write | uint32(unsafe.Sizeof(StreamParm{}))<<16 | 'V'<<8 | 21
	VIDIOC_S_CTRL              = read | write | uint32(unsafe.Sizeof(Control{}))<<16 | 'V'<<8 | 28
	VIDIOC_QUERYMENU           = read | write | uint32(unsafe.Sizeof(QueryMenu{}))<<16 | 'V'<<8 | 37
	VIDIOC_S_EXT_CTRLS         = read | write | uint32(unsafe.Sizeof(ExtControls{}))<<16 | 'V'<<8 | 72
	VIDIOC_ENUM_FRAMESIZES     = read | write | uint32(unsafe.Sizeof(FrmSizeEnum{}))<<16 | 'V'<<8 | 74
	VIDIOC_ENUM_FRAMEINTERVALS = read | write | uint32(unsafe.Sizeof(FrmIvalEnum{}))<<16 | 'V'<<8 | 75
	VIDIOC_QUERY_EXT_CTRL      = read | write | uint32(unsafe.Sizeof(QueryExtCtrl{}))<<16 | 'V'<<8 | 103

	write = 1 << 30
	read  = 2 << 30
)

// Flags and numbers.
const (
	V4L2_CAP_VIDEO_CAPTURE        = 0x00000001
	V4L2_CAP_VIDEO_CAPTURE_MPLANE = 0x00001000
	V4L2_CAP_META_CAPTURE         = 0x00800000
	V4L2_CAP_STREAMING            = 0x04000000
	V4L2_CAP_DEVICE_CAPS          = 0x80000000
	V4L2_CAP_TIMEPERFRAME         = 0x1000

	V4L2_BUF_TYPE_VIDEO_CAPTURE        BufType = 1
	V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE BufType = 9
	V4L2_MEMORY_MMAP                           = 1

	V4L2_FRMSIZE_TYPE_DISCRETE = 1
	V4L2_FRMIVAL_TYPE_DISCRETE = 1

	V4L2_BUF_FLAG_ERROR               = 0x00000040
	V4L2_BUF_FLAG_TIMESTAMP_MASK      = 0x0000e000
	V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC = 0x00002000
	V4L2_BUF_FLAG_TIMESTAMP_COPY      = 0x00004000
	V4L2_BUF_FLAG_TSTAMP_SRC_MASK     = 0x00070000
	V4L2_BUF_FLAG_TSTAMP_SRC_SOE      = 0x00010000

	V4L2_CTRL_TYPE_INTEGER      = 1
	V4L2_CTRL_TYPE_BOOLEAN      = 2
	V4L2_CTRL_TYPE_MENU         = 3
	V4L2_CTRL_TYPE_BUTTON       = 4
	V4L2_CTRL_TYPE_INTEGER64    = 5
	V4L2_CTRL_TYPE_CTRL_CLASS   = 6
	V4L2_CTRL_TYPE_STRING       = 7
	V4L2_CTRL_TYPE_BITMASK      = 8
	V4L2_CTRL_TYPE_INTEGER_MENU = 9

	V4L2_CTRL_FLAG_DISABLED    = 0x0001
	V4L2_CTRL_FLAG_READ_ONLY   = 0x0004
	V4L2_CTRL_FLAG_INACTIVE    = 0x0010
	V4L2_CTRL_FLAG_HAS_PAYLOAD = 0x0100
	V4L2_CTRL_FLAG_NEXT_CTRL   = 0x80000000
)

// BufType is enum v4l2_buf_type.
type BufType uint32

// Capability is struct v4l2_capability.
type Capability struct {
	Driver       [16]byte
	Card         [32]byte
	BusInfo      [32]byte
	Version      uint32
	Capabilities uint32
	DeviceCaps   uint32
	_            [3]uint32
}

// FmtDesc is struct v4l2_fmtdesc.
type FmtDesc struct {
	Index       uint32
	Type        BufType
	Flags       uint32
	Description [32]byte
	PixelFormat uint32
	MbusCode    uint32
	_           [3]uint32
}

// Format is struct v4l2_format, with the pix member of its union.
type Format struct {
	Type BufType
	_    [unsafe.Sizeof(uintptr(0)) - 4]byte // the union is aligned like the pointers in another of its members
	Pix  PixFormat
	_    [200 - unsafe.Sizeof(PixFormat{})]byte
}

// PixMP is the pix_mp member of the union.
func (f *Format) PixMP() *PixFormatMplane {
	return (*PixFormatMplane)(unsafe.Add(unsafe.Pointer(f), unsafe.Offsetof(f.Pix)))
}

// PixFormat is struct v4l2_pix_format.
type PixFormat struct {
	Width        uint32
	Height       uint32
	PixelFormat  uint32
	Field        uint32
	BytesPerLine uint32
	SizeImage    uint32
	Colorspace   uint32
	Priv         uint32
	Flags        uint32
	YcbcrEnc     uint32
	Quantization uint32
	XferFunc     uint32
}

// PixFormatMplane is struct v4l2_pix_format_mplane.
type PixFormatMplane struct {
	Width        uint32
	Height       uint32
	PixelFormat  uint32
	Field        uint32
	Colorspace   uint32
	PlaneFmt     [8]PlanePixFormat
	NumPlanes    uint8
	Flags        uint8
	YcbcrEnc     uint8
	Quantization uint8
	XferFunc     uint8
	_            [7]uint8
}

// PlanePixFormat is struct v4l2_plane_pix_format.
type PlanePixFormat struct {
	SizeImage    uint32
	BytesPerLine uint32
	_            [6]uint16
}

// FrmSizeEnum is struct v4l2_frmsizeenum. By its union, MinWidth is the width of a discrete size, and MaxWidth its
// height.
type FrmSizeEnum struct {
	Index       uint32
	PixelFormat uint32
	Type        uint32
	MinWidth    uint32
	MaxWidth    uint32
	StepWidth   uint32
	MinHeight   uint32
	MaxHeight   uint32
	StepHeight  uint32
	_           [2]uint32
}

// FrmIvalEnum is struct v4l2_frmivalenum. By its union, Min is the discrete interval.
type FrmIvalEnum struct {
	Index       uint32
	PixelFormat uint32
	Width       uint32
	Height      uint32
	Type        uint32
	Min         Fract
	Max         Fract
	Step        Fract
	_           [2]uint32
}

// Fract is struct v4l2_fract.
type Fract struct {
	Numerator   uint32
	Denominator uint32
}

// StreamParm is struct v4l2_streamparm, with the capture member of its union.
type StreamParm struct {
	Type         BufType
	Capability   uint32
	CaptureMode  uint32
	TimePerFrame Fract
	ExtendedMode uint32
	ReadBuffers  uint32
	_            [176]byte
}

// RequestBuffers is struct v4l2_requestbuffers.
type RequestBuffers struct {
	Count        uint32
	Type         BufType
	Memory       uint32
	Capabilities uint32
	Flags        uint8
	_            [3]uint8
}

// Buffer is struct v4l2_buffer. M is its union: the offset of a buffer to map, in the low 32 bits, or the address of
// the Planes.
type Buffer struct {
	Index     uint32
	Type      BufType
	BytesUsed uint32
	Flags     uint32
	Field     uint32
	Timestamp unix.Timeval
	_         [4]uint32 // a time code, which no camera has
	Sequence  uint32
	Memory    uint32
	M         uintptr
	Length    uint32
	_         uint32
	RequestFD int32
}

// Plane is struct v4l2_plane. The low 32 bits of M are the offset of a buffer to map.
type Plane struct {
	BytesUsed  uint32
	Length     uint32
	M          uintptr
	DataOffset uint32
	_          [11]uint32
}

// QueryExtCtrl is struct v4l2_query_ext_ctrl.
type QueryExtCtrl struct {
	ID           uint32
	Type         uint32
	Name         [32]byte
	Minimum      int64
	Maximum      int64
	Step         uint64
	DefaultValue int64
	Flags        uint32
	ElemSize     uint32
	Elems        uint32
	NrOfDims     uint32
	Dims         [4]uint32
	_            [32]uint32
}

// QueryMenu is struct v4l2_querymenu.
type QueryMenu struct {
	ID    uint32
	Index uint32
	Name  [32]byte
	_     uint32
}

// Value is the value member of the union with Name.
func (m *QueryMenu) Value() int64 {
	return int64(binary.NativeEndian.Uint64(m.Name[:]))
}

// Control is struct v4l2_control.
type Control struct {
	ID    uint32
	Value int32
}

// ExtControls is struct v4l2_ext_controls.
type ExtControls struct {
	Which     uint32
	Count     uint32
	ErrorIdx  uint32
	RequestFD int32
	_         uint32
	Controls  *ExtControl
}

// ExtControl is struct v4l2_ext_control, with the value64 member of its union.
type ExtControl struct {
	ID    uint32
	Size  uint32
	_     uint32
	Value [8]byte // an int64, which the packed struct does not align
}

// String returns the text in a field of bytes, up to its first zero, or its end.
func String(field []byte) string {
	for i, b := range field {
		if b == 0 {
			return string(field[:i])
		}
	}
	return string(field)
}

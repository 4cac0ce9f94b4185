package diskguard

import (
	"fmt"
	"strconv"
	"strings"

	"tapedeck/config"
)

// Disk is the part of codec.Disk that a guard needs.
type Disk interface {
	Space(path string) (free, total int64, err error)
}

// Reserve is the space of a disk that must stay free.
type Reserve struct {
	bytes   int64
	percent float64 // of the size of the disk
	auto    bool    // the smaller of autoBytes and autoPercent
}

const (
	autoBytes   = 1 << 30
	autoPercent = 5
)

// ParseReserve parses a size, a percentage, or auto.
func ParseReserve(text string) (r Reserve, err error) {
	if text == "auto" {
		return Reserve{auto: true}, nil
	}
	if number, ok := strings.CutSuffix(text, "%"); ok {
		r.percent, err = strconv.ParseFloat(number, 64)
		if err != nil || !(r.percent >= 0 && r.percent <= 100) {
			return r, fmt.Errorf("%q is not allowed, want 0%% to 100%%", text)
		}
		return r, nil
	}
	size, err := config.ParseSize(text)
	if err != nil {
		return r, fmt.Errorf("%q is not allowed, want a size such as 1GiB, a percentage such as 5%%, or auto", text)
	}
	return Reserve{bytes: int64(size)}, nil
}

// bytesOf returns the bytes to keep free on a disk of total bytes.
func (r Reserve) bytesOf(total int64) int64 {
	if r.auto {
		return min(autoBytes, total/100*autoPercent)
	}
	return max(r.bytes, int64(r.percent/100*float64(total)))
}

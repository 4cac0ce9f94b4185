package output

import (
	"fmt"
	"path/filepath"
	"regexp"
	"time"
)

// dated matches the time at the end of a name, as rosbag2 writes it.
var dated = regexp.MustCompile(`_\d{4}_\d\d_\d\d-\d\d_\d\d_\d\d$`)

// Names returns Format.Name for files called NAME_1.mcap and on. With a clock, which is codec.CreateOptions.Dated,
// files are named as by rosbag2 since ROS 2 Lyrical: 0_NAME_2026_01_31-08_15_00.mcap and on.
func Names(base, extension string, clock func() time.Time) func(n int) string {
	if clock == nil {
		return func(n int) string { return fmt.Sprintf("%s_%d%s", base, n, extension) }
	}
	folder, name := filepath.Split(base)
	return func(n int) string {
		return fmt.Sprintf("%s%d_%s_%s%s", folder, n, name, clock().Format("2006_01_02-15_04_05"), extension)
	}
}

// ShortNames returns Names without the time at the end of base if there is a clock. It is for files whose folder has
// this time. Elsewhere, files of several recordings would seem to be one recording.
func ShortNames(base, extension string, clock func() time.Time) func(n int) string {
	if clock != nil {
		base = dated.ReplaceAllString(base, "")
	}
	return Names(base, extension, clock)
}

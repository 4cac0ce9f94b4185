package align

import (
	"fmt"
	"strconv"
	"strings"
)

// formatStamp returns a time as seconds: ms, and what is less if there is any.
func formatStamp(ns int64) string {
	sign, u := "", uint64(ns)
	if ns < 0 {
		sign, u = "-", -u
	}
	fraction := fmt.Sprintf("%09d", u%1e9)
	return sign + strconv.FormatUint(u/1e9, 10) + "." + fraction[:3] + strings.TrimRight(fraction[3:], "0")
}

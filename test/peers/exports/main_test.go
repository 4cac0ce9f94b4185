// Package exports tests the formats for pictures, videos, clouds and tracks against other programs: ffprobe,
// loaders.gl, togeojson, gpsbabel and GDAL read what the converter writes.
package exports

import (
	"os"
	"testing"

	"tapedeck/test/internal/process"
)

// bin is the folder of the converter.
var bin string

func TestMain(m *testing.M) { os.Exit(process.Main(m, &bin, "converter")) }

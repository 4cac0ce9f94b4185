// Package exports tests that ffprobe, loaders.gl, togeojson, gpsbabel and GDAL read the converter's pictures, videos,
// clouds and tracks.
package exports

import (
	"os"
	"testing"

	"tapedeck/test/internal/process"
)

// bin is the folder of the converter.
var bin string

func TestMain(m *testing.M) { os.Exit(process.Main(m, &bin, "converter")) }

package table

import (
	"os"
	"testing"

	"tapedeck/test/internal/process"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m, nil)) }

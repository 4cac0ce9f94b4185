package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		text string
		want Size
		out  string
	}{
		{"0", 0, "0"},
		{"1", 1, "1"},
		{"4k", 4000, "4kB"},
		{"4K", 4000, "4kB"},
		{"4KiB", 4096, "4KiB"},
		{"4096", 4096, "4KiB"},
		{"256MiB", 256 << 20, "256MiB"},
		{"256 Mi", 256 << 20, "256MiB"},
		{"1GB", 1e9, "1GB"},
		{"1.5GB", 1.5e9, "1500MB"},
		{"2TiB", 2 << 40, "2TiB"},
		{"12B", 12, "12"},
		{"3PiB", 3 << 50, "3PiB"},
		{"2 e", 2e18, "1953125000000000KiB"},
		{"9223372036854775807", 1<<63 - 1, "9223372036854775807"},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, err := ParseSize(c.text)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, c.out, got.String())
			again, err := ParseSize(got.String())
			require.NoError(t, err)
			require.Equal(t, got, again)
		})
	}
	for _, text := range []string{"", "-1", "MB", "1XB", "1.2.3", "1e3", "9223372036854775808", "9000000TiB", "1 2",
		"1i", "1BB", "9223372036854775808B", "8EiB", ".", "nan", "0x10", "1,5GB", "1,000"} {
		t.Run("bad "+text, func(t *testing.T) {
			_, err := ParseSize(text)
			require.Error(t, err)
		})
	}
}

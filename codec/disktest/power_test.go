package disktest

import (
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A power cut leaves everything that was synced. Of the rest it leaves sometimes nothing, sometimes all, and never a
// name or a byte that was not there.
func TestPowerCut(t *testing.T) {
	disk := &Disk{}
	require.NoError(t, disk.MkdirAll("/data"))
	require.NoError(t, disk.SyncFolder("/"))
	require.NoError(t, disk.Mkdir("/data/bag"))
	require.NoError(t, disk.SyncFolder("/data"))
	file, err := disk.Create("/data/bag/a", false)
	require.NoError(t, err)
	_, err = file.WriteAt([]byte(strings.Repeat("s", 1000)), 0)
	require.NoError(t, err)
	require.NoError(t, file.Sync())
	require.NoError(t, disk.SyncFolder("/data/bag"))
	_, err = file.WriteAt([]byte(strings.Repeat("u", 2000)), 1000)
	require.NoError(t, err)
	require.NoError(t, disk.Rename("/data/bag/a", "/data/bag/b"))
	require.NoError(t, disk.Mkdir("/data/late"))
	_, err = disk.Create("/data/late/c", false)
	require.NoError(t, err)
	require.NoError(t, disk.SyncFolder("/data/late"))

	seen := map[string]int{}
	for seed := range uint64(200) {
		cut := disk.PowerCut(func(path string) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(len(path)))) })
		files := cut.Files()
		_, renamed := files["/data/bag/b"]
		text := string(files["/data/bag/a"]) + string(files["/data/bag/b"])
		require.True(t, strings.HasPrefix(text, strings.Repeat("s", 1000)))
		require.Empty(t, strings.Trim(text[1000:], "u\x00"))
		require.LessOrEqual(t, len(text), 3000)
		_, late := files["/data/late/c"]
		_, err := cut.Stat("/data/late")
		require.Equal(t, late, err == nil, "the folder is synced, but not its name")
		for what, is := range map[string]bool{
			"renamed": renamed, "old name": !renamed, "late": late, "no late": !late, "synced only": len(text) == 1000,
			"all": strings.Count(text, "u") == 2000, "zeros": strings.Contains(text, "\x00"),
		} {
			if is {
				seen[what]++
			}
		}
		file, err := cut.Create("/data/bag/a", true)
		require.NoError(t, err, "no lock survives")
		require.NoError(t, file.Close())
	}
	require.Len(t, seen, 7, "%v", seen)
	require.Equal(t, disk.Files(), disk.Killed().Files())
	require.Equal(t, disk.Files(), disk.Killed().PowerCut(nil).Files(), "what is on the disk at the start is synced")
}

// Files, reserved space and other programs take some of the Size bytes of a disk.
func TestSize(t *testing.T) {
	disk := &Disk{Size: 1000}
	file, err := disk.Create("a", false)
	require.NoError(t, err)
	reserve, err := disk.Reserve("a", 300)
	require.NoError(t, err)
	disk.Fill(600)
	n, err := file.WriteAt(make([]byte, 200), 0)
	require.Equal(t, 100, n)
	require.ErrorIs(t, err, syscall.ENOSPC)
	_, err = disk.Reserve("a", 1)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, reserve.Close())
	require.NoError(t, reserve.Close())
	disk.Fill(-600)
	_, err = file.WriteAt(make([]byte, 300), 50)
	require.NoError(t, err)
	free, total, err := disk.Space("a")
	require.NoError(t, err)
	require.Equal(t, []int64{650, 1000}, []int64{free, total})
}

package table

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/test/internal/process"
)

// TestCatalogue checks the results of DuckDB's queries of a catalogue that converter index writes.
func TestCatalogue(t *testing.T) {
	dir := process.Modules(t, notRead)
	folder := t.TempDir()
	channel := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/Float64", Encoding: codec.EncodingCDR}
	const start = int64(1_700_000_000e9)
	for name, values := range map[string][]float64{
		"a": {1, 2, 6, math.NaN(), -1}, "b": {math.Inf(1)}, "c": {}, "d": {-8, 0},
	} {
		w, err := mcap.Format.Create(filepath.Join(folder, name+".mcap"), codec.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, w.Declare(channel))
		for i, v := range values {
			data := binary.LittleEndian.AppendUint64([]byte{0, 1, 0, 0}, math.Float64bits(v))
			require.NoError(t, w.Write(&codec.Message{Channel: channel, LogTime: start + int64(i)*3e8, Data: data}))
		}
		require.NoError(t, w.Close())
	}
	catalogue := filepath.Join(folder, "catalogue")
	index := exec.Command(filepath.Join(bin, "converter"), "index", folder, "-o", catalogue)
	out, err := index.CombinedOutput()
	require.NoError(t, err, "%s", out)

	from := func(table string) string { return "'" + filepath.Join(catalogue, table, "*.parquet") + "'" }
	var got []result
	peer(t, &got, dir, "node", script(t, "peer.js"), "duckdb",
		`SELECT right(recording, 6) AS name, format, start, "end", duration, messages, complete FROM `+
			from("recordings")+` ORDER BY name`,
		`SELECT right(recording, 6) AS name, second, field, count, min, mean, max, nan, infinite FROM `+
			from("signals")+` ORDER BY name, second`,
		`SELECT right(recording, 6) AS name, topic, t.messages, t.fields FROM `+from("topics")+` t JOIN `+
			from("recordings")+` r USING (recording) ORDER BY name`,
		`SELECT count(*) AS n FROM `+from("events"))
	rows := func(r result) (all []string) {
		for _, row := range r.Rows {
			text, err := json.Marshal(row)
			require.NoError(t, err)
			all = append(all, string(text))
		}
		return all
	}
	require.Equal(t, []string{
		`["a.mcap","mcap","2023-11-14 22:13:20","2023-11-14 22:13:21.2",1.2,"5",true]`,
		`["b.mcap","mcap","2023-11-14 22:13:20","2023-11-14 22:13:20",0,"1",true]`,
		`["c.mcap","mcap",null,null,0,"0",true]`,
		`["d.mcap","mcap","2023-11-14 22:13:20","2023-11-14 22:13:20.3",0.3,"2",true]`,
	}, rows(got[0]))
	require.Equal(t, []string{
		`["a.mcap","2023-11-14 22:13:20","data","3",1,3,6,"1","0"]`,
		`["a.mcap","2023-11-14 22:13:21","data","1",-1,-1,-1,"0","0"]`,
		`["b.mcap","2023-11-14 22:13:20","data","0",null,null,null,"0","1"]`,
		`["d.mcap","2023-11-14 22:13:20","data","2",-8,-4,0,"0","0"]`,
	}, rows(got[1]))
	require.Equal(t, []string{`["a.mcap","/n","5",["data"]]`, `["b.mcap","/n","1",["data"]]`, `["c.mcap","/n","0",[]]`,
		`["d.mcap","/n","2",["data"]]`}, rows(got[2]))
	require.Equal(t, []string{`["0"]`}, rows(got[3]))
	require.Equal(t, "TIMESTAMP_NS", got[1].Types[1], fmt.Sprint(got[1].Types))

	// The queries in docs/guide/fleet.md work.
	guide, err := os.ReadFile(filepath.Join(process.Root(), "docs/guide/fleet.md"))
	require.NoError(t, err)
	_, queries, found := strings.Cut(string(guide), "```sql\n")
	require.True(t, found)
	queries, _, _ = strings.Cut(queries, "```")
	queries = strings.ReplaceAll(queries, "'catalogue/", "'"+catalogue+"/")
	args := append([]string{script(t, "peer.js"), "duckdb"}, strings.Split(strings.TrimSuffix(strings.TrimSpace(queries),
		";"), ";")...)
	peer(t, &got, dir, "node", args...)
	require.Len(t, got, 3)
	require.Equal(t, []string{`["/n","4","8",0.0004166666666666667]`}, rows(got[2]))
}

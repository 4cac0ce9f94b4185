package lerobot

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// TestFormat writes a dataset and compares info.json, the schemas and metadata of tables, and the lists of tasks and
// episodes with files of LeRobot's writer.
func TestFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set")
	defaultFiles := chunkFiles
	t.Cleanup(func() { chunkFiles = defaultFiles })
	chunkFiles = 2
	w, err := Create(path, Options{RobotType: "rm65", DataFileSize: 1})
	require.NoError(t, err)
	for i := range 3 {
		e := newEpisode(t, "episode", "pick", 1e18+int64(i)*1e11, 4)
		joint := e.Arms[0].Streams[episode.Joint]
		e.Arms = []*episode.Arm{{Name: "arm_0", Streams: episode.Streams{episode.Joint: joint}}}
		e.Cameras = e.Cameras[:1]
		require.NoError(t, w.Write(alignRows(t, e, align.Options{})))
	}
	require.NoError(t, w.Close())

	text, err := os.ReadFile(filepath.Join(path, infoPath))
	require.NoError(t, err)
	require.JSONEq(t, `{
		"codebase_version": "v3.0", "robot_type": "rm65", "total_episodes": 3, "total_frames": 12, "total_tasks": 1,
		"chunks_size": 2,
		"data_files_size_in_mb": 1, "video_files_size_in_mb": 200, "fps": 30, "splits": {"train": "0:3"},
		"data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet", "video_path": null,
		"features": {
			"observation.state": {"dtype": "float32", "shape": [3], "names": ["arm_0.joint_0", "arm_0.joint_1",
			"arm_0.joint_2"]},
			"action": {"dtype": "float32", "shape": [3], "names": ["arm_0.joint_0", "arm_0.joint_1", "arm_0.joint_2"]},
			"observation.images.camera_0": {"dtype": "image", "shape": [48, 64, 3], "names": ["height", "width",
			"channels"], "info": {"is_depth_map": false}},
			"timestamp": {"dtype": "float32", "shape": [1], "names": null},
			"frame_index": {"dtype": "int64", "shape": [1], "names": null},
			"episode_index": {"dtype": "int64", "shape": [1], "names": null},
			"index": {"dtype": "int64", "shape": [1], "names": null},
			"task_index": {"dtype": "int64", "shape": [1], "names": null}
		}
	}`, string(text))

	for i, name := range []string{"data/chunk-000/file-000.parquet", "data/chunk-000/file-001.parquet",
		"data/chunk-001/file-000.parquet"} {
		table, err := openTable(nil, filepath.Join(path, name))
		require.NoError(t, err)
		require.Len(t, table.in.RowGroups(), 1)
		features, ok := table.in.Lookup("huggingface")
		require.True(t, ok)
		require.JSONEq(t, `{"info": {"features": {
			"observation.state": {"feature": {"dtype": "float32", "_type": "Value"}, "length": 3, "_type": "List"},
			"action": {"feature": {"dtype": "float32", "_type": "Value"}, "length": 3, "_type": "List"},
			"observation.images.camera_0": {"_type": "Image"},
			"timestamp": {"dtype": "float32", "_type": "Value"}, "frame_index": {"dtype": "int64", "_type": "Value"},
			"episode_index": {"dtype": "int64", "_type": "Value"}, "index": {"dtype": "int64", "_type": "Value"},
			"task_index": {"dtype": "int64", "_type": "Value"}
		}}}`, features)
		require.Equal(t, `message schema {
	optional group observation.state (LIST) {
		repeated group list {
			optional float element;
		}
	}
	optional group action (LIST) {
		repeated group list {
			optional float element;
		}
	}
	optional group observation.images.camera_0 {
		optional binary bytes;
		optional binary path (STRING);
	}
	optional float timestamp;
	optional int64 frame_index (INT(64,true));
	optional int64 episode_index (INT(64,true));
	optional int64 index (INT(64,true));
	optional int64 task_index (INT(64,true));
}`, table.in.Schema().String())
		index, err := table.numbers("index", 1)
		require.NoError(t, err)
		require.Equal(t, []float64{float64(4 * i), float64(4*i + 1), float64(4*i + 2), float64(4*i + 3)}, index)
		stamps, err := table.numbers("timestamp", 1)
		require.NoError(t, err)
		require.Equal(t, float32s([]float64{0, 1. / 30, 2. / 30, 3. / 30}), stamps)
		require.NoError(t, table.close())
	}

	tasks, err := openTable(nil, filepath.Join(path, tasksPath))
	require.NoError(t, err)
	defer tasks.close()
	pandas, ok := tasks.in.Lookup("pandas")
	require.True(t, ok)
	var frame struct {
		Index []string `json:"index_columns"`
	}
	require.NoError(t, json.Unmarshal([]byte(pandas), &frame))
	require.Equal(t, []string{"task"}, frame.Index)
	names, err := tasks.texts("task")
	require.NoError(t, err)
	require.Equal(t, [][]string{{"pick"}}, names)

	episodes, err := openTable(nil, filepath.Join(path, episodesPath))
	require.NoError(t, err)
	defer episodes.close()
	for name, want := range map[string][]float64{
		"episode_index": {0, 1, 2}, "length": {4, 4, 4}, "dataset_from_index": {0, 4, 8},
		"dataset_to_index": {4, 8, 12},
		"data/chunk_index": {0, 0, 1}, "data/file_index": {0, 1, 0}, "meta/episodes/chunk_index": {0, 0, 0},
		"meta/episodes/file_index": {0, 0, 0},
		"stats/index/min":          {0, 4, 8}, "stats/index/max": {3, 7, 11},
		"stats/observation.state/count": {4, 4, 4},
	} {
		got, err := episodes.numbers(name, 1)
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
	_, err = episodes.numbers("stats/observation.images.camera_0/q99", 3)
	require.NoError(t, err)

	s, err := Open(nil, path)
	require.NoError(t, err)
	read, err := s.Episodes()
	require.NoError(t, err)
	require.Len(t, read, 3)
}

// writeForeignDataset writes a dataset of v2.1 without meta/tapedeck.json, as other tools do: two episodes of three
// rows, and a feature next.reward that tables lack.
func writeForeignDataset(t testing.TB) string {
	path := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(path, name)), 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(path, name), []byte(text), 0o666))
	}
	write(infoPath,
		`{"codebase_version": "v2.1", "fps": 10, "chunks_size": 1000, "total_videos": 0, "robot_type": "so100",
		"data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet", "video_path": null,
		"features": {"observation.state": {"dtype": "float32", "shape": [2], "names": {"motors": ["shoulder",
		"elbow"]}},
			"action": {"dtype": "float32", "shape": [2]},
			"next.reward": {"dtype": "float32", "shape": [1], "names": null}}}`)
	write("meta/tasks.jsonl", `{"task_index": 0, "task": "pick"}`+"\n")
	write("meta/episodes.jsonl", `{"episode_index": 0, "tasks": ["pick"], "length": 3}`+"\n"+`{"episode_index": 1, `+
		`"tasks": ["place"], "length": 3}`+"\n")
	for e := range 2 {
		table, err := createTable(filepath.Join(path, fmt.Sprintf("data/chunk-000/episode_%06d.parquet", e)), []column{
			listColumn(stateKey, parquet.Leaf(parquet.FloatType), 1),
			listColumn(actionKey, parquet.Leaf(parquet.FloatType), 1),
			listColumn("episode_index", parquet.Leaf(parquet.Int64Type), 0),
		}, nil)
		require.NoError(t, err)
		value := func(row, i int) parquet.Value { return parquet.FloatValue(float32(100*e + 10*row + i)) }
		require.NoError(t, table.lists(stateKey, 3, 2, value))
		require.NoError(t, table.lists(actionKey, 3, 2, value))
		require.NoError(t, table.lists("episode_index", 3, 1,
			func(int, int) parquet.Value { return parquet.Int64Value(int64(e)) }))
		require.NoError(t, table.close())
	}
	return path
}

// TestReadForeignDataset reads a dataset without meta/tapedeck.json. Names, times and columns must come from LeRobot's
// files.
func TestReadForeignDataset(t *testing.T) {
	s, err := Open(nil, writeForeignDataset(t))
	require.NoError(t, err)
	read, err := s.Episodes()
	require.NoError(t, err)
	require.Len(t, read, 2)
	e := read[1]
	require.Equal(t, "episode_1", e.Name)
	require.Equal(t, "place", e.Task)
	require.Equal(t, []int64{3e8, 4e8, 5e8}, e.Arms[0].Streams[episode.Joint].Stamps)
	require.Equal(t, []float64{100, 101, 110, 111, 120, 121}, e.Arms[0].Streams[episode.Joint].Values)
	require.Equal(t, []align.Column{{Name: "shoulder"}, {Name: "elbow"}}, e.Arms[0].Streams[episode.Joint].Columns)
	require.Equal(t, []align.Column{{Name: "action_0"}, {Name: "action_1"}},
		e.Arms[0].Streams[episode.CommandJoint].Columns)
}

// languageRow is a row of a table with LeRobot's columns of language annotations, and other columns that are not read.
type languageRow struct {
	State      []float32            `parquet:"observation.state,list"`
	Action     []float32            `parquet:"action,list"`
	Episode    int64                `parquet:"episode_index"`
	Persistent []languagePersistent `parquet:"language_persistent,list"`
	Events     []languageEvent      `parquet:"language_events,list"`
	Subtask    int64                `parquet:"subtask_index"`
	Other      map[string]string    `parquet:"other"`
}

type languageEvent struct {
	Role      string   `parquet:"role"`
	Content   *string  `parquet:"content,optional"`
	Style     *string  `parquet:"style,optional"`
	Camera    *string  `parquet:"camera,optional"`
	ToolCalls []string `parquet:"tool_calls,list"`
}

type languagePersistent struct {
	languageEvent
	Timestamp float32 `parquet:"timestamp"`
}

// TestLanguage reads a dataset with columns of language annotations. They must not prevent reading the numbers.
func TestLanguage(t *testing.T) {
	path := writeForeignDataset(t)
	name := filepath.Join(path, infoPath)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	changed := strings.Replace(string(text), `"features": {`, `"tools": [{"type": "function"}], "features": {
		"language_persistent": {"dtype": "language", "shape": [1], "names": null},
		"language_events": {"dtype": "language", "shape": [1], "names": null},`, 1)
	require.NoError(t, os.WriteFile(name, []byte(changed), 0o666))
	pick := "pick the cup"
	event := languageEvent{Role: "assistant", Content: &pick, ToolCalls: []string{`{"name": "say"}`}}
	for e := range 2 {
		rows := make([]languageRow, 3)
		for i := range rows {
			rows[i] = languageRow{State: []float32{float32(e), float32(i)}, Action: []float32{1, 2}, Episode: int64(e),
				Persistent: []languagePersistent{{event, 0.5}, {event, 1}}, Other: map[string]string{"a": "b"}}
			if i == 1 {
				rows[i].Events = []languageEvent{event}
			}
		}
		require.NoError(t, parquet.WriteFile(
			filepath.Join(path, fmt.Sprintf("data/chunk-000/episode_%06d.parquet", e)), rows))
	}
	s, err := Open(nil, path)
	require.NoError(t, err)
	read, err := s.Episodes()
	require.NoError(t, err)
	require.Equal(t, []float64{1, 0, 1, 1, 1, 2}, read[1].Arms[0].Streams[episode.Joint].Values)
	require.Equal(t, "place", read[1].Task)
}

// TestRolesOfFeatures checks the arm and role that originsOf derives from the name of a feature. "" is a feature that
// is not read.
func TestRolesOfFeatures(t *testing.T) {
	vector := func(key string) *feature { return &feature{key: key, DType: "float32", Shape: []int{2}} }
	for _, c := range []struct {
		key, want string
		beside    string // another feature; "": none
	}{
		{"state", "arm_0 joint", ""}, {"actions", "arm_0 joint command", ""},
		{"observation.state", "arm_0 joint", "state"}, {"state", "", "observation.state"},
		{"observation.states.effector.position", "effector joint", ""},
		{"observation.state.joint_velocity", "joint velocity", ""},
		{"action.joint_velocity", "joint_velocity joint command", ""},
		{"actions.joint.position", "joint joint command", "action"},
		{"observation.states.end.orientation", "end.orientation joint", ""},
		{"observation.states.a_pos", "a_pos joint", "observation.states.a.pos"},
		{"next.reward", "", ""}, {"observation.images.top", "", ""}, {"action.text", "", ""},
	} {
		all := features{vector(c.key)}
		if c.beside != "" {
			all = append(features{vector(c.beside)}, all...)
		}
		f := all[len(all)-1]
		switch c.key {
		case "observation.images.top":
			f.DType = "video"
		case "action.text":
			f.DType = "string"
		}
		got := ""
		if o, ok := originsOf(all)[c.key]; ok {
			got = o.Arm + " " + o.Role.Base().String()
			if o.Role != o.Role.Base() {
				got += " command"
			}
		}
		require.Equal(t, c.want, got, c.key)
	}
}

// TestUnreadFeatures reads a dataset with a feature that no table has: the dataset must be complete. Then it reads a
// dataset of unknown features only: the dataset must be incomplete, and an event must list the features.
func TestUnreadFeatures(t *testing.T) {
	change := func(path, from, to string) {
		name := filepath.Join(path, infoPath)
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, []byte(strings.ReplaceAll(string(text), from, to)), 0o666))
	}
	path := writeForeignDataset(t)
	change(path, `"next.reward"`, `"action.gripper"`)
	r, err := Format.Open(path)
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.Equal(t, []string{"features that tables lack, which are not read: action.gripper"},
		info.Extra.(episode.Details).Unread)

	path = writeForeignDataset(t)
	change(path, `"observation.state"`, `"a"`)
	change(path, `"action"`, `"b"`)
	r, err = Format.Open(path)
	require.NoError(t, err)
	defer r.Close()
	info, err = r.Info()
	require.NoError(t, err)
	require.False(t, info.Complete, "no feature is read")
	require.Contains(t, info.Events[0].Text, "features that are not read: a, b, next.reward")
}

// TestStaleIndex reads a dataset whose list of episodes names wrong tables. Rows in another table must be found, with
// an event. An episode without rows must be damage.
func TestStaleIndex(t *testing.T) {
	path := writeForeignDataset(t)
	table := func(n int) string { return filepath.Join(path, fmt.Sprintf("data/chunk-000/episode_%06d.parquet", n)) }
	require.NoError(t, os.Rename(table(0), table(9)))
	require.NoError(t, os.Rename(table(1), table(0)))
	require.NoError(t, os.Rename(table(9), table(1)))
	s, err := Open(nil, path)
	require.NoError(t, err)
	read, err := s.Episodes()
	require.NoError(t, err)
	require.Equal(t, 0.0, read[0].Arms[0].Streams[episode.Joint].Values[0])
	require.Equal(t, 100.0, read[1].Arms[0].Streams[episode.Joint].Values[0])
	require.Len(t, s.Events, 2)
	require.Equal(t, "meta/episodes lists data/chunk-000/episode_000000.parquet for episode 0, whose rows are in "+
		"data/chunk-000/episode_000001.parquet, which was read", s.Events[0].Text)

	require.NoError(t, os.WriteFile(filepath.Join(path, "meta/episodes.jsonl"), []byte(`{"episode_index": 0}
{"episode_index": 1}
{"episode_index": 7}
`), 0o666))
	content, err := os.ReadFile(table(0))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(table(7), content, 0o666))
	s, err = Open(nil, path)
	require.NoError(t, err)
	read, err = s.Episodes()
	require.NoError(t, err)
	require.Len(t, read, 2)
	require.True(t, s.Incomplete)
	require.ErrorContains(t, s.Damage[0], "no table has rows of episode 7")
}

// TestDamaged replaces a file of a dataset by an invalid text. Opening or reading must return an error with the path.
func TestDamaged(t *testing.T) {
	const data = "data/chunk-000/episode_000001.parquet"
	for _, c := range []struct{ name, file, text, want string }{
		{"info is no object", infoPath, `[]`, infoPath},
		{"unsupported version", infoPath, `{"codebase_version": "v1.6", "fps": 10}`, `LeRobot format "v1.6"`},
		{"no fps", infoPath, `{"codebase_version": "v3.0"}`, "fps is 0"},
		{"path outside of the dataset", infoPath,
			`{"codebase_version": "v2.1", "fps": 10, "data_path": "../../{episode_index:d}"}`,
			"outside of the dataset"},
		{"unknown placeholder", infoPath, `{"codebase_version": "v2.1", "fps": 10, "data_path": "{nothing}"}`,
			"unknown placeholder"},
		{"negative shape", infoPath, `{"codebase_version": "v2.1", "fps": 10, "features": {"a": {"shape": [-1]}}}`,
			"shape [-1]"},
		{"wrong number of columns", infoPath, `{"codebase_version": "v2.1", "fps": 10, "data_path": ` +
			`"data/chunk-000/episode_{episode_index:06d}.parquet", "features": {"action": {"shape": [3]}}}`,
			"row 0 does not have 3 numbers"},
		{"invalid line", "meta/episodes.jsonl", "{}\n{", "line 2"},
		{"no table of an episode", "meta/episodes.jsonl", `{"episode_index": 0}` + "\n" + `{"episode_index": 7}`,
			"episode_000007.parquet"},
		{"invalid table", data, "PAR1 not Parquet PAR1", data},
		{"empty table", data, "", data},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := writeForeignDataset(t)
			require.NoError(t, os.WriteFile(filepath.Join(path, c.file), []byte(c.text), 0o666))
			s, err := Open(nil, path)
			if err == nil {
				_, err = s.Episodes()
			}
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, path)
		})
	}
}

// TestFlippedBytes reads a dataset with one wrong byte in a table. Reading must return an error or both episodes.
func TestFlippedBytes(t *testing.T) {
	path := writeForeignDataset(t)
	name := filepath.Join(path, "data/chunk-000/episode_000001.parquet")
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	for at := 0; at < len(content); at += 7 {
		damaged := append([]byte{}, content...)
		damaged[at] ^= 0x5a
		require.NoError(t, os.WriteFile(name, damaged, 0o666))
		s, err := Open(nil, path)
		require.NoError(t, err)
		episodes, err := s.Episodes()
		if err == nil {
			require.Len(t, episodes, 2)
		}
	}
}

// TestEditedByOthers reads datasets whose notes are in another order than the episodes, or are missing, because other
// tools have edited the dataset. Episodes must have the names and times of their notes; missing notes must be a loss.
func TestEditedByOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set")
	w, err := Create(path, Options{})
	require.NoError(t, err)
	for i, n := range []int{40, 30, 25} {
		require.NoError(t, w.Write(alignRows(t, newEpisode(t, fmt.Sprintf("take_%d", i), "pick", 1e18+int64(i)*1e11, n),
			align.Options{})))
	}
	require.NoError(t, w.Close())
	text, err := os.ReadFile(filepath.Join(path, notesPath))
	require.NoError(t, err)
	for _, c := range []struct {
		notes []int    // indices of the notes in the file, of those that were written
		old   bool     // the notes have no digests, as in older datasets
		names []string // expected names of the episodes
		loss  string   // expected loss; "": none
	}{
		{[]int{0, 1, 2}, false, []string{"take_0", "take_1", "take_2"}, ""},
		{[]int{0, 1, 2}, true, []string{"take_0", "take_1", "take_2"}, ""},
		{[]int{2, 0, 1}, false, []string{"take_0", "take_1", "take_2"}, ""},
		{[]int{1, 0}, false, []string{"take_0", "take_1", "episode_2"}, "numbers others have changed: 1 episode"},
	} {
		var all notes
		require.NoError(t, json.Unmarshal(text, &all))
		var kept []noteEpisode
		for _, i := range c.notes {
			kept = append(kept, all.Episodes[i])
			if c.old {
				kept[len(kept)-1].Digest = ""
			}
		}
		all.Episodes = kept
		edited, err := json.Marshal(all)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(path, notesPath), edited, 0o666))
		s, err := Open(nil, path)
		require.NoError(t, err)
		episodes, err := s.Episodes()
		require.NoError(t, err)
		for i, e := range episodes {
			require.Equal(t, c.names[i], e.Name)
			if strings.HasPrefix(e.Name, "take") {
				require.EqualValues(t, 1e18+int64(i)*1e11, e.Start)
			}
		}
		if c.loss == "" {
			require.Empty(t, s.Lost.Losses())
		} else {
			require.Contains(t, s.Lost.Losses()[0].What, c.loss)
		}
	}
}

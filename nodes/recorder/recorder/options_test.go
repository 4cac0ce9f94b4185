package recorder

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/config"
	"tapedeck/config/configtest"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/formats/live"
	"tapedeck/nodes/recorder/internal/diskguard"
)

func TestEveryOptionIsDocumented(t *testing.T) {
	o := defaultOptions()
	require.NoError(t, configtest.CheckFile("../../../config/recorder.yaml", &o))
	require.NoError(t, configtest.CheckTable("../../../docs/reference/options.md", "recorder", &o))
	require.NoError(t, configtest.CheckFlags("../../../docs/reference/comparison.md", "Record", &o, false))
}

func TestTopicsOfTheCommandLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recorder.yaml")
	require.NoError(t, os.WriteFile(file, []byte("recorder:\n  ros__parameters: {topics: [/a]}\n"), 0o600))
	for argv, want := range map[string][]string{
		"":                       {"/a"},
		"/b":                     {"/b"},
		"--topics /b /c":         {"/b", "/c"},
		"/c --topics /b":         {"/c", "/b"},
		"--topics /b --topics c": {"/b", "c"},
	} {
		o := defaultOptions()
		var topics []string
		cmd := config.New("recorder", "", "", &o, func(_ context.Context, in *config.Input) error {
			topics = namedTopics(in, &o)
			return nil
		})
		require.NoError(t, config.Execute(t.Context(), cmd, append(strings.Fields(argv), "--config", file)))
		require.Equal(t, want, topics, argv)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for want, set := range map[string]func(*options){
		"":                             func(*options) {},
		"compression: the fo":          func(o *options) { o.Compression = "zstd" },
		"carla_mapping, carla":         func(o *options) { o.CARLAProfile = "ue5" },
		"carla_profile: unknown CARLA": func(o *options) { o.Storage, o.CARLAProfile = "carla", "ue6" },
		"carla_mapping: open":          func(o *options) { o.Storage, o.CARLAMapping = "carla", "/no/such/file" },
		"storage: \"zip\"":             func(o *options) { o.Storage = "zip" },
		"storage, output: drive.mcap":  func(o *options) { o.Storage, o.Output = "record", "drive.mcap" },
		"output_prefix":                func(o *options) { o.Output, o.OutputPrefix = "a", "b" },
		"definition_paths":             func(o *options) { o.DefinitionPaths = []string{"/no/such/folder"} },
		"priority: \"/a=x\"":           func(o *options) { o.Priority = []string{"/a=x"} },
		"repeat_transient":             func(o *options) { o.RepeatTransientLocal = []string{"=2"} },
		"min_space: \"much\"":          func(o *options) { o.MinSpace = "much" },
		"custom_data: \"k\" i":         func(o *options) { o.CustomData = []string{"k"} },
		"custom_data: the format reco": func(o *options) { o.CustomData = []string{"k=v"} },
		"nothing to record":            func(o *options) { o.All = false },
		"hardware: open param": func(o *options) {
			o.All, o.Storage, o.Hardware = false, "session", "/no/such/file"
		},
	} {
		o := defaultOptions()
		o.All = true
		set(&o)
		err := o.check(nil)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, config.ErrUsage, want)
		require.ErrorContains(t, err, want)
	}
}

func TestSplitLetsDurationLimitFiles(t *testing.T) {
	for _, c := range []struct{ given, want options }{
		{options{}, options{}},
		{options{limitOptions: limitOptions{MaxDuration: 5}}, options{limitOptions: limitOptions{MaxDuration: 5}}},
		{options{splitOptions: splitOptions{Split: true}, limitOptions: limitOptions{MaxDuration: 5}},
			options{splitOptions: splitOptions{Split: true, MaxBagDuration: 5}}},
		{options{splitOptions: splitOptions{Split: true, MaxBagSize: 9}},
			options{splitOptions: splitOptions{Split: true, MaxBagSize: 9}}},
	} {
		require.NoError(t, c.given.splitByDuration())
		require.Equal(t, c.want, c.given)
	}
	require.EqualError(t, (&options{outputOptions: outputOptions{Output: "s3://fleet/a"}}).check(nil), "output: "+
		"s3://fleet/a is a URL; record into a folder, and let --upload send the files to a store")
	for page, want := range map[string]string{"8080": "missing port in address", ":99999": "invalid port"} {
		err := (&options{pageOptions: pageOptions{Page: page}}).check(nil)
		require.ErrorContains(t, err, want+"; want :PORT or ADDRESS:PORT")
		require.ErrorIs(t, err, config.ErrUsage)
	}
	o := options{splitOptions: splitOptions{Split: true}}
	require.ErrorContains(t, o.splitByDuration(), "split: say when, by --max-bag-size")
	o.MaxDuration, o.MaxBagDuration = 1, 2
	require.ErrorContains(t, o.splitByDuration(), "give one of them")
}

func TestFilesAreDeletedOfSplitRecordings(t *testing.T) {
	for want, list := range map[string][]func(*options){
		"": {func(*options) {}, func(o *options) { o.MaxBagFiles, o.MaxBagSize = 2, 1e6 },
			func(o *options) { o.MaxBagFiles, o.MaxBagMessages = 2, 9 },
			func(o *options) { o.LowSpaceAction, o.MaxBagDuration = diskguard.Delete, time.Second },
			func(o *options) { o.LowSpaceAction, o.SnapshotMode = diskguard.Delete, true },
			func(o *options) { o.MaxBagFiles, o.Storage = 2, "session" }},
		"max_bag_files: the recording is split only on request": {
			func(o *options) { o.MaxBagFiles = 2 }},
		"low_space_action delete-oldest: the recording": {func(o *options) { o.LowSpaceAction = diskguard.Delete }},
	} {
		for _, set := range list {
			o := defaultOptions()
			set(&o)
			if text := o.unsplitWarning(); want == "" {
				require.Empty(t, text)
			} else {
				require.Contains(t, text, want)
			}
		}
	}
}

// The recorder logs at the start what it is going to do.
func TestIntent(t *testing.T) {
	const unnamed = " (Apollo's; for MCAP: --storage mcap-file)"
	for line, want := range map[string]string{
		"-a -o drive": "recording to x in the format record (Apollo's; for MCAP: -o drive.mcap); all topics, " +
			"without the services and actions that --all-services and --all-actions add",
		"/a":                             "recording to x in the format record" + unnamed,
		"/a -o drive/":                   "recording to x in the format record (Apollo's; for MCAP: -o drive.mcap)",
		"/a -o drive.v2":                 "recording to x in the format record (Apollo's; for MCAP: -o drive.v2.mcap)",
		"/a --snapshot-mode":             "recording snapshots only, in the format record" + unnamed,
		"/a -o drive.record":             "recording to x in the format record",
		"/a -o drive.mcap":               "recording to x in the format mcap",
		"/a -s mcap":                     "recording to x in the format rosbag2",
		"/a -s record -o drive":          "recording to x in the format record",
		"-a --all-services -s record":    "recording to x in the format record",
		"/a -o x.log -d 60":              "recording to x in the format carla; splits each 1m0s",
		"/a -o x.mcap --max-duration 60": "recording to x in the format mcap; stops after 1m0s",
		"/a -s mcap -b 1MB --max-bag-files 3 --start-paused": "recording to x in the format rosbag2; " +
			"paused until resumed; splits before 1MB; keeps the last 3 files",
		"/a -s mcap -l 1": "recording to x in the format rosbag2; records 1 message of each topic",
	} {
		o := defaultOptions()
		cmd := config.New("recorder", "", "", &o, nil)
		_, err := config.Parse(t.Context(), cmd, strings.Fields(line))
		require.NoError(t, err)
		require.Equal(t, want, o.intent("x"), line)
	}
}

// Options that the default format does not support are refused at the start. The error names the formats that do.
func TestOptionsOfFormats(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{
		"-a --custom-data a=1": "--custom-data: the format record keeps none; use --storage mcap, mcap-file, " +
			"rosbag2 or session",
		"-a --compression zstd": "--compression: the format record has none; use --storage mcap, mcap-file or rosbag2",
		"-a -o x.log --compression-format lz4": "--compression-format: the format carla has none; use --storage " +
			"mcap, " +
			"mcap-file or rosbag2",
		"-a -o ../": "--output: ../ is a folder; name the recording in it: -o ../NAME",
	} {
		err := config.Execute(t.Context(), NewCommand(System{Disk: codec.OS{}}), strings.Fields(line))
		require.ErrorIs(t, err, config.ErrUsage)
		require.EqualError(t, err, want)
		entries, err := os.ReadDir(".")
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}

func TestRecordingName(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	for want, o := range map[string]outputOptions{
		"tapedeck_2026_03_04-05_06_07": {}, "drive": {Output: "drive"},
		"drive_2026_03_04-05_06_07": {OutputPrefix: "drive"},
	} {
		require.Equal(t, want, recordingName(&options{outputOptions: o}, now))
	}
}

// The name decides whether the recording is a file or a folder, also if it has a dot.
func TestNameDecidesOnFormat(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, check := range map[string]func(require.TestingT, string, ...any){
		"drive.1": require.DirExists, "drive.mcap": require.FileExists,
	} {
		o := testOptions("mcap")
		o.Output = name
		out := output{name: name}
		require.NoError(t, out.create(&o, &settings{}, codec.CreateOptions{}))
		require.Equal(t, name, out.path)
		require.NoError(t, out.Close())
		check(t, out.path)
	}
}

// TestDefaultChunks writes 40 MiB with one time, and checks the size of chunks. They are smaller in MCAP, because a
// reader of one topic loads whole chunks.
func TestDefaultChunks(t *testing.T) {
	for storage, want := range map[string]string{"mcap": "10 not compressed", "record": "3"} {
		o := defaultOptions()
		o.Storage = storage
		out := output{name: filepath.Join(t.TempDir(), "drive")}
		require.NoError(t, out.create(&o, &settings{}, codec.CreateOptions{}))
		m := codec.Message{
			Channel: &codec.Channel{Topic: "/a", Type: "a/msg/A", Encoding: codec.EncodingCDR}, LogTime: 1,
			Data: make([]byte, 1<<20),
		}
		for range 40 {
			require.NoError(t, out.Write(&m))
		}
		require.NoError(t, out.Close())
		r, err := live.Codecs().Open(out.path)
		require.NoError(t, err)
		info, err := r.Info()
		require.NoError(t, err)
		require.Equal(t, formats.Detail{Label: "Chunks:", Text: want}, formats.Details(info)[0])
		require.NoError(t, r.Close())
	}
}

func TestEveryOptionHasText(t *testing.T) {
	require.Empty(t, config.TextErrors(&options{}, &splitCommandOptions{}, &triggerOptions{}, &topicsOptions{},
		&echoOptions{}, &uploadCommandOptions{}))
}

func TestHelp(t *testing.T) {
	configtest.Help(t, func() *cobra.Command { return NewCommand(System{Disk: codec.OS{}}) })
}

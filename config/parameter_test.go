package config

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// options has a field of every type and every tag.
type options struct {
	Topics      []string      `param:"topics" group:"Topics"`
	All         bool          `param:"all" short:"a" group:"Topics"`
	Output      string        `param:"output" short:"o" group:"Output" value:"NAME"`
	Storage     string        `param:"storage" short:"s" group:"Output" options:"record|mcap"`
	MaxDuration time.Duration `param:"max_duration" short:"d" alias:"duration,max-bag-duration" group:"Output" min:"0"`
	QueueSize   Size          `param:"queue_size" flag:"max-cache-size" group:"Topics" min:"1MiB" max:"64GiB"`
	Kinds       []string      `param:"kinds" options:"a|b"`
	Camera      camera        `param:"camera"`
	shared
}

type shared struct {
	NoOption int
	Rate     float64 `param:"rate" group:"Numbers" min:"0.001" max:"1000"`
	Seed     uint64  `param:"seed" group:"Numbers"`
	Count    int64   `param:"count" group:"Numbers" min:"-1"`
}

type camera struct {
	Width int  `param:"width" group:"Camera" min:"1" max:"4096"`
	Debug bool `param:"debug" flag:"-" group:"Camera"`
}

const optionTexts = `# Texts of options.

[config.options]
topics
	Record this topic.
all
	Record every topic.
output
	Write to a file or folder of this NAME.
storage
	Format of the recording.
max_duration
	Begin a new file after this long.
	The time counts at which messages are received.
	0 means never.
queue_size
	Memory for messages that wait to be written.
kinds
	Kinds.
# Of what is embedded.

[shared]
rate
	Speed.
seed
	Seed.
count
	Count.

[camera]
width
	Columns.
debug
	Say more.
`

func (*options) OptionTexts() string { return optionTexts }

func defaults() *options {
	return &options{
		Storage: "record", QueueSize: 256 << 20, MaxDuration: time.Hour, Topics: []string{"/tf", "/clock"},
		Camera: camera{Width: 640}, shared: shared{Rate: 1, Count: -1},
	}
}

func TestParameters(t *testing.T) {
	list := Parameters(defaults())
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{"topics", "all", "output", "storage", "max_duration", "queue_size", "kinds",
		"camera.width",
		"camera.debug", "rate", "seed", "count"}, names)
	require.Equal(t, Parameter{Name: "topics", Flag: "topics", Group: "Topics", Help: "Record this topic.",
		Summary: "Record this topic.", Type: "string array", Placeholder: "TEXT", Default: "/tf,/clock"}, list[0])
	require.Equal(t, Parameter{Name: "storage", Flag: "storage", Short: "s", Group: "Output",
		Help: "Format of the recording.", Summary: "Format of the recording.",
		Type: "string", Placeholder: "record|mcap", Default: "record", Options: []string{"record", "mcap"}}, list[3])
	require.Equal(t, "1h", list[4].Default)
	require.Equal(t, "Begin a new file after this long. The time counts at which messages are received. 0 means never.",
		list[4].Help)
	require.Equal(t, "Begin a new file after this long.", list[4].Summary)
	require.Equal(t, []Alias{{Name: "duration"}, {Name: "max-bag-duration"}}, list[4].Aliases)
	require.Equal(t, Parameter{Name: "queue_size", Flag: "max-cache-size", Group: "Topics",
		Help: "Memory for messages that wait to be written.", Summary: "Memory for messages that wait to be written.",
		Type: "integer", Placeholder: "SIZE", Default: "256MiB", Min: "1MiB", Max: "64GiB"}, list[5])
	require.Equal(t, "camera-width", list[7].Flag)
	require.Equal(t, "", list[8].Flag)
	require.Equal(t, "1", list[9].Default)
	require.Empty(t, Parameters(nil))
}

func TestParametersPanics(t *testing.T) {
	for _, opts := range []any{
		options{},
		new(int),
		&struct {
			A int32 `param:"a"`
		}{},
		&struct {
			A int `param:"A"`
		}{},
		&struct {
			A int `param:"a" min:"x"`
		}{},
		&struct {
			A int `param:"a"`
			B int `param:"a"`
		}{},
	} {
		require.Panics(t, func() { Parameters(opts) }, "%T", opts)
	}
}

func TestParse(t *testing.T) {
	byName := map[string]field{}
	for _, f := range fields(defaults()) {
		byName[f.Name] = f
	}
	for _, c := range []struct {
		name, text string
		want       any
		err        string
	}{
		{"all", "True", true, ""},
		{"all", "off", false, ""},
		{"all", "1", true, ""},
		{"all", "maybe", nil, "want true or false"},
		{"output", "yes", "yes", ""},
		{"storage", "mcap", "mcap", ""},
		{"storage", "zip", nil, `"zip" is not allowed, want record or mcap`},
		{"kinds", "c", nil, "want a or b"},
		{"max_duration", "30", 30 * time.Second, ""},
		{"max_duration", "0.1", 100 * time.Millisecond, ""},
		{"max_duration", "1m30s", 90 * time.Second, ""},
		{"max_duration", "-1s", nil, "want at least 0"},
		{"max_duration", "soon", nil, "want a duration such as 1m30s, or a number of seconds"},
		{"max_duration", "1e10", nil, "want a duration"},
		{"max_duration", "nan", nil, "want a duration"},
		{"queue_size", "1GB", Size(1e9), ""},
		{"queue_size", "1MB", nil, "1MB is not allowed, want 1MiB to 64GiB"},
		{"queue_size", "much", nil, "want a size such as 256MiB"},
		{"camera.width", "0x10", 16, ""},
		{"camera.width", "010", 10, ""},
		{"camera.width", "4096", 4096, ""},
		{"camera.width", "4097", nil, "4097 is not allowed, want 1 to 4096"},
		{"camera.width", "1.5", nil, "want a whole number"},
		{"camera.width", "", nil, "want a whole number"},
		{"rate", "2", 2.0, ""},
		{"rate", "inf", nil, "want a number"},
		{"rate", "0", nil, "want 0.001 to 1000"},
		{"seed", "9223372036854775807", uint64(math.MaxInt64), ""},
		{"seed", "9223372036854775808", nil, "want a whole number, not negative"},
		{"seed", "-1", nil, "not negative"},
		{"count", "-1", int64(-1), ""},
		{"count", "-2", nil, "want at least -1"},
	} {
		t.Run(c.name+" "+c.text, func(t *testing.T) {
			f := byName[c.name]
			v, err := f.parse(setting{texts: []string{c.text}, source: "here"})
			if c.err != "" {
				require.ErrorContains(t, err, "parameter "+c.name+" from here: ")
				require.ErrorContains(t, err, c.err)
				require.ErrorIs(t, err, ErrUsage)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, v.Interface())
		})
	}
}

func TestFormatDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"1h": time.Hour, "1h30m": 90 * time.Minute, "1m": time.Minute, "10m30s": 630 * time.Second, "0s": 0,
		"1h0m5s": time.Hour + 5*time.Second, "20s": 20 * time.Second,
	} {
		require.Equal(t, want, formatDuration(d))
	}
}

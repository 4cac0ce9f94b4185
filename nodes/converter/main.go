// Command converter converts recordings between formats, describes, repairs and compares them.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tapedeck/codec/text/human"
	"tapedeck/codec/text/printable"
	"tapedeck/config"
	"tapedeck/nodes/internal/diff"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/othertools"
)

// examples are command lines for the help text.
//
//go:embed examples.txt
var examples string

//go:generate env UPDATE_REFERENCE=1 go test -count=1 -run ^TestEveryOption .

// optionTexts are the help texts of options: see config.Described.
//
//go:embed options.txt
var optionTexts string

// known are the formats that the commands read and write.
var known = formats.All()

// hints name the options to use instead of flags of ros2 bag, rosbag, mcap and cyber_recorder.
var hints = map[string]string{
	"input-options": hintPaths, "output-options": hintPaths, "f": hintPaths,
	"bz2": "use --compression bz2", "lz4": "use --compression lz4",
	"c": "use --topics TOPIC", "white-channel": "use --topics TOPIC",
	"k": "use --exclude TOPIC", "black-channel": "use --exclude TOPIC",
	"e": "use --end TIME", "r": "use --remap /from:=/to", "regex": hintInclude, "exclude-regex": hintExclude,
	"exclude-topics": "use --exclude TOPIC", "q": "it says little anyway; leave it out",
	"output-dir": "use --output-folder FOLDER",
	"force":      "use --overwrite",
	"y":          hintInclude, "include-topic-regex": hintInclude, "n": hintExclude, "exclude-topic-regex": hintExclude,
	"l": hintLatched, "last-per-channel-topic-regex": hintLatched,
	"include-metadata": hintKept, "include-attachments": hintKept,
	"exclude-metadata": hintAlways, "exclude-attachments": hintAlways,
	"order": hintOrder, "no-crc": hintChunks, "no-chunks": hintChunks, "unchunked": hintChunks,
	"coalesce-channels": hintMerge, "allow-duplicate-metadata": hintMerge,

	"color": hintColour, "* color": hintColour, "* c": hintColour,
	"allow-remote-scan": hintStores, "* allow-remote-scan": hintStores,
	"time-format": hintTimes, "* time-format": hintTimes,

	"info y": "use --json", "info yaml": "use --json", "info k": "use --json", "info key": "use --json",
	"info freq": "use -v", "info s": hintContent, "info storage": hintContent, "info o": hintPrints,
	"info output": hintPrints, "info f": hintNoFlag, "info file": hintNoFlag,
	"echo t": hintTopic, "echo topics": hintTopic, "echo topic": hintTopic, "echo format": "use --json or --csv",
	"echo o": hintPrints, "echo output": hintPrints,
	"check g": hintRules, "check genrules": hintRules, "check a": hintRules, "check append": hintRules,
	"check n": hintRules, "check noplugins": hintRules, "check o": "use --junit FILE",
	"check output": "use --junit FILE", "check strict-message-order": "the order is checked anyway; leave it out",
	"diff strict": "use --bytes", "diff o": hintPrints, "diff output": hintPrints,
	"find o": "use --clip FOLDER, or write > FILE behind it", "find output": "use --clip FOLDER",
	"reindex s": hintContent, "reindex storage": hintContent, "reindex o": hintInPlace,
	"reindex output": hintInPlace, "reindex output-dir": hintInPlace, "reindex f": hintForce,
	"reindex force": hintForce, "reindex q": "it says little anyway; leave it out",
	"recover f": hintNoFlag, "recover file": hintNoFlag, "recover a": "all that can be read is recovered; leave it out",
}

const (
	hintPaths   = "name the inputs, and the output behind them or behind --output: converter IN... OUT"
	hintColour  = "nothing is coloured; leave it out"
	hintStores  = "stores are read by parts; leave it out"
	hintTimes   = "times are local ones, in JSON ns since 1970; leave it out"
	hintNoFlag  = "name the recording without a flag"
	hintInclude = "use --topics REGEX"
	hintExclude = "use --exclude REGEX"
	hintLatched = "a part of a recording begins with the last messages of latched topics; --repeat TOPIC adds others"
	hintKept    = "metadata and attachments are kept if the format can; leave it out"
	hintAlways  = "metadata and attachments are always kept if the format can; leave it out"
	hintOrder   = "messages are written in the order of their times; --message-order says of which"
	hintChunks  = "the output has chunks with checksums; leave it out"
	hintMerge   = "inputs are merged topic by topic; leave it out"
	hintContent = "the format is recognised by the content; leave it out"
	hintPrints  = "it prints to standard output; write > FILE behind it"
	hintTopic   = "name the topic without a flag: converter echo IN TOPIC"
	hintRules   = "no rules are needed: definitions are in the recording; --expect FILE checks for topics and rates"
	hintInPlace = "the bag itself gets an index; use converter recover IN -o OUT for a copy"
	hintForce   = "replaced files are kept as NAME.damaged; leave it out"
)

func main() {
	config.Main(newCommand(human.Stdout, human.Stderr), human.Stderr)
}

// newCommand returns the command with its subcommands.
func newCommand(stdout, stderr io.Writer) *cobra.Command {
	// command returns a command that calls job with least to most paths (0: any number).
	command := func(use, short, long string, least, most int, opts any,
		job func(context.Context, []string, io.Writer, io.Writer) error) *cobra.Command {
		cmd := config.New(use, short, long, opts, func(ctx context.Context, in *config.Input) error {
			for _, warning := range in.Warnings {
				fmt.Fprintln(stderr, "warning:", warning)
			}
			in.Warnings = nil
			err := job(ctx, in.Args, stdout, stderr)
			return cmp.Or(err, printable.Err(stdout))
		})
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) < least || most > 0 && len(args) > most {
				return config.Usagef("got %s; the usage is: %s", human.Count(len(args), "path"), cmd.UseLine())
			}
			return nil
		}
		return cmd
	}
	conversion := defaultConvertOptions()
	info := defaultInfoOptions()
	recovery := recoverOptions{}
	comparison := diffOptions{Options: diff.DefaultOptions()}
	echo := defaultEchoOptions()
	check := checkOptions{}
	expect := expectOptions{Tolerance: 0.2}
	page := defaultReportOptions()
	index := indexOptions{}
	find := defaultFindOptions()
	stores := newPlaces()
	for _, p := range []*places{&conversion.places, &info.places, &recovery.places, &comparison.places, &echo.places,
		&check.places, &expect.places, &page.places, &index.places, &find.places} {
		*p = stores
	}
	root := command("converter IN... OUT", "Convert recordings from one format to another",
		`Converts recordings from one format to another, and prints what the output does not keep. Several
inputs are merged in time. The name of the output or --to chooses the format: .record (Apollo),
.mcap, .bag (ROS 1), .log (CARLA), .hdf5 (robot episodes), .csv, .jsonl or .parquet (tables), .mp4,
.gpx (tracks), a name without extension for a ROS 2 bag folder, or - for tables on standard output.`,
		0, 0, conversion, conversion.convert)
	config.Hint(root, hints, human.DidYouMean)
	wants := root.Args
	root.Args = func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed("input") { // else args[0] is an input or the output
			if err := othertools.Command(cmd, args, "recording"); err != nil {
				return err
			}
		}
		return wants(cmd, args)
	}
	root.AddCommand(
		command("info FILE...", "Show what recordings contain",
			`Shows what recordings of any format contain, as text, as JSON, or as the tools
of Apollo and CARLA print it.`,
			1, 0, info, info.info),
		command("echo IN TOPIC", "Print messages of a topic",
			`Prints the messages of a topic as ROS 2 messages in YAML, as "ros2 topic echo"
does, or as CSV or JSON. 'converter info --ros2 IN' lists the topics.`,
			2, 2, echo, echo.echo),
		command("check FILE...", "Find what is wrong with recordings",
			`Reads recordings of any format and finds what they lack: with --expect what a
contract expects of them, and in any case what is suspicious by itself, such
as clocks that were set, frozen images, NaN, or topics that end early. Exits
with 3 if anything is found.`,
			1, 0, &check, check.check),
		command("expect FILE... [CONTRACT.yaml]", "Learn from recordings what check expects",
			`Writes a contract that good recordings meet: topics, types, rates, gaps,
latencies, frames, sizes of images, QoS. It is a short file to be edited by
hand, for 'converter check --expect' and 'recorder --expect'.`,
			1, 0, &expect, expect.expect),
		command("report IN... [FILE.html]", "Show recordings on a page for the browser",
			`Writes a page of HTML that shows recordings: topics over time with gaps and
losses, pictures, curves, tracks, point clouds, logs, and the episodes of data
sets. The page is one file that needs no network. Without a name it is called
like the first recording: drive.html.`,
			1, 0, page, page.report),
		command("index IN... -o FOLDER", "Add recordings to a catalogue",
			`Adds recordings to a catalogue: Parquet tables of recordings, topics, events and
signals, the minimum, mean and maximum of numbers in each second. Folders are
searched for recordings. Those that have not changed are skipped.`,
			1, 0, &index, index.index),
		command("find CATALOGUE CONDITION", "Find when messages of a catalogue's recordings meet a condition",
			`Prints when messages meet a condition, such as '/imu linear_acceleration.z > 30'
or another of 'recorder --snapshot-condition', in all recordings of a catalogue
that 'converter index' made. Only what its tables cannot rule out is read.`,
			2, 2, find, find.find),
		command("recover IN [OUT]", "Copy everything readable from a damaged recording",
			`Writes a complete copy of everything that can be read from a damaged or
unfinished recording, and reports each damaged place. The format is that of
the input unless the name of OUT or --to says otherwise. Without OUT, the name
is that of IN with .recover in it.`,
			1, 2, &recovery, recovery.salvage),
		command("reindex BAG...", "Rebuild the metadata.yaml of ROS 2 bags",
			`Rebuilds the metadata.yaml of ROS 2 bag folders by reading all their files.
Damaged and unfinished files are replaced by complete ones with everything
that can be read; the old files are kept as NAME.damaged.`,
			1, 0, &struct{}{}, reindex),
		command("diff A B", "Compare two recordings message by message",
			`Compares two recordings of any formats message by message: topics, types, the
payloads of each topic and their order. Damaged places are skipped and noted.
Exits with 0 if they are the same, with 1 if they differ and with 2 if
they cannot be compared, or if damage hides whether they differ.`,
			2, 2, &comparison, comparison.diff))
	config.Brief(root, "to", "output_folder", "topics", "exclude", "begin", "end", "compression", "max_bag_size",
		"mapping", "overwrite")
	config.Examples(root, examples)
	return root
}

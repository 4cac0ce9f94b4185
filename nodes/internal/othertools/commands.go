// Package othertools maps commands of ros2 bag, rosbag, mcap and cyber_recorder to commands of tapedeck.
package othertools

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tapedeck/codec/text/human"
	"tapedeck/config"
)

const (
	convert = "converter IN... OUT"
	filter  = "converter IN OUT --topics TOPIC --begin TIME --end TIME, or --exclude TOPIC"
	inspect = "converter info FILE"
	verify  = "converter check FILE"
	repair  = "converter recover IN OUT"
	running = "recorder %s or player %[1]s, for a node that is running"
)

// Commands maps commands of other programs to command lines of tapedeck. %s stands for the command. A word that is a
// command of an executable is not looked up there.
var Commands = map[string]string{
	"record": "recorder TOPIC... or recorder --all", "play": "player FILE...",
	"burst": "player FILE --start-paused, then player burst N for the one that is running",
	"info":  inspect, "summary": inspect, "list": inspect + " for a recording, recorder topics for the graph",
	"attachments": inspect, "channels": inspect, "chunks": inspect, "metadata": inspect, "schemas": inspect,
	"du": "converter info -v FILE", "storage": "recorder help output, which lists the formats",
	"convert": convert, "copy": convert, "merge": convert, "concat": convert, "sort": convert, "transcode": convert,
	"filter": filter, "slice": filter, "cut": filter, "trim": filter,
	"split":  "converter IN OUT --max-bag-duration SECONDS, or --max-bag-size SIZE",
	"rename": "converter IN OUT --remap /from:=/to", "remap": "converter IN OUT --remap /from:=/to",
	"compress":   "converter IN OUT --compression zstd, lz4 or bz2",
	"decompress": "converter IN OUT --compression none",
	"cat":        "converter echo FILE TOPIC", "echo": "converter echo FILE TOPIC",
	"print": "converter echo FILE TOPIC",
	"check": verify, "doctor": verify, "validate": verify, "verify": verify,
	"fix": repair, "repair": repair, "recover": repair,
	"reindex": "converter reindex BAG, or " + repair + " for other recordings",
	"diff":    "converter diff A B", "compare": "converter diff A B",
	"report": "converter report FILE", "index": "converter index FILE... -o FOLDER",
	"find": "converter find CATALOGUE CONDITION", "expect": "converter expect FILE",
	"serve": "converter_node", "request": "converter_node request IN... OUT",
	"export":    convert + ", whose name may end with .csv, .parquet or .mp4",
	"columnize": convert + ", whose name may end with .csv or .parquet", "groupby": "converter IN OUT.csv",
	"get":     "converter IN OUT.jsonl for messages; attachments are kept by converter IN OUT.mcap",
	"add":     "recorder --custom-data KEY=VALUE while recording; a recording that exists is not changed",
	"encrypt": "a file system that encrypts; recordings are not encrypted", "decrypt": "rosbag decrypt FILE, " +
		"then " + convert,
	"optimize": convert, "topics": "recorder topics", "topic": "recorder topics", "hz": "recorder topics --hz",
	"trigger": "recorder trigger", "snapshot": "recorder trigger", "upload": "recorder upload FOLDER URL",
	"status": running, "pause": running, "resume": running, "stop": running,
	"seek": "player seek TIME", "rate": "player rate RATE", "step": "player step",
	"version": "--version", "node": "recorder --node NAME", "service": "recorder --services SERVICE",
	"action": "recorder --actions ACTION",
}

// Command returns a usage error if the first argument of an executable looks like an unknown command: a word without /
// and . that is neither a file nor the beginning of the names of a recording's files. wants is the noun for the
// argument, such as "recording".
func Command(cmd *cobra.Command, args []string, wants string) error {
	if len(args) == 0 || args[0] == "" || strings.ContainsAny(args[0], "./@:=*") || args[0] == "-" {
		return nil
	}
	word := args[0]
	if _, err := os.Stat(word); !errors.Is(err, fs.ErrNotExist) || beginsSeries(word) {
		return nil
	}
	files, _ := filepath.Glob(word + ".*")
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, ".part") })
	what := fmt.Sprintf("%q is neither a command nor a %s", human.Printable(word), wants)
	return unknownError(cmd, word, what, files[:min(len(files), 3)])
}

// unknownError returns an error about an unknown command. It suggests a command of tapedeck, a command with a similar
// name, or one of the files.
func unknownError(cmd *cobra.Command, word, what string, files []string) error {
	if answer := Commands[strings.ToLower(word)]; answer != "" {
		if strings.Contains(answer, "%") {
			answer = fmt.Sprintf(answer, word)
		}
		own := cmd.UseLine()
		if answer == convert && strings.HasPrefix(own, convert) || strings.HasPrefix(answer, "player FILE...") &&
			cmd.Name() == "player" || strings.HasPrefix(answer, "recorder TOPIC") && cmd.Name() == "recorder" {
			return config.Usagef("%s; leave it out: %s", what, own)
		}
		return config.Usagef("%s; use: %s", what, answer)
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	near := human.Near(word, names)
	for i := range near {
		near[i] = cmd.Name() + " " + near[i]
	}
	if near == nil {
		near = files
	}
	if near == nil {
		similar := slices.DeleteFunc(slices.Sorted(maps.Keys(Commands)), func(other string) bool {
			return max(len(other)-len(word), len(word)-len(other)) > 1
		})
		if others := human.Near(word, similar); others != nil && others[0] != word {
			return unknownError(cmd, others[0], fmt.Sprintf("%s; did you mean %s", what, others[0]), files)
		}
		return config.Usagef("%s", what)
	}
	return config.Usagef("%s; did you mean %s?", what, strings.Join(near, " or "))
}

// beginsSeries reports whether names of several files begin with a word, such as WORD.record.00000 or WORD_1.mcap.
func beginsSeries(word string) bool {
	for _, pattern := range []string{".record.*", "_[0-9]*", ".[0-9]*"} {
		if found, err := filepath.Glob(word + pattern); err == nil && found != nil {
			return true
		}
	}
	return false
}

// Topics returns a usage error if an argument that must name a topic is a word without a leading /.
func Topics(cmd *cobra.Command, args []string) error {
	for _, word := range args {
		if word == "" || strings.ContainsAny(word, "/~:=") {
			continue
		}
		what := fmt.Sprintf("%q is neither a command nor a topic, whose name begins with /", human.Printable(word))
		if _, err := os.Stat(word); err == nil {
			return config.Usagef("%s; a file is played by: player %s", what, word)
		}
		if strings.Contains(word, ".") {
			return config.Usagef("%s; a recording is named by: --output %s", what, word)
		}
		err := unknownError(cmd, word, what, nil)
		if strings.Contains(err.Error(), "; ") {
			return config.Usagef("%s, or /%s for the topic", strings.TrimSuffix(err.Error(), "?"), word)
		}
		return config.Usagef("%s; did you mean /%s? --topics %[2]s takes it as a name in the namespace of the node",
			what, word)
	}
	return nil
}

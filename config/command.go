// Package config loads the options of tapedeck's executables. An executable declares them as a struct with tags. The
// struct's contents are the defaults: see Parameters. Each option is a flag (--max-duration), a ROS parameter
// (max_duration), a line of a parameter file and an environment variable. A later source in this list wins:
//
//   - the struct's contents
//   - the default parameter file: the file of --config, or share/tapedeck/config/<node>.yaml of the installation
//   - the environment: TAPEDECK_<NODE>_MAX_DURATION or, if it is not set, TAPEDECK_MAX_DURATION. Empty variables are
//     ignored. Lists are written as in YAML: [a, b]
//   - ROS arguments, --params-file and -p, in the order of the command line
//   - flags
//
// The default YAML files are in this folder.
package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ErrUsage is wrapped by errors of wrong usage. An executable then exits with 2.
var ErrUsage = errors.New("wrong usage")

// Usagef returns an error that wraps ErrUsage and the errors given for %w.
func Usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

type usageError struct{ error }

func (e *usageError) Is(target error) bool { return target == ErrUsage }
func (e *usageError) Unwrap() error        { return e.error }

// Exit returns an error with which Main exits with a code of its own, instead of 1.
func Exit(code int, err error) error { return &exitError{err, code} }

type exitError struct {
	error
	code int
}

func (e *exitError) Unwrap() error { return e.error }

// failure is an error of a command that was called correctly.
type failure struct{ error }

// New returns a command, which may have subcommands. use is its name and its positional arguments, "recorder
// [topics...]". opts is a pointer to its options or nil; they are set before run is called. Positional arguments are
// not checked unless the command's Args is set. The node is named like the command; a subcommand's node is named
// "recorder_trigger" in parameter files and the environment. The annotation NodeName replaces the name.
func New(use, short, long string, opts any, run func(ctx context.Context, in *Input) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:           use,
		Short:         short,
		Long:          long,
		Args:          cobra.ArbitraryArgs,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	l := newLoader(cmd, opts)
	cmd.SetHelpCommand(newHelpCommand())
	cmd.SetHelpFunc(func(asked *cobra.Command, _ []string) {
		line := &commandLine{}
		if ctx := asked.Context(); ctx != nil { // nil without Execute, and for commands that cobra adds
			line = cmp.Or(lineOf(ctx), line)
		}
		text := l.help(asked, line.topic)
		if line.before {
			text += namesake(asked)
		}
		if asked != cmd { // a command for shell completion, which cobra adds
			text = fmt.Sprintf("%s\n\n%s", strings.TrimSpace(cmp.Or(asked.Long, asked.Short)), asked.UsageString())
		}
		fmt.Fprint(asked.OutOrStdout(), text)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		in, err := l.load(cmd, args)
		if err != nil {
			return err
		}
		line := lineOf(cmd.Context())
		if line != nil && line.parsed != nil {
			*line.parsed = in
			return nil
		}
		if line != nil {
			for _, text := range line.letterTexts(cmd.Flags()) {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", cmd.Root().Name(), text)
			}
		}
		if err := run(cmd.Context(), in); err != nil {
			err = l.typed(err)
			if errors.Is(err, ErrUsage) && len(in.Warnings) > 0 { // an unknown parameter may be the cause
				err = Usagef("%w; %s", err, strings.Join(in.Warnings, "; "))
			}
			return &failure{err}
		}
		return nil
	}
	return cmd
}

// commandLine describes a command line besides its flags. It is a value of the command's context.
type commandLine struct {
	ros     ROSArgs
	cmd     *cobra.Command
	letters string  // letters of the given one-letter flags
	topic   string  // topic after --help; "" if none is named
	before  bool    // --help is before the command's name
	parsed  **Input // set by Parse, which runs nothing; else nil
}

// commandLineKey is the key of a *commandLine in a context.
type commandLineKey struct{}

// lineOf returns the command line of a context, nil if it has none.
func lineOf(ctx context.Context) *commandLine {
	line, _ := ctx.Value(commandLineKey{}).(*commandLine)
	return line
}

// Execute runs the command named by argv, a command line without program name. Errors about the command line wrap
// ErrUsage. Errors of the command are returned unchanged.
func Execute(ctx context.Context, root *cobra.Command, argv []string) error {
	return interpret(ctx, root, argv, nil)
}

// Parse returns the Input with which Execute would call the command named by argv, and sets the command's options. It
// does not call the command. Its errors are Execute's errors about the command line.
func Parse(ctx context.Context, root *cobra.Command, argv []string) (in *Input, err error) {
	err = interpret(ctx, root, argv, &in)
	return in, err
}

func interpret(ctx context.Context, root *cobra.Command, argv []string, parsed **Input) error {
	ros, args, err := SplitROSArgs(argv)
	if err != nil {
		return err
	}
	cmd, _, err := root.Find(args)
	if err != nil {
		cmd = root // executing root returns the error
	}
	args = withFlagsForWords(root, args)
	line := &commandLine{ros: ros, cmd: cmd, parsed: parsed}
	args, err = line.completeFlags(cmd.Flags(), args)
	if l := loaderOf(cmd); err == nil && l != nil {
		line.topic, err = l.topic(line.topic)
	}
	if err != nil {
		return err
	}
	if slices.Contains(args, "--version") {
		cmd.Version = versionText(cmd)
	}
	root.SetArgs(args)
	err = root.ExecuteContext(context.WithValue(ctx, commandLineKey{}, line))
	var f *failure
	if errors.As(err, &f) {
		return f.error
	}
	if err != nil && !errors.Is(err, ErrUsage) {
		err = Usagef("%w", err)
	}
	return err
}

// withFlagsForWords returns args with --version for the word version, if it is alone. In executables without
// subcommands, to which cobra adds no command help, it returns args with --help for the word help.
func withFlagsForWords(root *cobra.Command, args []string) []string {
	switch {
	case len(args) == 1 && args[0] == "version":
		return []string{"--version"}
	case len(args) > 0 && args[0] == "help" && !root.HasSubCommands():
		return append([]string{"--help"}, args[1:]...)
	}
	return args
}

// completeFlags returns args with "=VALUE" added to flags that may lack a value (Parameter.Bare), and with a flag
// before each further value of a flag that takes several (Parameter.Several). It notes the letters of one-letter flags,
// and removes the topic after --help. The result is never nil, because cobra replaces nil by the arguments of the
// process.
func (l *commandLine) completeFlags(flags *pflag.FlagSet, args []string) (out []string, err error) {
	out = []string{}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(out, args[i:]...), nil
		}
		out = append(out, arg)
		flag, attached := l.flagOf(flags, arg)
		if flag == nil || attached {
			continue
		}
		if _, ok := flag.Value.(*helpFlag); ok {
			if i+1 < len(args) && l.isTopic(args[i+1]) {
				i++
				l.topic = args[i]
			}
			continue
		}
		v, ok := flag.Value.(*flagValue)
		if !ok {
			v = &flagValue{}
		}
		if v.Bare != "" {
			if i+1 < len(args) {
				if _, err := v.field.parseText(args[i+1]); err == nil {
					continue
				}
			}
			out[len(out)-1] = "--" + flag.Name + "=" + v.Bare
			continue
		}
		if i+1 == len(args) || flag.NoOptDefVal != "" {
			continue
		}
		i++
		if isFlag(flags, args[i]) {
			return nil, withLetter(Usagef("flag needs an argument: %s, before %s", arg, args[i]), flag, arg[1:])
		}
		out = append(out, args[i])
		for i+1 < len(args) && v.takes(args[i+1]) {
			i++
			if v.Several != severalStorage {
				out = append(out, "--"+flag.Name+"="+args[i])
			}
		}
	}
	return out, nil
}

// isTopic reports whether a word after --help is a topic. If the word is the command's name, it sets before.
func (l *commandLine) isTopic(word string) bool {
	l.before = l.cmd.HasParent() && (word == l.cmd.Name() || l.cmd.HasAlias(word))
	return !l.before && !strings.HasPrefix(word, "-")
}

// flagOf returns the flag in an argument, nil if there is none. attached reports whether the argument also has the
// flag's value. In an argument with several letters, the flag is the last one. The letters are noted.
func (l *commandLine) flagOf(flags *pflag.FlagSet, arg string) (flag *pflag.Flag, attached bool) {
	if name, long := strings.CutPrefix(arg, "--"); long {
		name, _, attached = strings.Cut(name, "=")
		return flags.Lookup(name), attached
	}
	if len(arg) < 2 || arg[0] != '-' {
		return nil, false
	}
	for j := 1; j < len(arg); j++ {
		flag = flags.ShorthandLookup(arg[j : j+1])
		if flag == nil {
			return nil, false
		}
		l.letters += arg[j : j+1]
		if flag.NoOptDefVal == "" {
			return flag, j+1 < len(arg)
		}
	}
	return flag, false
}

// isFlag reports whether an argument is a flag. Values may also begin with a dash.
func isFlag(flags *pflag.FlagSet, arg string) bool {
	if name, long := strings.CutPrefix(arg, "--"); long {
		name, _, _ = strings.Cut(name, "=")
		return name == "" || flags.Lookup(name) != nil
	}
	return len(arg) == 2 && arg[0] == '-' && flags.ShorthandLookup(arg[1:]) != nil
}

// explain adds to an error about a value the meaning of the letter by which its flag was given.
func (l *commandLine) explain(flags *pflag.FlagSet, err error) error {
	for _, letter := range l.letters {
		v := letterOf(flags.ShorthandLookup(string(letter)))
		if v != nil && strings.HasPrefix(err.Error(), "parameter "+v.Name+" from flag ") {
			return Usagef("%w; %s", err, v.letterText())
		}
	}
	return err
}

// withLetter adds to an error about a flag the meaning of its letter if the flag was given by its letter.
func withLetter(err error, flag *pflag.Flag, letters string) error {
	if v := letterOf(flag); v != nil && strings.Contains(letters, v.Short) && !strings.HasPrefix(letters, "-") {
		return fmt.Errorf("%w; %s", err, v.letterText())
	}
	return err
}

// letterOf returns the option of a flag if other programs use its letter otherwise, else nil.
func letterOf(flag *pflag.Flag) *flagValue {
	if flag == nil {
		return nil
	}
	if v, ok := flag.Value.(*flagValue); ok && v.Letter != "" {
		return v
	}
	return nil
}

// letterText returns a text that says which option the letter means.
func (v *flagValue) letterText() string {
	return fmt.Sprintf("-%s is --%s, %s", v.Short, v.Flag, v.Letter)
}

// letterTexts returns texts about the letters that were used.
func (l *commandLine) letterTexts(flags *pflag.FlagSet) (texts []string) {
	for _, letter := range l.letters {
		v := letterOf(flags.ShorthandLookup(string(letter)))
		if v != nil && !slices.Contains(texts, v.letterText()) {
			texts = append(texts, v.letterText())
		}
	}
	return texts
}

// Values of Parameter.Several.
const (
	severalNames   = "names"
	severalRules   = "rules"
	severalWords   = "words"
	severalStorage = "storage"
)

// storageForm matches storages of rosbag2, which may follow the name of an input.
var storageForm = regexp.MustCompile(`^(mcap|sqlite3)$`)

// takes reports whether an argument that follows a value of the flag is also a value of the flag.
func (p *Parameter) takes(arg string) bool {
	switch p.Several {
	case severalNames:
		return IsName(arg)
	case severalRules:
		return strings.Contains(arg, ":=") && !strings.HasPrefix(arg, "-")
	case severalWords:
		return !strings.HasPrefix(arg, "-")
	case severalStorage:
		return IsStorage(arg)
	}
	return false
}

// IsStorage reports whether an argument is a storage of rosbag2 and not a file. ros2 bag accepts a storage after the
// name of a bag.
func IsStorage(arg string) bool {
	_, err := os.Stat(arg)
	return storageForm.MatchString(arg) && err != nil
}

var nameForm = regexp.MustCompile(`^/[A-Za-z0-9_/*]+$|^[a-zA-Z]\w*/(msg|srv|action)/[a-zA-Z]\w*$`)

// IsName reports whether an argument is the name of a topic, a service or a type, and not a path. An argument is a path
// if it exists or if its folder exists.
func IsName(arg string) bool {
	if !nameForm.MatchString(arg) {
		return false
	}
	folder := filepath.Dir(filepath.Clean(arg))
	for _, path := range []string{arg, folder} {
		if _, err := os.Stat(path); err == nil && path != "/" {
			return false
		}
	}
	return true
}

// NodeName is the key of a command's annotation with the name of its node. Without it the node is named like the
// command.
const NodeName = "node"

// maxUsage is the largest number of bytes of a usage error that are printed. Escaped for a terminal they may have six
// times as many, so that the error and the hint after it fit into a line of 8,000 bytes.
const maxUsage = 1200

// called returns the command that argv names, root if argv names none.
func called(root *cobra.Command, argv []string) *cobra.Command {
	_, args, err := SplitROSArgs(argv)
	if err != nil {
		return root
	}
	cmd, _, err := root.Find(args)
	if err != nil {
		return root
	}
	return cmd
}

// insistence is the second signal that asks a process to end.
type insistence struct {
	wanted  atomic.Bool
	signals chan struct{} // closed by it
}

// insistenceKey is the key of a *insistence in a context.
type insistenceKey struct{}

// Insisted returns a context that ends with the second signal that asks the process to end, at least a second after the
// first one. If Insisted is not called, a second interrupt ends the process at once. ctx is the context of a command.
func Insisted(ctx context.Context) context.Context {
	insisted, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if second, ok := ctx.Value(insistenceKey{}).(*insistence); ok {
		second.wanted.Store(true)
		go func() {
			<-second.signals
			cancel()
		}()
	} else {
		context.AfterFunc(ctx, cancel)
	}
	return insisted
}

// Main runs the command named by the command line and exits: with 0 on success, with 1 or the code of Exit on failure,
// with 2 after wrong usage. It prints an error with one write to stderr, which must make one line of any text. SIGINT,
// SIGTERM, SIGHUP (a terminal that closes) and SIGQUIT cancel the command's context. A second SIGINT, a second or more
// after the first signal, ends the process at once.
func Main(root *cobra.Command, stderr io.Writer) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signal.Notify(signals, syscall.SIGHUP)
	}
	second := &insistence{signals: make(chan struct{})}
	go func() {
		<-signals
		signal.Ignore(syscall.SIGPIPE) // the reader of the output may also end; files are still completed
		cancel()
		// timeout(1) and terminals around launch send one interrupt twice. SIGTERM stays caught: launch sends it
		// 5 s after SIGINT, when a file may not be finished yet.
		time.Sleep(time.Second)
		if !second.wanted.Load() {
			signal.Reset(os.Interrupt)
			return
		}
		select {
		case <-signals: // the repetition of the first signal
		default:
		}
		<-signals
		close(second.signals)
	}()
	os.Exit(Run(context.WithValue(ctx, insistenceKey{}, second), root, os.Args[1:], stderr))
}

// Run runs the command named by argv, prints its error to stderr as Main does, and returns the exit code.
func Run(ctx context.Context, root *cobra.Command, argv []string, stderr io.Writer) (code int) {
	root.SetErr(stderr)
	err := Execute(ctx, root, argv)
	if err == nil {
		return 0
	}
	usage := errors.Is(err, ErrUsage)
	line := strings.Join(strings.Fields(err.Error()), " ")
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		line = "interrupted"
	case usage:
		if len(line) > maxUsage {
			line = strings.ToValidUTF8(line[:maxUsage], "") + "..."
		}
		line += fmt.Sprintf(" (see %s --help)", called(root, argv).CommandPath())
	}
	fmt.Fprintf(stderr, "%s: %s\n", root.Name(), line)
	var own *exitError
	switch {
	case usage:
		return 2
	case errors.As(err, &own):
		return own.code
	}
	return 1
}

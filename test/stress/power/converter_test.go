package power

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/rosbag"
	"tapedeck/codec/format/rosbag2"
)

// converters are runs of the converter's commands, one after the other.
var converters = []scenario{
	{"converter", convertFormats, checkConverter},
	{"converter overwrite", convertAgain, checkConverter},
	{"converter batch", convertFolders, checkConverter},
	{"converter recover", recoverFiles, checkConverter},
	{"converter reindex", reindexBags, checkConverter},
	{"converter index", indexRecordings, checkCatalogue},
}

// converted are the formats that the converter's outputs are read in.
var converted = append(codec.Formats{rosbag2.Format, rosbag.Format}, formats...)

// operation is a command of the converter. Paths are relative to the disk.
type operation struct {
	Args     []string
	Output   string            // operations of one output follow each other
	Written  map[string]string // files that the command writes, with their contents
	Repairs  bool              // the files were there before, incomplete, with the same messages
	Volatile bool              // the files were there before, and were not on the disk
	Twice    bool              // the command may be given again after it has ended
}

// converterFact is a promise of a converter, or a fact about it.
type converterFact struct {
	Operation *operation        `json:",omitzero"` // its number is that of earlier operations
	Begun     int               `json:",omitzero"` // number of operations that have begun
	Done      int               `json:",omitzero"` // number of operations that are done
	Printed   string            `json:",omitzero"` // file that was printed as done
	Kept      map[string]uint32 `json:",omitzero"` // files that no command changes, with the sums of their bytes
}

// converterRun runs operations.
type converterRun struct {
	*run
	inputs int // written ones
	count  int // of operations
	until  time.Time
}

// newConverterRun returns a run whose loops end after some seconds.
func newConverterRun(r *run) *converterRun {
	length := 5 * time.Second
	if *cuts > 0 {
		length = 12 * time.Second
	}
	require.NoError(r, os.Mkdir(filepath.Join(r.dir, "in"), 0o777))
	return &converterRun{run: r, until: time.Now().Add(length)}
}

// running reports whether another operation shall be run. Each scenario runs at least 12.
func (cr *converterRun) running() bool { return cr.count < 12 || time.Now().Before(cr.until) }

// input writes an MCAP file that differs from earlier ones, and returns its path.
func (cr *converterRun) input(streams []stream) string {
	played := recorderRun{streams: streams}.generate(cr.run, 400*time.Millisecond+
		time.Duration(cr.inputs)*200*time.Millisecond)
	path := fmt.Sprintf("in/%d.mcap", cr.inputs)
	cr.inputs++
	require.NoError(cr, copyAll(played, filepath.Join(cr.dir, path)))
	require.NoError(cr, os.Remove(played))
	return path
}

// convert runs the converter without a promise.
func (cr *converterRun) convert(args ...string) {
	out, err := converter(cr.dir, args).CombinedOutput()
	require.NoError(cr, err, "converter %s: %s", strings.Join(args, " "), out)
}

// keep promises that all files keep their bytes which are below a folder.
func (cr *converterRun) keep(folder string) {
	cr.disk.Sync()
	kept, err := sums32(cr.dir, folder)
	require.NoError(cr, err)
	cr.promiseConverted(converterFact{Kept: kept})
}

func sums32(dir, folder string) (map[string]uint32, error) {
	kept := map[string]uint32{}
	err := filepath.WalkDir(filepath.Join(dir, folder), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		kept[name] = crc32.ChecksumIEEE(data)
		return err
	})
	return kept, err
}

func (cr *converterRun) promiseConverted(f converterFact) {
	text, err := json.Marshal(f)
	require.NoError(cr, err)
	cr.promise("%s", text)
}

// do runs an operation. Its files are those that match the patterns afterwards.
func (cr *converterRun) do(o operation, patterns ...string) {
	cr.count++
	cr.promiseConverted(converterFact{Begun: cr.count})
	cmd := converter(cr.dir, o.Args)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	stdout, err := cmd.StdoutPipe()
	require.NoError(cr, err)
	require.NoError(cr, cmd.Start())
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var line struct{ Output, Status string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Status == "converted" {
			cr.promiseConverted(converterFact{Printed: line.Output})
		}
	}
	err = cmd.Wait()
	cr.promiseConverted(converterFact{Done: cr.count})
	require.NoError(cr, err, "converter %s: %s", strings.Join(o.Args, " "), failure.String())
	o.Written = map[string]string{}
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(cr.dir, pattern))
		require.NoError(cr, err)
		require.NotEmpty(cr, paths, "%s after converter %s", pattern, strings.Join(o.Args, " "))
		for _, path := range paths {
			content, complete, err := contents(path)
			require.NoError(cr, err)
			require.True(cr, complete, path)
			o.Written[cr.name(path)] = content
		}
	}
	text, err := json.Marshal(converterFact{Operation: &o})
	require.NoError(cr, err)
	cr.know("%s", text)
}

// converter returns the command of a converter that runs on a disk.
func converter(dir string, args []string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(bin, "converter"), args...)
	cmd.Dir = dir
	return cmd
}

// contents describes the messages of a file, or the bytes of a file without messages. complete is false if the file was
// not completed or is damaged.
func contents(path string) (text string, complete bool, err error) {
	if ext := filepath.Ext(path); ext == ".csv" || ext == ".hdf5" {
		data, err := os.ReadFile(path)
		return fmt.Sprintf("%d bytes, %08x", len(data), crc32.ChecksumIEEE(data)), true, err
	}
	reader, err := converted.Open(path)
	if err != nil {
		return "", false, err
	}
	defer reader.Close()
	info, err := reader.Info()
	if err != nil {
		return "", false, err
	}
	complete = info.Complete
	count, sum := 0, crc32.NewIEEE()
	for m, err := range codec.Messages(reader, codec.Query{Damaged: func(error) { complete = false }}) {
		if err != nil {
			return "", false, err
		}
		count++
		fmt.Fprintln(sum, m.Channel.Topic, m.LogTime)
		_, _ = sum.Write(m.Data)
	}
	return fmt.Sprintf("%d messages, %08x", count, sum.Sum32()), complete, nil
}

// outputs are names and options of outputs in each format.
var outputs = []struct {
	name    string
	options []string
	robot   bool // the input must be that of a robot
}{
	{name: "a.record"},
	{name: "b.mcap"},
	{name: "c"},
	{name: "d.bag"},
	{name: "e", options: []string{"--to", "session"}, robot: true},
	{name: "f.csv", options: []string{"-t", "/small"}},
	{name: "g.record", options: []string{"-b", "100kB"}},
	{name: "h.mcap", options: []string{"-b", "100kB"}},
	{name: "i.hdf5", robot: true},
}

// patterns match the files of an output, which may have numbers.
func patterns(output string) []string {
	switch base, ext, _ := strings.Cut(output, "."); base[0] {
	case 'g':
		return []string{output + ".*"}
	case 'h':
		return []string{output, base + "_*." + ext}
	}
	return []string{output}
}

// convertFormats converts a recording to each format, again and again.
func convertFormats(r *run) {
	cr := newConverterRun(r)
	text, robot := cr.input(texts), cr.input(robot)
	cr.keep("in")
	for i := 0; cr.running(); i++ {
		o := outputs[i%len(outputs)]
		in := text
		if o.robot {
			in = robot
		}
		base, ext, _ := strings.Cut(o.name, ".")
		name := strings.TrimSuffix(fmt.Sprintf("%s%d.%s", base, i, ext), ".")
		cr.do(operation{Args: append([]string{in, name}, o.options...), Output: name}, patterns(name)...)
	}
}

// convertAgain converts different recordings to one name in each format.
func convertAgain(r *run) {
	cr := newConverterRun(r)
	var ins, robots []string
	for range 3 {
		ins, robots = append(ins, cr.input(texts)), append(robots, cr.input(robot))
	}
	cr.keep("in")
	for i := 0; cr.running(); i++ {
		o := outputs[i%len(outputs)]
		in := ins[i/len(outputs)%len(ins)]
		if o.robot {
			in = robots[i/len(outputs)%len(ins)]
		}
		cr.do(operation{Args: append([]string{in, o.name, "--overwrite"}, o.options...), Output: o.name, Twice: true},
			patterns(o.name)...)
	}
}

// convertFolders converts a folder of recordings, each by itself.
func convertFolders(r *run) {
	cr := newConverterRun(r)
	cr.convert(cr.input(texts), "in/bag")
	cr.convert(cr.input(texts), "in/a.record")
	cr.convert(cr.input(texts), "in/b.bag")
	cr.keep("in")
	for i := 0; cr.running(); i++ {
		dir, format := fmt.Sprint("out", i), []string{"mcap", "record", "rosbag2", "bag"}[i%4]
		cr.do(operation{Args: []string{"in", "--output-folder", dir, "--to", format, "--json", "-j", "2"}, Output: dir,
			Twice: true}, dir+"/[^.]*")
	}
}

// recoverFiles recovers files whose ends are missing.
func recoverFiles(r *run) {
	cr := newConverterRun(r)
	in := cr.input(texts)
	outs := []string{"a.record", "b.mcap", "d.bag"}
	for _, name := range outs {
		path := filepath.Join(r.dir, "in", name)
		cr.convert(in, path)
		require.NoError(r, cutOff(path, path+codec.ActiveSuffix))
		require.NoError(r, os.Remove(path))
	}
	cr.keep("in")
	for i := 0; cr.running(); i++ {
		name := outs[i%len(outs)]
		out := fmt.Sprint(i, name)
		cr.do(operation{Args: []string{"recover", "in/" + name + codec.ActiveSuffix, out}, Output: out}, out)
	}
}

// cutOff copies two thirds of a file.
func cutOff(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data[:len(data)*2/3], 0o666)
}

// reindexBags repairs bags whose recorder was killed.
func reindexBags(r *run) {
	cr := newConverterRun(r)
	in := cr.input(texts)
	cr.convert(in, "in/mcap")
	cr.convert(in, "in/sqlite3", "--storage", "sqlite3")
	cr.convert(in, "in/zstd", "--compression-mode", "file", "--compression-format", "zstd")
	kinds := []string{"mcap", "sqlite3", "zstd", "mcap"}
	const bags = 60
	for i := range bags {
		bag := filepath.Join(r.dir, fmt.Sprint("bag", i))
		require.NoError(r, os.CopyFS(bag, os.DirFS(filepath.Join(r.dir, "in", kinds[i%len(kinds)]))))
		require.NoError(r, os.Remove(filepath.Join(bag, "metadata.yaml")))
		if i%len(kinds) == 0 {
			file := filepath.Join(bag, "mcap_0.mcap")
			require.NoError(r, cutOff(file, file+codec.ActiveSuffix))
			require.NoError(r, os.Remove(file))
		}
	}
	cr.keep("in")
	for i := 0; i < bags && cr.running(); i++ {
		bag := fmt.Sprint("bag", i)
		o := operation{Args: []string{"reindex", bag}, Output: bag, Repairs: true, Twice: true}
		if i%len(kinds) == 3 { // a file that its recorder had not synced when it was killed
			o.Volatile = true
			file := filepath.Join(r.dir, bag, "mcap_0.mcap")
			require.NoError(r, copyAll(file, file+codec.ActiveSuffix))
			require.NoError(r, os.Remove(file))
		}
		cr.do(o, bag)
	}
}

// indexRecordings adds one recording after the other to a catalogue.
func indexRecordings(r *run) {
	cr := newConverterRun(r)
	in := cr.input(texts)
	cr.keep("in")
	require.NoError(r, os.Mkdir(filepath.Join(r.dir, "drives"), 0o777))
	for i := 0; cr.running(); i++ {
		out := fmt.Sprintf("drives/%d.mcap", i)
		cr.do(operation{Args: []string{in, out}, Output: out}, out)
		cr.do(operation{Args: []string{"index", "drives", "-o", "catalogue"}, Output: "catalogue", Twice: true})
	}
}

// checkConverter checks the files of all operations.
func checkConverter(c *cut) {
	var operations []operation
	printed := map[string]bool{}
	begun, done := 0, 0
	var kept map[string]uint32
	for _, text := range c.promises {
		var f converterFact
		require.NoError(c, json.Unmarshal([]byte(text), &f))
		if f.Operation != nil {
			operations = append(operations, *f.Operation)
		}
		if f.Kept != nil {
			kept = f.Kept
		}
		begun, done = max(begun, f.Begun), max(done, f.Done)
		printed[f.Printed] = true
	}
	if begun == 0 {
		return // no promise
	}
	now, err := sums32(c.dir, "in")
	require.NoError(c, err)
	require.Equal(c, kept, now, "inputs")
	byOutput := map[string][]operation{} // begun ones, from the last one that is done
	for i, o := range operations[:begun] {
		if i < begun-20 && i%4 != c.Number%4 {
			continue // each power cut looks at a part of the old outputs, to save time
		}
		if i < done {
			byOutput[o.Output] = nil
		}
		byOutput[o.Output] = append(byOutput[o.Output], o)
	}
	for output, list := range byOutput {
		under := begun > done && operations[begun-1].Output == output
		c.checkOutput(list, under, printed)
	}
	if last := operations[begun-1]; begun > done && c.Number%3 == 0 {
		c.convertAgain(last)
	}
}

// checkOutput checks the files of an output. list has the last operation that is done, if any, and the one under way,
// if any. A power cut may have left the contents of either, or a part of several files of one of them.
func (c *cut) checkOutput(list []operation, under bool, printed map[string]bool) {
	if under && list[0].Volatile {
		return
	}
	names := map[string]bool{}
	for _, o := range list {
		for name := range o.Written {
			names[name] = true
		}
	}
	found := map[string]string{}
	for name := range names {
		_, err := os.Lstat(filepath.Join(c.dir, name))
		if os.IsNotExist(err) {
			require.False(c, printed[name], "%s was printed as done, and is not there", name)
			continue
		}
		text, complete, err := contents(filepath.Join(c.dir, name))
		require.NoError(c, err, "%s", name)
		require.True(c, complete || list[0].Repairs && under, "%s is not complete", name)
		found[name] = text
	}
	fits := func(o operation) bool {
		for name, text := range found {
			if o.Written[name] != text {
				return false
			}
		}
		whole := len(found) == len(o.Written)
		return whole || under && (len(list) == 1 && !o.Repairs || len(o.Written) > 1)
	}
	require.True(c, slices.ContainsFunc(list, fits), "%v, under way: %v: found %v", list, under, found)
}

// convertAgain requires that an operation that was under way does its work if it is run again.
func (c *cut) convertAgain(o operation) {
	if o.Volatile || filepath.Ext(o.Output) == ".hdf5" {
		return // the files may be lost, or have other bytes after each run
	}
	for name := range o.Written {
		_, err := os.Lstat(filepath.Join(c.dir, name))
		if err == nil && !o.Twice {
			return // the output exists, so the converter refuses
		}
	}
	out, err := converter(c.dir, o.Args).CombinedOutput()
	require.NoError(c, err, "again: converter %s: %s", strings.Join(o.Args, " "), out)
	c.checkOutput([]operation{o}, false, nil)
}

// checkCatalogue checks the recordings and the catalogue that lists them.
func checkCatalogue(c *cut) {
	checkConverter(c)
	type row struct {
		Recording string `parquet:"recording"`
		Messages  uint64 `parquet:"messages"`
	}
	listed := 0
	for _, table := range []string{"recordings", "topics", "events", "signals"} {
		paths, err := filepath.Glob(filepath.Join(c.dir, "catalogue", table, "*.parquet"))
		require.NoError(c, err)
		for _, path := range paths {
			rows, err := parquet.ReadFile[row](path)
			require.NoError(c, err, path)
			if table != "recordings" {
				continue
			}
			require.Len(c, rows, 1, path)
			listed++
			content, complete, err := contents(filepath.Join(c.dir, "drives", filepath.Base(rows[0].Recording)))
			require.NoError(c, err, "the catalogue lists %s", rows[0].Recording)
			require.True(c, complete, "the catalogue lists %s", rows[0].Recording)
			require.Contains(c, content, fmt.Sprint(rows[0].Messages, " messages,"), rows[0].Recording)
		}
	}
	var done int
	for _, text := range c.promises {
		var f converterFact
		require.NoError(c, json.Unmarshal([]byte(text), &f))
		done = max(done, f.Done)
	}
	require.GreaterOrEqual(c, listed, done/2, "recordings in the catalogue")
}

package main

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/internal/fleet/contract"
)

// checkOptions are the options of check.
type checkOptions struct {
	Expect string `param:"expect" group:"Check" value:"FILE"`
	JSON   bool   `param:"json" group:"Output"`
	JUnit  string `param:"junit" group:"Output" value:"FILE"`

	readOptions
}

func (*checkOptions) OptionTexts() string { return optionTexts }

// notMet is the exit code if recordings do not meet the expectations.
const notMet = 3

// check checks the recordings at paths. It continues after a recording that cannot be read.
func (o *checkOptions) check(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	if o.JUnit != "" {
		if err := checkOutput(o.JUnit, "<?xml"); err != nil {
			return err
		}
	}
	var expected *contract.Contract
	if o.Expect != "" {
		var err error
		expected, err = contract.Load(o.Expect)
		if err != nil {
			return err
		}
	}
	var suites junitSuites
	failed, found := 0, 0
	paths = o.firsts(paths)
	for i, path := range paths {
		p, err := o.readPass(ctx, path, expected, nil, stderr)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			suites.Suites = append(suites.Suites, junitSuite{Name: path, Tests: 1, Errors: 1, Cases: []junitCase{
				{Name: "recording", Class: path, Error: &junitProblem{Message: err.Error()}}}})
			if len(paths) == 1 {
				return errors.Join(err, o.writeJUnit(suites))
			}
			fmt.Fprintln(stderr, err)
			failed++
			continue
		}
		list := p.Findings()
		suites.Suites = append(suites.Suites, newSuite(path, p, list))
		if len(list) > 0 {
			found++
		}
		if o.JSON {
			err = writeFindingsJSON(stdout, path, list)
		} else {
			err = o.writeFindings(&separatingWriter{Writer: stdout, pending: i > 0}, path, p, list)
		}
		if err != nil {
			return err
		}
	}
	if err := o.writeJUnit(suites); err != nil {
		return err
	}
	numbers := fmt.Sprintf("%d of %s", found, human.Count(len(paths), "recording"))
	switch {
	case failed > 0:
		return fmt.Errorf("%d of %s cannot be read", failed, human.Count(len(paths), "recording"))
	case found > 0 && expected != nil:
		return config.Exit(notMet, fmt.Errorf("not as expected: %s", numbers))
	case found > 0:
		return config.Exit(notMet, fmt.Errorf("suspicious: %s", numbers))
	}
	return nil
}

// readPass reads the recording at path to check it against a contract, which may be nil. watched has names of fields by
// topic.
func (o *readOptions) readPass(ctx context.Context, path string, expected *contract.Contract,
	watched map[string][]string, stderr io.Writer) (*contract.Pass, error) {
	in, err := o.openROS2(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	for _, err := range in.untranslated {
		fmt.Fprintln(stderr, "warning: only the times are checked of what is not translated to ROS 2:", err)
	}
	printNotes(stderr, in.info)
	p := contract.New(expected, in.info)
	for topic, fields := range watched {
		for _, field := range fields {
			if err := p.Watch(topic, field); err != nil {
				return nil, fmt.Errorf("%s: --field: %w", path, err)
			}
		}
	}
	var damage, labels []error // used by the reading goroutine until each returns
	err = in.each(ctx, codec.Query{Damaged: func(err error) { damage = append(damage, err) },
		Mislabelled: func(err error) { labels = append(labels, err) }, Verify: true}, p.Add)
	for _, err := range damage {
		p.Damaged(err)
	}
	if topics := p.TimesOnly(); len(topics) > 0 {
		fmt.Fprintf(stderr, "warning: %s: only the times are checked of what has no definition: %s\n", path,
			human.List(topics))
	}
	for _, err := range labels {
		p.Mislabelled(err)
	}
	return p, err
}

// writeFindings writes findings as text.
func (o *checkOptions) writeFindings(w io.Writer, path string, p *contract.Pass, list []contract.Finding) error {
	var b strings.Builder
	verdict := human.Count(len(list), "finding")
	switch {
	case len(list) == 0 && o.Expect != "":
		verdict = "as expected"
	case len(list) == 0:
		verdict = "nothing suspicious"
	}
	fmt.Fprintf(&b, "%s: %s\n", human.Printable(path), verdict)
	if len(list) > 0 {
		start, _ := p.Times()
		rows := [][]string{{"Time", "Topic", "Finding", "Expected", "Seen"}}
		for _, f := range list {
			when := "-"
			if f.Time != 0 {
				when = fmt.Sprintf("%.3f s", float64(f.Time-start)/1e9)
			}
			rows = append(rows, []string{when, human.OrDash(f.Topic), string(f.Kind), human.Printable(f.Expected),
				human.Printable(f.Seen)})
		}
		human.Table(&b, rows, map[int]bool{0: true})
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeFindingsJSON(w io.Writer, path string, list []contract.Finding) error {
	if list == nil {
		list = []contract.Finding{}
	}
	return writeJSON(w, struct {
		Path     string             `json:"path"`
		OK       bool               `json:"ok"`
		Findings []contract.Finding `json:"findings"`
	}{path, len(list) == 0, list})
}

// The elements of JUnit's XML that CI systems read.
type (
	junitSuites struct {
		XMLName struct{}     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name     string         `xml:"name,attr"`
		Class    string         `xml:"classname,attr"`
		Failures []junitProblem `xml:"failure"`
		Error    *junitProblem  `xml:"error"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
	}
)

// newSuite returns the findings of a recording with a case for each topic, and a case for the whole recording.
func newSuite(path string, p *contract.Pass, list []contract.Finding) junitSuite {
	suite := junitSuite{Name: path}
	start, _ := p.Times()
	names := append([]string{""}, p.Topics()...)
	for _, f := range list { // findings may be about topics without messages
		names = append(names, f.Topic)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		c := junitCase{Name: name, Class: path}
		if name == "" {
			c.Name = "recording"
		}
		for _, f := range list {
			if f.Topic != name {
				continue
			}
			text := f.Text()
			if f.Time != 0 {
				text += fmt.Sprintf(", at %.3f s", float64(f.Time-start)/1e9)
			}
			c.Failures = append(c.Failures, junitProblem{string(f.Kind), text})
		}
		if len(c.Failures) > 0 {
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Tests = len(suite.Cases)
	return suite
}

func (o *checkOptions) writeJUnit(suites junitSuites) error {
	if o.JUnit == "" {
		return nil
	}
	text, err := xml.MarshalIndent(suites, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(o.JUnit, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s%s\n", xml.Header, text)
		return err
	})
}

// expectOptions are the options of expect.
type expectOptions struct {
	Output    string   `param:"output" short:"o" group:"Output" value:"FILE"`
	Overwrite bool     `param:"overwrite" group:"Output"`
	Field     []string `param:"field" group:"Contract" value:"TOPIC.FIELD"`
	Tolerance float64  `param:"tolerance" group:"Contract" min:"0" max:"0.9"`

	readOptions
}

func (*expectOptions) OptionTexts() string { return optionTexts }

// expect writes a contract that the recordings at paths meet.
func (o *expectOptions) expect(ctx context.Context, paths []string, stdout, stderr io.Writer) (err error) {
	watched := map[string][]string{}
	for _, text := range o.Field {
		for name := range strings.SplitSeq(text, ",") {
			topic, field, ok := strings.Cut(strings.TrimSpace(name), ".")
			if !ok {
				return config.Usagef("--field %s: want a topic, a dot and a field, such as /imu.linear_acceleration.z",
					name)
			}
			watched[topic] = append(watched[topic], field)
		}
	}
	output, paths, err := namedOutput(o.Output, paths, ".yaml", ".yml")
	if err != nil {
		return err
	}
	if stat, err := os.Stat(output); err == nil {
		if !o.Overwrite {
			return fmt.Errorf("%s exists; --overwrite replaces it", output)
		}
		if !stat.Mode().IsRegular() {
			return fmt.Errorf("%s is no regular file; name another one", output)
		}
	}
	var passes []*contract.Pass
	paths = o.firsts(paths)
	for _, path := range paths {
		p, err := o.readPass(ctx, path, nil, watched, stderr)
		if err != nil {
			return err
		}
		if start, end := p.Times(); start == end {
			return fmt.Errorf("%s has no messages to learn from, or all of one time", path)
		}
		passes = append(passes, p)
	}
	learnt := contract.Learn(o.Tolerance, passes...)
	for i, p := range passes {
		for _, f := range p.Findings() {
			if t := learnt.Topics[f.Topic]; t == nil && slices.Contains(learnt.Accept, f.Kind) ||
				t != nil && slices.Contains(t.Accept, f.Kind) {
				fmt.Fprintf(stderr, "warning: %s: %v; the contract accepts that\n", paths[i], f)
			}
		}
	}
	if output == "" {
		_, err = learnt.WriteTo(stdout)
		return err
	}
	err = writeFile(output, func(w io.Writer) error {
		_, err := learnt.WriteTo(w)
		return err
	})
	if err == nil {
		fmt.Fprintf(stdout, "%s: %s, learnt from %s\n", output, human.Count(len(learnt.Topics), "topic"),
			human.Count(len(paths), "recording"))
	}
	return err
}

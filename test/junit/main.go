// Junit runs go test and writes its results as JUnit does, for colcon test-result:
//
//	junit RESULTS.xml [flags of go test] packages
package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: junit RESULTS.xml [flags of go test] packages")
		os.Exit(2)
	}
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[2:]...)...)
	cmd.Stderr = os.Stderr
	err := run(cmd, os.Args[1])
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "junit:", err)
		os.Exit(1)
	}
}

// run runs the command and writes its results to path. It prints what go test prints without -v.
func run(cmd *exec.Cmd, path string) error {
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	results, readErr := collect(events, os.Stdout)
	if readErr != nil {
		_ = cmd.Process.Kill()
	}
	err = cmd.Wait()
	if readErr != nil {
		return fmt.Errorf("read what go test tells: %w", readErr)
	}
	text, xmlErr := xml.MarshalIndent(results, "", "  ")
	if xmlErr == nil {
		xmlErr = os.WriteFile(path, append([]byte(xml.Header), text...), 0o644)
	}
	return errors.Join(err, xmlErr)
}

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
	Elapsed                                                float64 // s
}

type counts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	counts
	Suites []*suite `xml:"testsuite"`
}

// suite is the tests of one package.
type suite struct {
	Name string `xml:"name,attr"`
	counts
	Time  float64 `xml:"time,attr"` // s
	Tests []test  `xml:"testcase"`
}

type test struct {
	Package string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    float64  `xml:"time,attr"` // s
	Failure *outcome `xml:"failure"`
	Error   *outcome `xml:"error"`
	Skipped *outcome `xml:"skipped"`
}

type outcome struct {
	Message string `xml:"message,attr"`
	Output  string `xml:",chardata"`
}

// collect reads the events of go test -json. What a person wants to know of them goes to out.
func collect(events io.Reader, out io.Writer) (*suites, error) {
	all := &suites{}
	packages := map[string]*suite{}
	output := map[string]string{} // by package, line break and test
	for decoder := json.NewDecoder(events); ; {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		key := e.Package + e.ImportPath + "\n" + e.Test
		s := packages[e.Package]
		switch {
		case e.Action == "start":
			packages[e.Package] = &suite{Name: e.Package}
		case e.Action == "output" || e.Action == "build-output":
			output[key] += e.Output
			if e.Test == "" && e.Output != "PASS\n" {
				fmt.Fprint(out, e.Output)
			}
		case s == nil || e.Action != "pass" && e.Action != "fail" && e.Action != "skip":
		case e.Test != "":
			if e.Action == "fail" {
				fmt.Fprint(out, output[key])
			}
			s.add(&e, output[key])
			delete(output, key)
		case e.Action == "fail" && s.Failures == 0:
			text := output[e.FailedBuild+"\n"]
			for _, key := range slices.Sorted(maps.Keys(output)) {
				if strings.HasPrefix(key, e.Package+"\n") { // of tests that did not come to their end too
					text += output[key]
				}
			}
			s.Tests = append(s.Tests, test{Package: e.Package, Name: "package", Error: &outcome{"failed as a whole", text}})
			s.counts.Tests++
			s.Errors++
			all.add(s, e.Elapsed)
		case s.Tests != nil:
			all.add(s, e.Elapsed)
		}
	}
}

func (all *suites) add(s *suite, seconds float64) {
	s.Time = seconds
	all.Suites = append(all.Suites, s)
	all.Tests += s.counts.Tests
	all.Failures += s.Failures
	all.Errors += s.Errors
	all.Skipped += s.Skipped
}

func (s *suite) add(e *event, output string) {
	t := test{Package: e.Package, Name: e.Test, Time: e.Elapsed}
	s.counts.Tests++
	switch e.Action {
	case "fail":
		t.Failure = &outcome{"failed", output}
		s.Failures++
	case "skip":
		t.Skipped = &outcome{"skipped", output}
		s.Skipped++
	}
	s.Tests = append(s.Tests, t)
}

// Package power cuts the power of programs that write to real file systems. A program runs on a disk in memory, which
// keeps its history, and makes promises: what must be there after a power cut. From one history follow thousands of
// states that a power cut could have left. Each is mounted and compared with the promises that were made before.
//
// A new scenario is a line in scenarios, with a function that runs a program and one that looks at a mounted state. The
// tests need root, /dev/fuse, loop devices and mkfs, and are skipped without.
package power

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"tapedeck/test/internal/powerdisk"
	"tapedeck/test/internal/process"
)

var (
	cuts  = flag.Int("cuts", 0, "number of power cuts on all file systems; 0: 40 cuts on ext4")
	seed  = flag.Uint64("seed", 1, "seed of random choices")
	file  = flag.String("log", "", "TestReplay: history of a disk that a failed test has kept")
	which = flag.Int("cut", 0, "TestReplay: number of the power cut")
	model = flag.String("model", "pieces", "TestReplay: what the disk may lose")
	show  = flag.Bool("show", false, "TestReplay: leave the state mounted until the test is interrupted")

	bin string // folder of the executables
)

// scenarios are the tested programs.
var scenarios = slices.Concat([]scenario{{"writer", carefulWriter.run, checkWriter}}, recorders, converters, uploads)

func TestMain(m *testing.M) {
	powerdisk.Isolate()
	flag.Parse()
	process.Isolate()
	os.Exit(process.Main(m, &bin, "..."))
}

// TestPower cuts the power of each scenario's program.
func TestPower(t *testing.T) {
	systems, models, n := powerdisk.FileSystems, powerdisk.Models, *cuts
	if n == 0 {
		systems, models, n = systems[:1], models[1:2], 40
	}
	share := max(1, n/len(scenarios)/len(systems)/len(models))
	var sums sums
	t.Cleanup(func() { t.Log(sums.table()) })
	for _, s := range scenarios {
		for _, system := range systems {
			t.Run(s.name+"/"+system.Name, func(t *testing.T) {
				t.Parallel()
				history := s.record(t, system)
				for _, m := range models {
					t.Run(m.Name, func(t *testing.T) {
						result := history.examine(t, s, m, share, func(result) bool { return false })
						t.Log(result)
						sums.add(s.name, result)
						sums.add(system.Name, result)
						sums.add(m.Name, result)
						sums.add("all", result)
						history.requireKept(t, result)
					})
				}
			})
		}
	}
}

// sums adds up results.
type sums struct {
	mu    sync.Mutex
	names []string // in the order of their first results
	by    map[string]*result
}

// add adds a result to the sum with a name.
func (s *sums) add(name string, r result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.by[name]
	if sum == nil {
		if s.by == nil {
			s.by = map[string]*result{}
		}
		sum = &result{}
		s.by[name] = sum
		s.names = append(s.names, name)
	}
	sum.cuts += r.cuts
	sum.broken += r.broken
	sum.unmountable += r.unmountable
	sum.unclean += r.unclean
	sum.lost = append(sum.lost, r.lost...)
}

// table returns a table in Markdown.
func (s *sums) table() string {
	text := "\n| | cuts | broken promises | unmountable | unclean | lost: median | 90 % | worst |\n" +
		"| --- | --: | --: | --: | --: | --: | --: | --: |\n"
	slices.Sort(s.names)
	for _, name := range s.names {
		r := s.by[name]
		text += fmt.Sprintf("| %s | %d | %d | %d | %d |", name, r.cuts, r.broken, r.unmountable, r.unclean)
		for _, share := range []float64{0.5, 0.9, 1} {
			text += " "
			if len(r.lost) > 0 {
				text += r.lostAt(share).String() + " "
			}
			text += "|"
		}
		text += "\n"
	}
	return text
}

// TestReplay mounts one state of a history that a failed test has kept, and looks at it again.
func TestReplay(t *testing.T) {
	if *file == "" {
		t.Skip("no -log")
	}
	history, err := load(*file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(append(careless, unsynced), scenarios...) {
		if s.name == history.Scenario {
			history.replay(t, s)
			return
		}
	}
	t.Fatalf("%s: no scenario is named %s", *file, history.Scenario)
}

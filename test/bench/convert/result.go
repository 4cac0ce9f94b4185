package main

import (
	"fmt"
	"time"

	"tapedeck/test/bench/internal/harness"
)

// result is one measurement, or the median of several.
type result struct {
	took    time.Duration
	cpu     time.Duration
	peak    int64 // bytes of memory: the maximum of all measurements
	written int64 // bytes
}

// summary returns the median of measurements.
func summary(list []result) (m result) {
	var took, cpu []time.Duration
	for _, r := range list {
		took, cpu = append(took, r.took), append(cpu, r.cpu)
		m.peak = max(m.peak, r.peak)
		m.written = r.written
	}
	m.took, m.cpu = harness.Median(took), harness.Median(cpu)
	return m
}

// printTable prints the results of a task, by program, and the ratios of tapedeck's converter to each other program.
// inputSize is in bytes.
func printTable(t task, inputSize int64, results [][]result) error {
	w := harness.Table()
	fmt.Fprintln(w, "s\tMB/s\tCPU s\tpeak MB\twritten MB\t program")
	var rows []result
	for i, list := range results {
		r := summary(list)
		rows = append(rows, r)
		if t.programs[i].failed != nil {
			fmt.Fprintf(w, "\t\t\t\t\t %s: %v\n", t.programs[i].name, t.programs[i].failed)
			continue
		}
		fmt.Fprintf(w, "%.2f\t%.0f\t%.2f\t%.0f\t%.0f\t %s\n", r.took.Seconds(), float64(inputSize)/1e6/r.took.Seconds(),
			r.cpu.Seconds(), float64(r.peak)/1e6, float64(r.written)/1e6, t.programs[i].name)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, r := range rows[1:] {
		if t.programs[0].failed != nil || t.programs[i+1].failed != nil {
			continue
		}
		goal := ""
		if t.goal > 0 {
			goal = fmt.Sprintf(" (goal: at most %.2f)", t.goal)
		}
		fmt.Printf("ours takes %.2f x time%s, %.2f x CPU, %.2f x memory of %s\n", ratio(rows[0].took, r.took), goal,
			ratio(rows[0].cpu, r.cpu), float64(rows[0].peak)/float64(r.peak), t.programs[i+1].name)
	}
	return nil
}

func ratio(a, b time.Duration) float64 { return a.Seconds() / b.Seconds() }

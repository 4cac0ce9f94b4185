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
	peak    int64 // bytes of memory; of several the largest
	written int64 // bytes
}

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

// printTable prints a table, with tapedeck's ratio to each other program.
func printTable(j job, input int64, results [][]result) error {
	w := harness.Table()
	fmt.Fprintln(w, "s\tMB/s\tCPU s\tpeak MB\twritten MB\t program")
	var rows []result
	for i, list := range results {
		r := summary(list)
		rows = append(rows, r)
		if j.programs[i].failed != nil {
			fmt.Fprintf(w, "\t\t\t\t\t %s: %v\n", j.programs[i].name, j.programs[i].failed)
			continue
		}
		fmt.Fprintf(w, "%.2f\t%.0f\t%.2f\t%.0f\t%.0f\t %s\n", r.took.Seconds(), float64(input)/1e6/r.took.Seconds(),
			r.cpu.Seconds(),
			float64(r.peak)/1e6, float64(r.written)/1e6, j.programs[i].name)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, r := range rows[1:] {
		if j.programs[0].failed != nil || j.programs[i+1].failed != nil {
			continue
		}
		goal := ""
		if j.goal > 0 {
			goal = fmt.Sprintf(" (goal: at most %.2f)", j.goal)
		}
		fmt.Printf("ours takes %.2f x time%s, %.2f x CPU, %.2f x memory of %s\n", ratio(rows[0].took, r.took), goal,
			ratio(rows[0].cpu, r.cpu),
			float64(rows[0].peak)/float64(r.peak), j.programs[i+1].name)
	}
	return nil
}

func ratio(a, b time.Duration) float64 { return a.Seconds() / b.Seconds() }

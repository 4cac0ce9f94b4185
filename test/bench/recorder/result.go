package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tapedeck/test/bench/internal/harness"
)

// result is one measurement, or the summary of several.
type result struct {
	due      int           // messages to publish by the load's rate
	sent     int           // published messages
	recorded int           // different messages in the recording
	repeated int           // messages that the recording repeats
	took     time.Duration // for publishing
	cpu      time.Duration // of the recorder
	peak     int64         // bytes of the recorder's memory
	written  int64         // bytes
	others   float64       // cores that other processes used meanwhile
}

// perMessage returns the processor time that one recorded message took, in s.
func (r result) perMessage() float64 { return r.cpu.Seconds() / float64(max(r.recorded, 1)) }

// summary returns the sums of messages and of took, and the medians of other fields. It takes into account the quieter
// half of the measurements, in which other processes used fewer cores.
func summary(list []result) (m result) {
	slices.SortFunc(list, func(a, b result) int { return cmp.Compare(a.others, b.others) })
	list = list[:(len(list)+1)/2]
	median := func(value func(result) float64) float64 {
		var values []float64
		for _, r := range list {
			values = append(values, value(r))
		}
		return harness.Median(values)
	}
	for _, r := range list {
		m.due += r.due
		m.sent += r.sent
		m.recorded += r.recorded
		m.repeated += r.repeated
		m.took += r.took
	}
	m.cpu = time.Duration(median(result.perMessage) * float64(m.recorded) * float64(time.Second))
	m.peak = int64(median(func(r result) float64 { return float64(r.peak) }))
	m.written = int64(median(func(r result) float64 { return float64(r.written) }))
	m.others = list[len(list)-1].others
	return m
}

// row is the line of a contender in a table.
type row struct {
	name string
	result
	ours bool   // contender.ours
	keys string // contender.keys
}

// print prints a table, with the ratios of tapedeck's contenders to the others.
func print(l load, rows []row) error {
	w := harness.Table()
	fmt.Fprintln(w, "sent\tmessages/s\trecorded\tlost %\tCPU us/message\tCPU s/GB\tpeak MB\twritten MB\tothers' "+
		"cores\t recorder")
	for _, r := range rows {
		rate := float64(r.sent) / max(r.took.Seconds(), 1e-9)
		fmt.Fprintf(w, "%d\t%.0f\t%d\t%.3f\t%.2f\t%.2f\t%.0f\t%.0f\t%.1f\t %s", r.sent, rate, r.recorded,
			100*float64(r.sent-r.recorded)/float64(max(r.sent, 1)), 1e6*r.perMessage(),
			1e9*r.perMessage()/float64(l.size),
			float64(r.peak)/1e6, float64(r.written)/1e6, r.others, r.name)
		if r.sent < r.due {
			fmt.Fprintf(w, "; held back %d more", r.due-r.sent)
		}
		if r.repeated > 0 {
			fmt.Fprintf(w, "; %d repeated", r.repeated)
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, our := range rows {
		for _, r := range rows {
			protected := our.keys != "" && our.name == r.name+", "+our.keys
			if our.ours && !r.ours && our.keys == r.keys || protected {
				fmt.Printf("%s takes %.2f x CPU, %.2f x memory of %s", our.name, our.perMessage()/r.perMessage(),
					float64(our.peak)/float64(r.peak), r.name)
				if r.name == baseline && l.goal > 0 && !protected {
					fmt.Printf("; goal: %.2f x CPU", l.goal)
				}
				fmt.Println()
			}
		}
	}
	return nil
}

// machine describes the machine on which the benchmark runs.
func machine() string {
	return fmt.Sprintf("%s, net.core.rmem_max %s", harness.Machine(), harness.Proc("sys/net/core/rmem_max"))
}

// busy returns how long the cores of the machine were not idle, all together.
func busy() time.Duration {
	var user, nice, system, idle, wait, irq, softirq, steal time.Duration
	_, _ = fmt.Sscanf(harness.Proc("stat"), "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq,
		&softirq, &steal)
	const tick = time.Second / 100
	return (user + nice + system + irq + softirq + steal) * tick
}

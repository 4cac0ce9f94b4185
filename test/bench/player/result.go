package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tapedeck/test/bench/internal/harness"
)

// deviations has each message's distance from its place in the schedule, in ns, in increasing order.
type deviations []float64

// deviationsOf returns the deviations of one run. at returns the sent or received time of an arrival.
func deviationsOf(list []arrival, rate float64, at func(arrival) int64) deviations {
	if len(list) == 0 {
		return nil
	}
	late := make(deviations, len(list))
	for i, a := range list {
		late[i] = float64(at(a)-at(list[0])) - float64(a.due-list[0].due)/rate
	}
	slices.Sort(late)
	start := late.quantile(0.01) // of the schedule
	for i := range late {
		late[i] = math.Abs(late[i] - start)
	}
	slices.Sort(late)
	return late
}

func (d deviations) quantile(q float64) float64 {
	if len(d) == 0 {
		return math.NaN()
	}
	return d[int(q*float64(len(d)-1))]
}

// row has the results of a player. Slices have one element for each round.
type row struct {
	name           string
	sent, received []deviations
	rates          []float64 // messages per second
	cores          []float64 // cores that the player used from the first message to the last
	perMessage     []float64 // ns of processor time per message, with the player's start and end
	missing        int       // messages of all rounds
}

// add adds the result of one round, in which count messages were played.
func (r *row) add(got run, count int, rate float64) {
	r.sent = append(r.sent, deviationsOf(got.arrivals, rate, func(a arrival) int64 { return a.sent }))
	r.received = append(r.received, deviationsOf(got.arrivals, rate, func(a arrival) int64 { return a.received }))
	if n := len(got.arrivals); n > 1 {
		first, last := got.arrivals[0].received, got.arrivals[n-1].received
		r.rates = append(r.rates, float64(n-1)/float64(last-first)*1e9)
	}
	r.missing += count - len(got.arrivals)
	r.cores = append(r.cores, got.cores)
	r.perMessage = append(r.perMessage, float64(got.processor)/float64(count))
}

// quantile returns the lower quartile of all rounds' q-quantiles.
func quantile(rounds []deviations, q float64) float64 {
	var list []float64
	for _, d := range rounds {
		list = append(list, d.quantile(q))
	}
	slices.Sort(list)
	return list[(len(list)-1)/4]
}

// cells returns three cells of a table: median, 99th percentile and maximum in us.
func cells(rounds []deviations) string {
	text := ""
	for _, q := range []float64{0.5, 0.99, 1} {
		text += us(quantile(rounds, q)) + "\t"
	}
	return text
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// us formats a duration in us, NaN as "-".
func us(ns float64) string {
	if math.IsNaN(ns) {
		return "-"
	}
	return fmt.Sprintf("%.0f", ns/1e3)
}

// compare runs the contenders that -only selects in turn, and returns their results. It returns nil if -only selects
// none.
func (b *bench) compare(what string, list []contender, r recording, rate float64) (rows []*row, err error) {
	before := loadAverage()
	for _, c := range list {
		if b.only.MatchString(what + " " + c.name) {
			rows = append(rows, &row{name: c.name})
		}
	}
	if rows == nil {
		return nil, nil
	}
	for range b.rounds {
		for i, j := 0, 0; i < len(list) && j < len(rows); i++ {
			if list[i].name != rows[j].name {
				continue
			}
			got, err := b.play(list[i], r, rate)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", what, err)
			}
			rows[j].add(got, r.imus+r.images, rate)
			j++
		}
	}
	fmt.Printf("\n%s; load average %s before, %s after\n", what, before, loadAverage())
	return rows, nil
}

// table prints the lines of a table. Tabs separate columns.
func table(print func(line func(format string, args ...any))) error {
	w := harness.Table()
	print(func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) })
	return w.Flush()
}

// pacing prints the deviations at several rates.
func (b *bench) pacing() error {
	for _, rate := range []float64{0.5, 1, 3} {
		list := append([]contender{b.self("bare loop", "loop", 0), b.self("bare loop, publishing", "publishing", 0)},
			b.players()...)
		count := int(imuRate * rate * b.span.Seconds())
		rows, err := b.compare(fmt.Sprintf("pacing at %v", rate), list,
			recording{fmt.Sprintf("imu-%d", count), count, 0}, rate)
		if err != nil {
			return err
		}
		if rows == nil {
			continue
		}
		base := quantile(rows[0].sent, 0.99)
		if err := table(func(line func(string, ...any)) {
			line("sent: median us\tp99\tmax\tp99 of %s (goal: 1.2)\tarrived: median us\tp99\tmax\tmissing\tCPU %%\t "+
				"at rate %v", rows[0].name, rate)
			for _, r := range rows {
				line("%s%.2f\t%s%d\t%.1f\t %s", cells(r.sent), quantile(r.sent, 0.99)/base, cells(r.received),
					r.missing, 100*median(r.cores), r.name)
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// fast prints the rates at which contenders play as fast as possible.
func (b *bench) fast() error {
	for _, r := range []recording{{"fast-imu", 200_000, 0}, {"fast-images", 0, 500}} {
		what, size, goal := "IMU", 0, 0.98
		if r.images > 0 {
			what, size, goal = "images of 1 MB", imageSize, 0.95
		}
		rows, err := b.compare("fast "+what, append([]contender{b.self("publishing alone", "probe", size)},
			b.players()...), r, fastest)
		if err != nil {
			return err
		}
		if rows == nil {
			continue
		}
		base := median(rows[0].rates)
		if err := table(func(line func(string, ...any)) {
			line("messages/s\tof %s (goal: %.2f)\tCPU us each\tmissing\t as fast as possible, %s", rows[0].name, goal,
				what)
			for _, r := range rows {
				line("%.0f\t%.2f\t%.1f\t%d\t %s", median(r.rates), median(r.rates)/base, median(r.perMessage)/1e3,
					r.missing, r.name)
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// cpu prints the processor time of playing an IMU and images.
func (b *bench) cpu() error {
	seconds := b.span.Seconds()
	r := recording{"both", int(imuRate * seconds), int(imageRate * seconds)}
	rows, err := b.compare("cpu", b.players(), r, 1)
	if err != nil || rows == nil {
		return err
	}
	return table(func(line func(string, ...any)) {
		line("CPU %% of a core\tsent: p99 us\tmissing\t %d/s of %d B and %d/s of %d MB, %v", imuRate, 340, imageRate,
			imageSize/1_000_000, b.span.Round(time.Second))
		for _, r := range rows {
			line("%.1f\t%s\t%d\t %s", 100*median(r.cores), us(quantile(r.sent, 0.99)), r.missing, r.name)
		}
	})
}

package describe

import (
	"maps"
	"slices"
	"strings"
)

// Merge describes a recording by the descriptions of its files.
func Merge(files ...*Recording) *Recording {
	all := &Recording{Files: []File{}, Topics: []Topic{}, Events: []Event{}, Complete: true}
	topics := map[[3]string]int{}
	for _, r := range files {
		if all.Format == "" {
			all.Format, all.Path = r.Format, r.Path
		}
		if r.MessageCount > 0 {
			if all.MessageCount == 0 {
				all.StartTime = r.StartTime
			}
			all.StartTime, all.EndTime = min(all.StartTime, r.StartTime), max(all.EndTime, r.EndTime)
		}
		all.Size += r.Size
		all.MessageCount += r.MessageCount
		all.Complete = all.Complete && r.Complete
		all.Files = append(all.Files, r.Files...)
		all.Events = append(all.Events, r.Events...)
		all.Attachments = append(all.Attachments, r.Attachments...)
		if all.Metadata == nil {
			all.Metadata = maps.Clone(r.Metadata)
		} else {
			maps.Copy(all.Metadata, r.Metadata)
		}
		for _, t := range r.Topics {
			key := [3]string{t.Name, t.Type, t.Encoding}
			i, known := topics[key]
			if !known {
				topics[key] = len(all.Topics)
				all.Topics = append(all.Topics, t)
				continue
			}
			a := &all.Topics[i]
			a.MessageCount += t.MessageCount
			if a.Totals != nil && t.Totals != nil {
				counts := *a.Totals
				counts.Received, counts.Written = counts.Received+t.Totals.Received, counts.Written+t.Totals.Written
				counts.Dropped, counts.Lost = counts.Dropped+t.Totals.Dropped, counts.Lost+t.Totals.Lost
				a.Totals = &counts
			}
		}
		for _, s := range r.Services {
			all.addService(s)
		}
		for _, a := range r.Actions {
			all.addAction(a)
		}
	}
	all.Duration = max(0, float64(all.EndTime-all.StartTime)/1e9)
	for i := range all.Topics {
		t := &all.Topics[i]
		t.Frequency = 0
		if all.Duration > 0 && t.MessageCount > 1 {
			t.Frequency = float64(t.MessageCount) / all.Duration
		}
	}
	slices.SortStableFunc(all.Topics, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (r *Recording) addService(s Service) {
	i := slices.IndexFunc(r.Services, func(o Service) bool { return o.Name == s.Name && o.Type == s.Type })
	if i < 0 {
		r.Services = append(r.Services, s)
		return
	}
	o := &r.Services[i]
	o.Requests, o.Responses = sum(o.Requests, s.Requests), sum(o.Responses, s.Responses)
	o.Events += s.Events
}

func (r *Recording) addAction(a Action) {
	i := slices.IndexFunc(r.Actions, func(o Action) bool { return o.Name == a.Name && o.Type == a.Type })
	if i < 0 {
		r.Actions = append(r.Actions, a)
		return
	}
	o := &r.Actions[i]
	o.Goals, o.Cancels, o.Results = sum(o.Goals, a.Goals), sum(o.Cancels, a.Cancels), sum(o.Results, a.Results)
	o.Feedback += a.Feedback
	o.Status += a.Status
	o.Events += a.Events
}

// sum adds counts, one of which is unknown if it is nil.
func sum(a, b *uint64) *uint64 {
	if a == nil || b == nil {
		return nil
	}
	n := *a + *b
	return &n
}

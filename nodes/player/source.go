package main

import (
	"errors"
	"fmt"
	"slices"

	"tapedeck/codec"
	"tapedeck/nodes/internal/graph"
)

// source is the recordings to be played, as one.
type source struct {
	readers  []codec.Reader
	channels []*codec.Channel // that the filter selects, in the order of the files
	messages uint64           // of all channels
	start    int64            // ns since the Unix epoch, of the earliest message of all
	end      int64            // of the latest
	warnings []string         // what its user should know
	wants    func(*codec.Channel) bool
}

// openSource opens the recordings at paths. The caller closes the source.
func openSource(paths []string, wants func(*codec.Channel) bool) (*source, error) {
	s := &source{wants: wants}
	for _, path := range paths {
		if err := s.add(path); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *source) add(path string) error {
	r, err := codec.Open(path)
	if err != nil {
		return err
	}
	s.readers = append(s.readers, r)
	info, err := r.Info()
	if err != nil {
		return err
	}
	if !info.Complete {
		s.warnings = append(s.warnings, fmt.Sprintf("%s is unfinished or damaged; what there is of it is played, 'converter info' says more", path))
	}
	if info.MessageCount > 0 {
		if s.messages == 0 {
			s.start, s.end = info.StartTime, info.EndTime
		}
		s.start, s.end = min(s.start, info.StartTime), max(s.end, info.EndTime)
		s.messages += info.MessageCount
	}
	for _, t := range info.Topics {
		if s.wants(t.Channel) {
			s.channels = append(s.channels, t.Channel)
		}
	}
	return nil
}

// read returns the messages that q and the filter select, in time order.
func (s *source) read(q codec.Query) (codec.Iterator, error) {
	selected := q.Topics
	q.Topics = func(c *codec.Channel) bool { return s.wants(c) && (selected == nil || selected(c)) }
	var its []codec.Iterator
	for _, r := range s.readers {
		it, err := r.Read(q)
		if err != nil {
			return nil, errors.Join(err, codec.Merge(its...).Close())
		}
		its = append(its, it)
	}
	return codec.Merge(its...), nil
}

func (s *source) close() error {
	var errs []error
	for _, r := range s.readers {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// topicFilter returns which channels the options select. With a clock of our own a recorded /clock is left out.
func topicFilter(o *options) (func(*codec.Channel) bool, error) {
	include, err := graph.Regexp("regex", o.Regex)
	if err != nil {
		return nil, err
	}
	exclude, err := graph.Regexp("exclude_regex", o.ExcludeRegex)
	if err != nil {
		return nil, err
	}
	named := len(o.Topics) > 0 || include != nil
	return func(c *codec.Channel) bool {
		switch {
		case o.Clock > 0 && c.Topic == "/clock":
			return false
		case names(o.ExcludeTopics, c.Topic), exclude != nil && exclude.MatchString(c.Topic):
			return false
		}
		// What a recording says about itself is played only when it is asked for.
		return !named && !codec.IsEvents(c) || names(o.Topics, c.Topic) || include != nil && include.MatchString(c.Topic)
	}, nil
}

// names says whether topic is in the list, where it may stand without its first slash.
func names(list []string, topic string) bool {
	return slices.ContainsFunc(list, func(name string) bool { return name == topic || "/"+name == topic })
}

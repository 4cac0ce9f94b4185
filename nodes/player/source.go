package main

import (
	"errors"
	"regexp"
	"slices"

	"tapedeck/codec"
	"tapedeck/config"
)

// source is the recordings to be played, as one.
type source struct {
	readers  []codec.Reader
	channels []*codec.Channel // that the filter selects, in the order of the files
	start    int64            // ns since the Unix epoch, of the earliest message of all
	end      int64            // of the latest
	wants    func(*codec.Channel) bool
}

// openSource opens the recordings at paths. The caller closes the source.
func openSource(paths []string, wants func(*codec.Channel) bool) (*source, error) {
	s := &source{wants: wants}
	for _, path := range paths {
		r, err := codec.Open(path)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.readers = append(s.readers, r)
		info, err := r.Info()
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		if info.MessageCount > 0 {
			if s.start == 0 || info.StartTime < s.start {
				s.start = info.StartTime
			}
			s.end = max(s.end, info.EndTime)
		}
		for _, t := range info.Topics {
			if wants(t.Channel) {
				s.channels = append(s.channels, t.Channel)
			}
		}
	}
	return s, nil
}

// read returns the messages from start on and before end, which may be 0 for no end, in time order.
func (s *source) read(start, end int64, damaged func(error)) (codec.Iterator, error) {
	var its []codec.Iterator
	for _, r := range s.readers {
		it, err := r.Read(codec.Query{Start: start, End: end, Topics: s.wants, Damaged: damaged})
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
	include, err := compile("regex", o.Regex)
	if err != nil {
		return nil, err
	}
	exclude, err := compile("exclude_regex", o.ExcludeRegex)
	if err != nil {
		return nil, err
	}
	named := len(o.Topics) > 0 || include != nil
	return func(c *codec.Channel) bool {
		switch {
		case o.Clock > 0 && c.Topic == "/clock":
			return false
		case slices.Contains(o.ExcludeTopics, c.Topic), exclude != nil && exclude.MatchString(c.Topic):
			return false
		}
		return !named || slices.Contains(o.Topics, c.Topic) || include != nil && include.MatchString(c.Topic)
	}, nil
}

func compile(parameter, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, config.Usagef("%s: %w", parameter, err)
	}
	return re, nil
}

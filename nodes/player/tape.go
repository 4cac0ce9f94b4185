package main

import (
	"errors"
	"io"

	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/nodes/internal/readahead"
)

// recordings are the tape that a source is.
type recordings struct {
	source     *source
	publishers publishers
	order      string
	stamps     map[*codec.Channel]*cdr.Stamps // for order by header
	readAhead  int64
	damaged    func(error)
	ready      func() // is called when more was read
}

func (r *recordings) from(t, end int64) (feed, error) {
	it, err := r.read(t, end)
	if err != nil {
		return nil, err
	}
	return readahead.New(it, r.readAhead, r.ready), nil
}

func (r *recordings) read(t, end int64) (codec.Iterator, error) {
	q := codec.Query{Start: t, End: end, Topics: r.published, Damaged: r.damaged}
	time := sendTime
	switch r.order {
	case byReceipt:
		return r.source.read(q)
	case byHeader:
		time = func(m *codec.Message) int64 { return headerTime(r.stamps[m.Channel], m) }
	}
	q.Start -= disorder
	q.End += disorder
	it, err := r.source.read(q)
	return &ordered{it: it, time: time, start: t, end: end, first: r.source.start, last: r.source.end}, err
}

func (r *recordings) published(c *codec.Channel) bool { return r.publishers[c] != nil }

func (r *recordings) latched(t int64, publish func(*codec.Message) error) error {
	if t <= r.source.start {
		return nil
	}
	it, err := r.source.latest(codec.Query{End: t, Topics: r.published, Damaged: r.damaged}, func(c *codec.Channel) int {
		return r.publishers[c].latchedDepth(c)
	})
	if err != nil {
		return err
	}
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return it.Close()
		}
		if err == nil {
			err = publish(m)
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
	}
}

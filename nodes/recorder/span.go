package main

// span is a time, ns since the Unix epoch. The zero value is none.
type span struct{ from, until int64 }

// add makes the span long enough to hold from and until.
func (s *span) add(from, until int64) {
	if s.from == 0 || from < s.from {
		s.from = from
	}
	s.until = max(s.until, until)
}

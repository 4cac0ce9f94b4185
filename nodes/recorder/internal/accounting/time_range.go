package accounting

// TimeRange is a range of times, ns since the Unix epoch. The zero value is empty.
type TimeRange struct{ From, Until int64 }

// Extend enlarges the range to hold from and until.
func (s *TimeRange) Extend(from, until int64) {
	if s.From == 0 || from < s.From {
		s.From = from
	}
	s.Until = max(s.Until, until)
}

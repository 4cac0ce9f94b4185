package ros1

// kind is the kind of a step.
type kind uint8

const (
	stepCopy     kind = iota // size bytes, without padding in between
	stepSequence             // a sequence of elements of size bytes, without padding in between
	stepText                 // a string
	stepWide                 // a string of ROS 1, a wstring of ROS 2
	stepArray                // n times steps
	stepEach                 // a sequence of elements, each by steps
	stepLevel                // the level of a log message
)

// side is where a field exists: in both, only in ROS 1, or only in ROS 2.
type side uint8

const (
	both side = iota
	only1
	only2
)

// step translates a field, or several fields that can be copied at once, in either direction.
type step struct {
	kind  kind
	side  side
	align int    // in ROS 2; of a sequence that of its elements
	size  int    // bytes of a copy, or of an element of a sequence
	n     int    // elements of an array
	bound int    // of a string or sequence of ROS 2, 0 without
	fill  []byte // the default of a field that only ROS 2 has: bytes, without zeros at the end, elements or text
	steps []step // of an element
	least [2]int // fewest bytes that an element takes in ROS 1 and in ROS 2
	lost  uint64 // the bit for a value that the other side does not have, see matcher.bit
	field string // for errors
}

// flat reports whether steps are one copy that can be repeated without padding, and returns its size and alignment.
func flat(steps []step) (size, align int, ok bool) {
	if len(steps) != 1 || steps[0].kind != stepCopy || steps[0].side != both || steps[0].size%steps[0].align != 0 {
		return 0, 0, false
	}
	return steps[0].size, steps[0].align, true
}

// add appends a step, or merges it into the last one.
func add(steps []step, s step) []step {
	if n := len(steps); n > 0 && s.kind == stepCopy && s.side != only2 {
		last := &steps[n-1]
		if last.kind == stepCopy && last.side == s.side && last.lost == s.lost &&
			(s.side == only1 || s.align <= last.align && last.size%s.align == 0) {
			last.size += s.size
			return steps
		}
	}
	return append(steps, s)
}

// repeat returns the steps for an array of n elements, or with n < 0 for a sequence of at most bound ones.
func repeat(steps []step, n, bound int, field string) step {
	size, align, ok := flat(steps)
	switch {
	case ok && n >= 0:
		return step{kind: stepCopy, size: n * size, align: align, field: field}
	case ok:
		return step{kind: stepSequence, size: size, align: align, bound: bound, field: field}
	}
	s := step{kind: stepEach, n: n, bound: bound, steps: steps, least: leastOf(steps), field: field}
	if n >= 0 {
		s.kind = stepArray
	}
	return s
}

// leastOf returns the fewest bytes that steps take in ROS 1 and in ROS 2.
func leastOf(steps []step) (least [2]int) {
	for _, s := range steps {
		var n [2]int
		switch s.kind {
		case stepCopy, stepLevel:
			n = [2]int{s.size, s.size}
		case stepArray:
			n = [2]int{s.n * s.least[0], s.n * s.least[1]}
		default:
			n = [2]int{4, 4}
		}
		if s.side != only2 {
			least[0] = min(least[0]+n[0], maxLeast)
		}
		if s.side != only1 {
			least[1] = min(least[1]+n[1], maxLeast)
		}
	}
	return least
}

// maxLeast bounds the fewest bytes of a message, so that they can be multiplied.
const maxLeast = 1 << 31

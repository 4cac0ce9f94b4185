package ros1

import "tapedeck/codec/encoding/cdr"

// plan translates messages of one type to a type of the other ROS version.
type plan struct {
	name, text string // name and definition of the resulting type
	sum        string // hash of the resulting type in ROS 2, MD5 sum in ROS 1
	steps      []step
	losses     []string                    // descriptions of losses, by bit number of step.lost
	schema     func() (*cdr.Schema, error) // schema of the original ROS 2 messages; nil if they are of ROS 1
	unproven   bool                        // rosidl.Message.Unproven of the original ROS 2 messages
}

// kind is the kind of a step.
type kind uint8

const (
	stepCopy     kind = iota // size bytes, without padding in between
	stepSequence             // a sequence of elements of size bytes, without padding in between
	stepText                 // a string
	stepWide                 // a string of ROS 1, a wstring of ROS 2
	stepArray                // an array of n elements; steps translate an element
	stepEach                 // a sequence of elements; steps translate an element
	stepLevel                // the level of a log message
)

// side tells in which versions of ROS a field exists.
type side uint8

const (
	both side = iota
	onlyROS1
	onlyROS2
)

// step translates a field, or several fields that can be copied at once, in either direction.
type step struct {
	kind  kind
	side  side
	align int    // alignment in ROS 2, of a field or of the elements of a sequence
	size  int    // size of a copy, or of an element of a sequence, in bytes
	n     int    // number of elements of an array
	bound int    // bound of a string or sequence of ROS 2; 0: none
	fill  []byte // default of a field that only ROS 2 has: bytes without zeros at the end, elements or text
	steps []step // steps for an element
	least [2]int // smallest size of an element in bytes: in ROS 1, in ROS 2
	lost  uint64 // bit of the loss if the other version of ROS cannot hold the value; see matcher.lossBit
	field string // name of the field in errors
}

// singleCopy returns the size and alignment of a single copy. ok is false if steps are not a single copy, or if
// repeating the copy would need padding.
func singleCopy(steps []step) (size, align int, ok bool) {
	if len(steps) != 1 || steps[0].kind != stepCopy || steps[0].side != both || steps[0].size%steps[0].align != 0 {
		return 0, 0, false
	}
	return steps[0].size, steps[0].align, true
}

// add appends the step s, or merges it into the last step.
func add(steps []step, s step) []step {
	if n := len(steps); n > 0 && s.kind == stepCopy && s.side != onlyROS2 {
		last := &steps[n-1]
		if last.kind == stepCopy && last.side == s.side && last.lost == s.lost &&
			(s.side == onlyROS1 || s.align <= last.align && last.size%s.align == 0) {
			last.size += s.size
			return steps
		}
	}
	return append(steps, s)
}

// repeat returns the step for an array of n elements, or if n < 0, for a sequence of at most bound elements.
func repeat(steps []step, n, bound int, field string) step {
	size, align, ok := singleCopy(steps)
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

// leastOf returns the smallest number of bytes that steps need in ROS 1 and in ROS 2.
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
		if s.side != onlyROS2 {
			least[0] = min(least[0]+n[0], maxLeast)
		}
		if s.side != onlyROS1 {
			least[1] = min(least[1]+n[1], maxLeast)
		}
	}
	return least
}

// maxLeast limits the results of leastOf, so that products of the results do not overflow.
const maxLeast = 1 << 31

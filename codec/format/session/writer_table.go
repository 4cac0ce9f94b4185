package session

import (
	"fmt"
	"slices"
	"strings"

	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// tableWriter writes the samples of a stream.
type tableWriter struct {
	*csvFile
	role       episode.Role
	unit       string     // unit of joints in the table; "": no sample is written yet
	keys       []key      // by column of the table
	fractions  []bool     // by column, whether it has numbers that are not whole; nil: unknown
	quaternion bool       // samples have a quaternion that becomes Euler angles
	rotation   [4]int     // indices of the quaternion's x, y, z and w in a sample
	values     [6]float64 // result of euler
}

// settle decides how columns are written. It does nothing if it was called for as many columns before. If euler is set,
// quaternions become Euler angles.
func (out *tableWriter) settle(columns []align.Column, euler bool) error {
	if len(out.keys) == len(columns) || out.quaternion && len(columns) == 7 {
		return nil
	}
	if len(columns) > maxColumns {
		return fmt.Errorf("%d columns are too many", len(columns))
	}
	out.keys = out.keys[:0]
	out.quaternion = euler && out.role.Base() == episode.Pose && len(columns) == 7
	if out.quaternion {
		out.rotation, out.quaternion = quaternionOf(columns)
	}
	if out.quaternion {
		columns = columns[:6]
	}
	seen := map[string]bool{}
	for i := range columns {
		k := key{text: uniqueIndex(indexOf(out.role, i, &columns[i]), seen),
			whole:  out.role.Base() == episode.Gripper && (i >= len(out.fractions) || !out.fractions[i]),
			factor: out.factor(columns[i].Unit)}
		if n, ok := wholeIndex(k.text); k.text == "" || strings.ContainsAny(k.text, ",\"\r\n") ||
			strings.TrimSpace(k.text) != k.text || ok && n > maxIndex {
			return fmt.Errorf("a column cannot be called %q", k.text)
		}
		seen[k.text] = true
		if out.quaternion {
			k.factor = 1
		}
		out.keys = append(out.keys, k)
	}
	return nil
}

// uniqueIndex returns an index that is not in seen: position_2 for the second column with the name position. A table
// can keep only one number for each stamp and index.
func uniqueIndex(index string, seen map[string]bool) string {
	unique := index
	for n := 2; seen[unique]; n++ {
		unique = fmt.Sprintf("%s_%d", index, n)
	}
	return unique
}

// factor returns the factor from a unit to the unit of the table.
func (out *tableWriter) factor(unit string) float64 {
	if out.role.Base() == episode.Pose {
		return episode.UnitFactor(unit, "rad")
	}
	return episode.UnitFactor(unit, out.role.Unit(out.unit))
}

// quaternionOf returns the indices of x, y, z and w of the quaternion in a pose of seven columns. It finds them by
// name, or else takes the last four columns. ok is false if there is no quaternion.
func quaternionOf(pose []align.Column) (rotation [4]int, ok bool) {
	named := make([]align.Column, 4)
	for i, c := range pose[3:] {
		if c.Interp != align.Quaternion && !strings.HasPrefix(c.Name, "q") {
			return rotation, false
		}
		named[i].Name, rotation[i] = episode.Pose.ColumnName(3+i, 7), 3+i
	}
	if places := align.Places(named, pose[3:]); !slices.Contains(places, -1) {
		for i, place := range places {
			rotation[i] = 3 + place
		}
	}
	return rotation, true
}

// euler returns a pose with roll, pitch and yaw about fixed axes in place of the quaternion. The next call overwrites
// the result.
func (out *tableWriter) euler(pose []float64) []float64 {
	copy(out.values[:], pose[:3])
	out.values[3], out.values[4], out.values[5] = align.ToEuler(pose[out.rotation[0]],
		pose[out.rotation[1]], pose[out.rotation[2]], pose[out.rotation[3]])
	return out.values[:]
}

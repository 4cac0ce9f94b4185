package realman

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// maxNumbers is the maximum number of numbers in a field: arms report up to 24 error codes.
const maxNumbers = 24

// numbers is a JSON field with numbers. A field with something else makes no packet fail: the decoder returns err only
// if it uses the field. The text of err follows the name of the field: "has more than 24 numbers".
type numbers struct {
	given bool // the packet has the field
	count int  // length of the used part of list
	list  [maxNumbers]float64
	err   error
}

// UnmarshalJSON decodes a number, a list of numbers, or an object of coordinates: some firmware names the coordinates
// of a pose. Numbers may be strings or bools. null counts as a missing field.
func (n *numbers) UnmarshalJSON(data []byte) error {
	*n = numbers{given: string(data) != "null"}
	switch {
	case !n.given:
	case data[0] == '[':
		n.err = n.addList(data)
	case data[0] == '{':
		n.err = n.addCoordinates(data)
	default:
		n.err = n.add(data)
	}
	return nil
}

// addList adds the numbers of a list, which must be valid JSON.
func (n *numbers) addList(data []byte) error {
	start := 1 // of the present element
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '[', '{':
			return fmt.Errorf("is a list of lists or objects, want numbers: %s", excerpt(data))
		case ',', ']':
			if text := bytes.TrimSpace(data[start:i]); len(text) > 0 {
				if err := n.add(text); err != nil {
					return err
				}
			}
			start = i + 1
		}
	}
	return nil
}

// addCoordinates adds the numbers of an object in the order in which lists have them: w, x, y, z of a quaternion, x, y,
// z of a position, or rx, ry, rz of a rotation.
func (n *numbers) addCoordinates(data []byte) error {
	var object struct{ W, X, Y, Z, RX, RY, RZ *numbers }
	if err := json.Unmarshal(data, &object); err != nil {
		return fmt.Errorf("is %s, want numbers", excerpt(data))
	}
	for _, coordinate := range []*numbers{
		object.W, object.X, object.Y, object.Z, object.RX, object.RY, object.RZ,
	} {
		if coordinate == nil {
			continue
		}
		if coordinate.err != nil || coordinate.count != 1 {
			return fmt.Errorf("is %s, want one number for each coordinate", excerpt(data))
		}
		n.list[n.count] = coordinate.list[0]
		n.count++
	}
	if n.count == 0 {
		return fmt.Errorf("is %s, want numbers", excerpt(data))
	}
	return nil
}

// add adds the number that text encodes.
func (n *numbers) add(text []byte) error {
	if n.count == maxNumbers {
		return fmt.Errorf("has more than %d numbers", maxNumbers)
	}
	x, err := parseNumber(text)
	if err != nil {
		return err
	}
	n.list[n.count] = x
	n.count++
	return nil
}

// parseNumber parses a finite number, a bool, or a string with a finite number. Integers in strings may have a
// prefix such as 0x.
func parseNumber(text []byte) (float64, error) {
	switch string(text) {
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	}
	unquoted := text
	if len(text) > 2 && text[0] == '"' {
		unquoted = text[1 : len(text)-1]
	}
	if x, err := strconv.ParseInt(string(unquoted), 0, 64); err == nil {
		return float64(x), nil
	}
	x, err := strconv.ParseFloat(string(unquoted), 64)
	if errors.Is(err, strconv.ErrRange) || err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		return 0, fmt.Errorf("has %s, want a finite number", excerpt(text))
	}
	if err != nil {
		return 0, fmt.Errorf("has %s, want a number", excerpt(text))
	}
	return x, nil
}

// codes is a field with error codes: one code, a list of codes, or an object with a list of codes and their count.
type codes struct{ numbers }

// UnmarshalJSON decodes a code, a list of codes, or an object with a list. It drops codes beyond the count of the
// object.
func (c *codes) UnmarshalJSON(data []byte) error {
	if data[0] != '{' {
		return c.numbers.UnmarshalJSON(data)
	}
	var object struct {
		Count numbers `json:"err_len"`
		Code  numbers `json:"err_code"`
		Err   numbers `json:"err"` // err_code as RM_API2 spells it
	}
	if err := json.Unmarshal(data, &object); err != nil {
		c.numbers = numbers{given: true, err: fmt.Errorf("is %s, want codes", excerpt(data))}
		return nil
	}
	c.numbers = object.Code
	if !c.given {
		c.numbers = object.Err
	}
	switch {
	case c.err != nil:
	case object.Count.given:
		c.given = true
		c.truncate(&object.Count)
	case !c.given:
		c.given, c.err = true, fmt.Errorf("is %s, want codes", excerpt(data))
	}
	return nil
}

// truncate shortens the codes to a count, which must be one whole number from 0 to the number of codes.
func (c *codes) truncate(count *numbers) {
	x := count.list[0]
	if count.err != nil || count.count != 1 || x < 0 || x > float64(c.count) || x != math.Trunc(x) {
		c.err = fmt.Errorf("has an err_len that does not match its %d codes", c.count)
		return
	}
	c.count = int(x)
}

// word is a field with a text. Some replies have a value of another type in the field, such as a bool in "state".
type word string

// UnmarshalJSON decodes a text, and keeps the JSON of any other value. null is the empty text.
func (w *word) UnmarshalJSON(data []byte) error {
	text := string(data)
	if text == "null" {
		text = ""
	} else if data[0] == '"' {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	*w = word(text)
	return nil
}

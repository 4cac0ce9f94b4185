package realman

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// maxNumbers is the most numbers of a field: there are up to 24 codes of errors.
const maxNumbers = 24

// numbers is a field of one or more numbers. Errors are kept until the field is used.
type numbers struct {
	given bool
	n     int
	list  [maxNumbers]float64
	err   error
}

// UnmarshalJSON takes a number, a list of numbers, or an object of coordinates: some firmware names the
// coordinates of a pose. Numbers may be strings or bools. null counts as missing.
func (n *numbers) UnmarshalJSON(data []byte) error {
	*n = numbers{given: string(data) != "null"}
	switch {
	case !n.given:
	case data[0] == '[':
		n.err = n.elements(data)
	case data[0] == '{':
		n.err = n.coordinates(data)
	default:
		n.err = n.add(data)
	}
	return nil
}

// elements adds the numbers of a list, which is valid JSON.
func (n *numbers) elements(data []byte) error {
	start := 1
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

// coordinates adds the numbers of an object in the order of lists: w, x, y, z or rx, ry, rz.
func (n *numbers) coordinates(data []byte) error {
	var named struct{ W, X, Y, Z, RX, RY, RZ *numbers }
	if err := json.Unmarshal(data, &named); err != nil {
		return fmt.Errorf("is %s, want numbers", excerpt(data))
	}
	for _, one := range []*numbers{named.W, named.X, named.Y, named.Z, named.RX, named.RY, named.RZ} {
		if one == nil {
			continue
		}
		if one.err != nil || one.n != 1 {
			return fmt.Errorf("is %s, want one number for each coordinate", excerpt(data))
		}
		n.list[n.n] = one.list[0]
		n.n++
	}
	if n.n == 0 {
		return fmt.Errorf("is %s, want numbers", excerpt(data))
	}
	return nil
}

// add adds a number.
func (n *numbers) add(text []byte) error {
	if n.n == maxNumbers {
		return fmt.Errorf("has more than %d numbers", maxNumbers)
	}
	x, err := number(text)
	if err != nil {
		return err
	}
	n.list[n.n] = x
	n.n++
	return nil
}

// number parses a finite number.
func number(text []byte) (float64, error) {
	switch string(text) {
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	}
	plain := text
	if len(text) > 2 && text[0] == '"' {
		plain = text[1 : len(text)-1]
	}
	if x, err := strconv.ParseInt(string(plain), 0, 64); err == nil {
		return float64(x), nil
	}
	x, err := strconv.ParseFloat(string(plain), 64)
	if errors.Is(err, strconv.ErrRange) || err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		return 0, fmt.Errorf("has %s, want a finite number", excerpt(text))
	}
	if err != nil {
		return 0, fmt.Errorf("has %s, want a number", excerpt(text))
	}
	return x, nil
}

// codes are error codes in any of their forms: one, a list, or an object with their count.
type codes struct{ numbers }

// UnmarshalJSON takes any form.
func (c *codes) UnmarshalJSON(data []byte) error {
	if data[0] != '{' {
		return c.numbers.UnmarshalJSON(data)
	}
	var object struct {
		Len  numbers `json:"err_len"`
		Code numbers `json:"err_code"`
		Err  numbers `json:"err"`
	}
	if err := json.Unmarshal(data, &object); err != nil {
		c.numbers = numbers{given: true, err: fmt.Errorf("is %s, want codes", excerpt(data))}
		return nil
	}
	c.numbers = object.Code
	if !c.given {
		c.numbers = object.Err
	}
	switch n := object.Len; {
	case c.err != nil:
	case !n.given && !c.given:
		c.given, c.err = true, fmt.Errorf("is %s, want codes", excerpt(data))
	case !n.given:
	case n.err != nil || n.n != 1 || n.list[0] < 0 || n.list[0] > float64(c.n) || n.list[0] != math.Trunc(n.list[0]):
		c.given, c.err = true, fmt.Errorf("has an err_len that does not match its %d codes", c.n)
	default:
		c.given, c.n = true, int(n.list[0])
	}
	return nil
}

// word is a text whose field may have another type: "state" is a bool in some replies.
type word string

// UnmarshalJSON takes any value; other values than texts are kept as JSON.
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

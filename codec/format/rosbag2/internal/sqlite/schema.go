package sqlite

import (
	"regexp"
	"slices"
	"strings"
)

// Object is a table or an index, as the table sqlite_schema lists it.
type Object struct {
	Type, Name, Table string
	Root              uint32 // number of the root page
	SQL               string // statement that creates the table or index
}

// Objects returns the tables and indexes of the database.
func (d *Database) Objects() ([]Object, error) {
	if d.size == 0 {
		return nil, nil // an empty file has no tables
	}
	if d.head == nil {
		return nil, errHead
	}
	var objects []Object
	list := &Object{Root: 1, SQL: "CREATE TABLE sqlite_schema(type,name,tbl_name,rootpage,sql)"}
	err := d.Select(list, []string{"type", "name", "tbl_name", "rootpage", "sql"}, func(v []Value) {
		objects = append(objects, Object{v[0].Text, v[1].Text, v[2].Text, uint32(v[3].Int), v[4].Text})
	})
	return objects, err
}

// Value is a value of a row.
type Value struct {
	Kind Kind
	Int  int64 // of an Integer
	Text string
}

// Select calls found with the named columns of all rows of a table, in the order of their ids. Missing columns are
// Null.
func (d *Database) Select(table *Object, names []string, found func([]Value)) error {
	columns := table.Columns()
	values := make([]Value, len(names))
	rest := d.size // bytes that further records may have: all records together are not larger than the file
	var record []byte
	var failed error
	err := d.Table(int64(table.Root), func(r *Row) {
		if failed != nil {
			return
		}
		rest -= r.Place.Size
		if rest < 0 {
			failed = errTree
			return
		}
		record, failed = d.Record(r.Place, record[:0])
		if failed != nil {
			return
		}
		if !r.Parse(record) {
			failed = errTree
			return
		}
		clear(values)
		for i, name := range names {
			at := slices.Index(columns, name)
			if at < 0 || at >= len(r.Columns) {
				continue
			}
			c := &r.Columns[at]
			values[i] = Value{c.Kind, c.Int, d.Text(c, record)}
			if name == "id" && c.Kind == Null { // the row's id is not stored twice
				values[i] = Value{Kind: Integer, Int: r.ID}
			}
		}
		found(values)
	})
	if failed != nil {
		return failed
	}
	return err
}

// token matches comments, quoted names and texts, words, and any other sign.
var token = regexp.MustCompile(`(?s)--[^\n]*|/\*.*?\*/|"(?:[^"]|"")*"|'(?:[^']|'')*'|` + "`(?:[^`]|``)*`" +
	`|\[[^\]]*\]|[\pL\pN_$]+|\S`)

// Columns returns the names of a table's columns in lower case.
func (o *Object) Columns() (names []string) {
	depth, begins := 0, false // begins: the next token is the name of a column
	for _, text := range token.FindAllString(o.SQL, -1) {
		switch {
		case strings.HasPrefix(text, "--") || strings.HasPrefix(text, "/*"):
		case text == "(":
			depth++
			begins = depth == 1 && names == nil
		case text == ")":
			depth--
		case depth == 1 && text == ",":
			begins = true
		case depth == 1 && begins:
			text = strings.ToLower(text)
			if slices.Contains([]string{"constraint", "primary", "unique", "check", "foreign"}, text) {
				return names // constraints follow the columns
			}
			names = append(names, unquote(text))
			begins = false
		}
	}
	return names
}

// unquote returns the name in a token.
func unquote(token string) string {
	if len(token) < 2 {
		return token
	}
	switch quote, name := token[:1], token[1:len(token)-1]; quote {
	case `"`, "'", "`":
		return strings.ReplaceAll(name, quote+quote, quote)
	case "[":
		return name
	}
	return token
}

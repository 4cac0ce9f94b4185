package config

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parameter describes one option of an executable: a field of its options struct.
type Parameter struct {
	Name        string  // as ROS parameter: "max_duration"; "camera.width" in a nested struct
	Flag        string  // without dashes: "max-duration"; "" if there is none
	Short       string  // "d", or ""
	Aliases     []Alias // further names of the flag
	Group       string  // heading in the help text
	Help        string  // sentences; see Described
	Summary     string  // the first one
	Type        string  // as ROS 2 calls it: boolean, integer, double, string, string array
	Placeholder string  // of the value in the help text: "DURATION"; "" for a boolean
	Default     string  // as written after the flag; a list with commas
	Several     string  // which words that follow a value of the flag are values, too, see Parameters; "": none
	Unit        string  // of a plain number behind the flag, "ms" for instance; "": as in a parameter file
	Letter      string  // what tells Short from the same letter of other programs; "" if none uses it otherwise
	Bare        string  // value of the flag without a value; "" if it must have one
	Options     []string
	Min, Max    string
	Zero        bool           // 0 is allowed, though it is less than Min
	Pattern     *regexp.Regexp // that a text must match; nil: any text
}

// Alias is a further name of a flag, as other programs call it.
type Alias struct {
	Name string
	// Unit of a plain number after this name, "MiB" for instance; "": the unit that parameter files have. Text up to
	// a % is put in front of the number: "@%ns".
	Unit string
}

// Parameters returns the options in opts, a pointer to a struct, in the order of its fields. The fields' contents are
// the defaults. Help texts are in files: see Described. Tags of a field:
//
//	param:"max_duration"   name of the parameter; fields without are no options
//	flag:"duration"        name of the flag, if it is not the parameter's with dashes; "-" for no flag
//	short:"d"              one-letter flag
//	alias:"a,b:MiB"        further names of the flag, which the help text does not show; a plain number after --b is
//	                       in that unit
//	group:"Output"         heading in the help text; the first field of a group decides where it stands
//	value:"FILE"           what the help text calls the value
//	options:"record|mcap"  the values allowed
//	min:"0" max:"1GiB"     bounds, both included
//	zero:"true"            0 is allowed beside them
//	pattern:"[0-9]+:[0-9]" regular expression that a whole text must match
//	bare:"40"              what the flag means without a value; texts need a pattern for that, because else the next
//	                       argument would be the value
//	several:"names"        what follows a value of the flag is a value, too: names of topics, types or services up to
//	                       the next flag or anything else (names), rules from:=to (rules), or all words up to the next
//	                       flag (words); a storage of rosbag2 that follows (storage) is left out
//	unit:"ms"              unit of a plain number behind the flag; a parameter is in seconds all the same
//	letter:"as in ros2 bag; --max-duration stops"  printed when the one-letter flag is used, because other programs
//	                       give it another meaning
//
// A field may be a bool, string, int, int64, uint64, float64, []string, time.Duration, Size, or a struct: an
// embedded one is as if its fields were in its place, one with a param tag puts its name and a dot before theirs.
// Anything else panics, as does a malformed tag.
//
// A field of opts itself may also be a map[string]*T, for several things of a kind, if opts embeds T, which is
// exported. With the tag param:"cameras" the parameters are called cameras.NAME.width. There is an entry for each NAME
// that is given any. It begins as a copy of the embedded struct, whose flags therefore hold for all entries. Options
// without a flag, which say what an entry is, are not copied.
func Parameters(opts any) []Parameter {
	var list []Parameter
	for _, f := range fields(opts) {
		list = append(list, f.Parameter)
	}
	return list
}

// field is an option and the variable that holds it.
type field struct {
	Parameter
	value    reflect.Value
	want     string                               // a value in words, for errors
	read     func(text string) (v any, err error) // parses a text; nil: it is the value
	min, max float64                              // Min and Max, if there are any
}

func fields(opts any) []field {
	if opts == nil {
		return nil
	}
	list := structFields(structOf(opts), "", texts{})
	names := make(map[string]bool, len(list))
	for i := range list {
		name := list[i].Name
		if names[name] {
			panic("config: two options are called " + name)
		}
		names[name] = true
	}
	return list
}

// structOf returns the struct of options.
func structOf(opts any) reflect.Value {
	v := reflect.ValueOf(opts)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("config: options of type %T, want a pointer to a struct", opts))
	}
	return v.Elem()
}

// structFields returns the options of a struct that is in another one, whose texts are given.
func structFields(v reflect.Value, prefix string, around texts) []field {
	var list []field
	own := around.inside(v.Type())
	for i := range v.NumField() {
		t := v.Type().Field(i)
		name, tagged := t.Tag.Lookup("param")
		switch {
		case !tagged && t.Anonymous && t.Type.Kind() == reflect.Struct:
			list = append(list, structFields(v.Field(i), prefix, own)...)
		case !tagged:
			continue
		case t.Type.Kind() == reflect.Struct:
			list = append(list, structFields(v.Field(i), prefix+name+".", own)...)
		default:
			if m, ok := newEntryMap(v, i); ok {
				list = append(list, m.fields()...)
				continue
			}
			list = append(list, newField(v.Field(i), prefix+name, t.Tag, own.section[name]))
		}
	}
	return list
}

func newField(v reflect.Value, name string, tag reflect.StructTag, lines []string) field {
	sentences, more := textOf(lines)
	get := func(key string) string { return cmp.Or(tag.Get(key), more[key]) }
	f := field{value: v, Parameter: Parameter{
		Name:  name,
		Flag:  strings.ReplaceAll(strings.ReplaceAll(name, "_", "-"), ".", "-"),
		Short: get("short"),
		Group: get("group"),
		Bare:  get("bare"),
		Min:   get("min"),
		Max:   get("max"),
		Zero:  get("zero") == "true",

		Several: get("several"),
		Unit:    get("unit"),
		Letter:  get("letter"),
	}}
	f.setTexts(sentences)
	if name == "" || name != strings.ToLower(name) || strings.ContainsAny(name, "/: ") {
		panic(fmt.Sprintf("config: invalid parameter name %q", name))
	}
	if flag := get("flag"); flag == "-" {
		f.Flag = ""
	} else if flag != "" {
		f.Flag = flag
	}
	if alias := get("alias"); alias != "" {
		for text := range strings.SplitSeq(alias, ",") {
			name, unit, _ := strings.Cut(text, ":")
			f.Aliases = append(f.Aliases, Alias{Name: name, Unit: unit})
		}
	}
	if options := get("options"); options != "" {
		f.Options = strings.Split(options, "|")
	}
	if pattern := get("pattern"); pattern != "" {
		f.Pattern = regexp.MustCompile("^(?:" + pattern + ")$")
	}
	f.setType()
	if value := get("value"); value != "" {
		f.Placeholder = value
	} else if f.Options != nil {
		f.Placeholder = strings.Join(f.Options, "|")
	}
	tagged := func(text string, otherwise float64) float64 {
		if text == "" {
			return otherwise
		}
		v, err := f.parseText(text)
		if err != nil {
			panic(fmt.Sprintf("config: option %s: tag %v", name, err))
		}
		if v.Kind() == reflect.String {
			return otherwise
		}
		return number(v)
	}
	f.min, f.max = tagged(f.Min, math.Inf(-1)), tagged(f.Max, math.Inf(1))
	tagged(f.Bare, 0)
	f.Default = f.text()
	return f
}

func (p *Parameter) setTexts(sentences []string) {
	p.Help = strings.Join(sentences, " ")
	if len(sentences) > 0 {
		p.Summary = sentences[0]
	}
}

// setType derives from the variable's type the type in ROS 2, the placeholder in the help text and how to parse it.
func (f *field) setType() {
	set := func(rosType, placeholder, want string, read func(string) (any, error)) {
		f.Type, f.Placeholder, f.want, f.read = rosType, placeholder, want, read
	}
	switch f.value.Interface().(type) {
	case bool:
		set("boolean", "", "true or false", as(readBool))
	case string:
		set("string", "TEXT", "", nil)
	case []string:
		set("string array", "TEXT", "", nil)
	case int, int64:
		set("integer", "N", "a whole number", as(parseInteger))
	case uint64:
		set("integer", "N", "a whole number, not negative", as(parsePositive))
	case float64:
		set("double", "X", "a number", as(parseFloat))
	case time.Duration:
		set("double", "DURATION", "a duration such as 1m30s, or a number of seconds", as(parseDuration))
	case Size:
		set("integer", "SIZE", "a size such as 256MiB or 1GB, or a number of bytes", as(ParseSize))
	default:
		panic(fmt.Sprintf("config: option %s has the unsupported type %v", f.Name, f.value.Type()))
	}
}

// as returns a parser with its type taken away.
func as[T any](parse func(string) (T, error)) func(string) (any, error) {
	return func(text string) (any, error) { return parse(text) }
}

// text returns the current value as written after the flag.
func (f *field) text() string {
	switch v := f.value.Interface().(type) {
	case []string:
		return strings.Join(v, ",")
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Duration:
		return formatDuration(v)
	default:
		return fmt.Sprint(v)
	}
}

// formatDuration writes 1h0m0s as 1h.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// ros returns the current value as a ROS parameter: bool, int64, float64, string or []string.
// Durations are seconds.
func (f *field) ros() any {
	switch v := f.value.Interface().(type) {
	case int, Size:
		return f.value.Int()
	case uint64:
		return int64(v)
	case time.Duration:
		return v.Seconds()
	case []string:
		return append([]string{}, v...)
	default:
		return v
	}
}

// apply checks all settings, by name, and then sets the options.
func apply(list []field, given map[string]setting) error {
	values := make([]reflect.Value, len(list))
	for i, f := range list {
		if s, ok := given[f.Name]; ok {
			var err error
			values[i], err = f.parse(s)
			if err != nil {
				return err
			}
		}
	}
	for i, v := range values {
		if v.IsValid() {
			list[i].value.Set(v)
		}
	}
	return nil
}

// parse turns a setting into a value for the field. Its errors name parameter, source and value.
func (f *field) parse(s setting) (v reflect.Value, err error) {
	if s.list && f.value.Kind() != reflect.Slice {
		return v, Usagef("parameter %s from %s is a list, want one value", f.Name, s.source)
	}
	for _, text := range s.texts {
		v, err = f.parseText(text)
		if err == nil && f.Options != nil && !slices.Contains(f.Options, text) {
			err = fmt.Errorf("%q is not allowed, want %s", text, strings.Join(f.Options, " or "))
		}
		if err == nil && f.Bounds() != "" && (number(v) < f.min || number(v) > f.max) && !(f.Zero && number(v) == 0) {
			err = fmt.Errorf("%v is not allowed, want %s", v.Interface(), f.Bounds())
		}
		if err != nil {
			return v, Usagef("parameter %s from %s: %w", f.Name, s.source, err)
		}
	}
	if f.value.Kind() == reflect.Slice {
		v = reflect.ValueOf(append([]string{}, s.texts...))
	}
	return v, nil
}

// parseText turns one text into a value, without looking at bounds and options.
func (f *field) parseText(text string) (reflect.Value, error) {
	switch {
	case f.Pattern != nil && !f.Pattern.MatchString(text):
		return reflect.Value{}, fmt.Errorf("%q is not allowed, want %s", text, f.Placeholder)
	case f.read == nil:
		return reflect.ValueOf(text), nil
	}
	v, err := f.read(text)
	if err != nil {
		return reflect.Value{}, fmt.Errorf("%q is not allowed, want %s", text, f.want)
	}
	return reflect.ValueOf(v).Convert(f.value.Type()), nil
}

func readBool(text string) (bool, error) {
	if b, ok := parseBool(text); ok {
		return b, nil
	}
	return strconv.ParseBool(text)
}

func parsePositive(text string) (int64, error) {
	n, err := parseInteger(text)
	if n < 0 {
		err = strconv.ErrRange
	}
	return n, err
}

// parseInteger reads a decimal number, or one with a prefix such as 0x. A leading 0 does not make it octal.
func parseInteger(text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	return strconv.ParseInt(text, 0, 64)
}

func parseFloat(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err == nil && (math.IsInf(x, 0) || math.IsNaN(x)) {
		err = strconv.ErrRange
	}
	return x, err
}

func parseDuration(text string) (time.Duration, error) {
	seconds, err := parseFloat(text)
	if err != nil {
		return time.ParseDuration(text)
	}
	ns := math.Round(seconds * 1e9)
	if math.Abs(ns) >= math.MaxInt64 {
		return 0, strconv.ErrRange
	}
	return time.Duration(ns), nil
}

// Bounds returns in words what Min and Max allow, "" if there are none.
func (p *Parameter) Bounds() string {
	switch {
	case p.Min == "" && p.Max == "":
		return ""
	case p.Zero && p.Max == "":
		return "0, or at least " + p.Min
	case p.Max == "":
		return "at least " + p.Min
	case p.Min == "":
		return "at most " + p.Max
	}
	return p.Min + " to " + p.Max
}

// number returns a numeric value as a float64, which is exact enough for bounds.
func number(v reflect.Value) float64 {
	return v.Convert(reflect.TypeFor[float64]()).Float()
}

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
	Name        string  // name of the ROS parameter: "max_duration"; "camera.width" in a nested struct
	Flag        string  // without dashes: "max-duration"; "" if there is none
	Short       string  // "d", or ""
	Aliases     []Alias // further names of the flag
	Group       string  // heading in the help text
	Help        string  // sentences; see Described
	Summary     string  // first sentence of Help
	Type        string  // name of the type in ROS 2: boolean, integer, double, string, string array
	Placeholder string  // word for the value in the help text: "DURATION"; "" for a boolean
	Default     string  // as written after the flag; a list with commas
	Several     string  // which words after a value of the flag are also values, see Parameters; "": none
	Unit        string  // unit of a plain number after the flag, such as "ms"; "": as in a parameter file
	Letter      string  // difference of Short from its meaning in other programs; "": no difference
	Bare        string  // value if the flag has no value; "": the flag must have a value
	Options     []string
	Min, Max    string
	Zero        bool           // 0 is also allowed if it is less than Min
	Pattern     *regexp.Regexp // a text must match it; nil: any text
}

// Alias is a further name of a flag. Other programs use this name.
type Alias struct {
	Name string
	// Unit of a plain number after this name, "MiB" for instance; "": the unit that parameter files have. Text up to
	// a % is put in front of the number: "@%ns".
	Unit string
}

// Parameters returns the options in opts, a pointer to a struct, in the order of its fields. The fields' contents are
// the defaults. Help texts are in files: see Described. Tags of a field:
//
//	param:"max_duration"   name of the parameter; fields without this tag are not options
//	flag:"duration"        name of the flag, if it is not the parameter's with dashes; "-" for no flag
//	short:"d"              one-letter flag
//	alias:"a,b:MiB"        further names of the flag, which the help text does not show; a plain number after --b is
//	                       in that unit
//	group:"Output"         heading in the help text; the first field of a group decides the position of the heading
//	value:"FILE"           word for the value in the help text
//	options:"record|mcap"  allowed values
//	min:"0" max:"1GiB"     bounds, both included
//	zero:"true"            0 is allowed beside the bounds
//	pattern:"[0-9]+:[0-9]" regular expression that a whole text must match
//	bare:"40"              value of the flag if none follows; a text needs a pattern for that, because otherwise any
//	                       next argument would be the value
//	several:"names"        words after a value of the flag are also values: names of topics, types or services up to
//	                       the next flag or other word (names), rules from:=to (rules), or all words up to the next
//	                       flag (words); a following storage of rosbag2 (storage) is ignored
//	unit:"ms"              unit of a plain number after the flag; a parameter is nevertheless in seconds
//	letter:"as in ros2 bag; --max-duration stops"  printed when the one-letter flag is used, because other programs
//	                       give it another meaning
//
// A field may be a bool, string, int, int64, uint64, float64, []string, time.Duration, Size, or a struct. The fields of
// an embedded struct are options like the other fields. The fields of a struct with a param tag have its name and a dot
// before their names. Fields of other types and malformed tags panic.
//
// A field of opts itself may also be a map[string]*T, for several things of a kind, if opts embeds the exported type T.
// With the tag param:"cameras" the parameters are called cameras.NAME.width. There is an entry for each NAME of a given
// parameter. An entry begins as a copy of the embedded struct, so that its flags apply to all entries. Options without
// a flag, which identify an entry, are not copied.
func Parameters(opts any) []Parameter {
	var list []Parameter
	for _, f := range fields(opts) {
		list = append(list, f.Parameter)
	}
	return list
}

// field is an option and its variable.
type field struct {
	Parameter
	value    reflect.Value
	want     string                               // allowed values in words, for errors
	read     func(text string) (v any, err error) // parses a text; nil: the text is the value
	min, max float64                              // Min and Max; infinite if there are none
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

// structFields returns the options of a struct inside another one. around has the other struct's texts.
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

// setType sets the type in ROS 2, the placeholder in the help text and the parser from the variable's type.
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

// as converts a parser to one that returns any.
func as[T any](parse func(string) (T, error)) func(string) (any, error) {
	return func(text string) (any, error) { return parse(text) }
}

// text returns the current value in the form for the flag.
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

// ros returns the current value as a ROS parameter: bool, int64, float64, string or []string. Durations are in seconds.
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

// apply checks all settings, which are by name, and then sets the options.
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

// parse parses a setting. Its errors name the parameter, the source and the value.
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

// parseText parses a text. It does not check bounds and options.
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

// parseInteger parses a decimal number, or a number with a prefix such as 0x. A leading 0 does not make it octal.
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

// Bounds returns the allowed range in words, "" if there is none.
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

package config

import (
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
	Name        string   // as ROS parameter: "max_duration"; "camera.width" in a nested struct
	Flag        string   // without dashes: "max-duration"; "" if there is none
	Short       string   // "d", or ""
	Aliases     []string // further names of the flag
	Group       string   // heading in the help text
	Help        string
	Type        string // as ROS 2 calls it: boolean, integer, double, string, string array
	Placeholder string // of the value in the help text: "DURATION"; "" for a boolean
	Default     string // as one would write it behind the flag; a list with commas
	Bare        string // what the flag means without a value; "" if it must have one
	Options     []string
	Min, Max    string
	Pattern     *regexp.Regexp // what a text must be; nil: anything
}

// Parameters returns the options in opts, a pointer to a struct, in the order of its fields. The fields' contents are
// the defaults. Tags of a field:
//
//	param:"max_duration"   name of the parameter; fields without are no options
//	flag:"duration"        name of the flag, if it is not the parameter's with dashes; "-" for no flag
//	short:"d"              one-letter flag
//	alias:"a,b"            further names of the flag, which the help text does not show
//	group:"Output"         heading in the help text; the first field of a group decides where it stands
//	help:"stop after"      one sentence without a capital letter or full stop
//	value:"FILE"           what the help text calls the value
//	options:"record|mcap"  the values allowed
//	min:"0" max:"1GiB"     bounds, both included
//	pattern:"[0-9]+:[0-9]" regular expression that a whole text must match
//	bare:"40"              what the flag means without a value; of texts, only for those with a pattern: for others the next
//	                       argument would be one
//
// A field may be a bool, string, int, int64, uint64, float64, []string, time.Duration, Size, or a struct: an
// embedded one is as if its fields were in its place, one with a param tag puts its name and a dot before theirs.
// Anything else panics, as does a malformed tag.
//
// A field of opts itself may be a map[string]*T, too, if the struct embeds T, which is exported: for several things of a kind. With the tag param:"cameras" the parameters
// are called cameras.NAME.width, and there is an entry for each name that is given any. It begins as a copy of the embedded struct, whose
// flags so hold for all of them.
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
	value reflect.Value
}

func fields(opts any) []field {
	if opts == nil {
		return nil
	}
	list := structFields(structOf(opts), "")
	names := map[string]bool{}
	for _, f := range list {
		if names[f.Name] {
			panic("config: two options are called " + f.Name)
		}
		names[f.Name] = true
	}
	return list
}

// structOf returns the struct of options.
func structOf(opts any) reflect.Value {
	v := reflect.ValueOf(opts)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("config: options are a %T, want a pointer to a struct", opts))
	}
	return v.Elem()
}

func structFields(v reflect.Value, prefix string) []field {
	var list []field
	for i := range v.NumField() {
		t := v.Type().Field(i)
		name, tagged := t.Tag.Lookup("param")
		switch {
		case !tagged && t.Anonymous && t.Type.Kind() == reflect.Struct:
			list = append(list, structFields(v.Field(i), prefix)...)
		case !tagged:
		case t.Type.Kind() == reflect.Struct:
			list = append(list, structFields(v.Field(i), prefix+name+".")...)
		case isNamed(t.Type):
			n := newNamed(v, i)
			list = append(list, n.fields()...)
		default:
			list = append(list, newField(v.Field(i), prefix+name, t.Tag))
		}
	}
	return list
}

func newField(v reflect.Value, name string, tag reflect.StructTag) field {
	f := field{value: v, Parameter: Parameter{
		Name:  name,
		Flag:  strings.NewReplacer("_", "-", ".", "-").Replace(name),
		Short: tag.Get("short"),
		Group: tag.Get("group"),
		Help:  tag.Get("help"),
		Bare:  tag.Get("bare"),
		Min:   tag.Get("min"),
		Max:   tag.Get("max"),
	}}
	if name == "" || name != strings.ToLower(name) || strings.ContainsAny(name, "/: ") {
		panic(fmt.Sprintf("config: %q is no name for a parameter", name))
	}
	if flag := tag.Get("flag"); flag == "-" {
		f.Flag = ""
	} else if flag != "" {
		f.Flag = flag
	}
	if alias := tag.Get("alias"); alias != "" {
		f.Aliases = strings.Split(alias, ",")
	}
	if options := tag.Get("options"); options != "" {
		f.Options = strings.Split(options, "|")
	}
	if pattern := tag.Get("pattern"); pattern != "" {
		f.Pattern = regexp.MustCompile("^(?:" + pattern + ")$")
	}
	switch v.Interface().(type) {
	case bool:
		f.Type = "boolean"
	case string:
		f.Type, f.Placeholder = "string", "TEXT"
	case []string:
		f.Type, f.Placeholder = "string array", "TEXT"
	case int, int64, uint64:
		f.Type, f.Placeholder = "integer", "N"
	case float64:
		f.Type, f.Placeholder = "double", "X"
	case time.Duration:
		f.Type, f.Placeholder = "double", "DURATION"
	case Size:
		f.Type, f.Placeholder = "integer", "SIZE"
	default:
		panic(fmt.Sprintf("config: option %s has the type %v, which no parameter has", name, v.Type()))
	}
	if value := tag.Get("value"); value != "" {
		f.Placeholder = value
	} else if f.Options != nil {
		f.Placeholder = strings.Join(f.Options, "|")
	}
	for _, text := range []string{f.Min, f.Max, f.Bare} {
		if text != "" {
			if _, err := f.parseText(text); err != nil {
				panic(fmt.Sprintf("config: option %s: tag %v", name, err))
			}
		}
	}
	f.Default = f.text()
	return f
}

// text returns the present value as one would write it behind the flag.
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

// ros returns the present value as the ROS parameter that stands for it: bool, int64, float64, string or []string.
// Durations are seconds.
func (f *field) ros() any {
	switch v := f.value.Interface().(type) {
	case int:
		return int64(v)
	case uint64:
		return int64(v)
	case Size:
		return int64(v)
	case time.Duration:
		return v.Seconds()
	case []string:
		return append([]string{}, v...)
	default:
		return v
	}
}

// parse turns a setting into a value for the field. Its errors name parameter, source and value.
func (f *field) parse(s setting) (v reflect.Value, err error) {
	if f.value.Kind() == reflect.Slice {
		for _, text := range s.texts {
			if err := f.allowed(text); err != nil {
				return v, Usagef("parameter %s from %s: %w", f.Name, s.source, err)
			}
		}
		return reflect.ValueOf(append([]string{}, s.texts...)), nil
	}
	if s.list {
		return v, Usagef("parameter %s from %s is a list, want one value", f.Name, s.source)
	}
	v, err = f.parseText(s.texts[0])
	if err == nil {
		err = f.allowed(s.texts[0])
	}
	if err == nil {
		err = f.inBounds(v)
	}
	if err != nil {
		return v, Usagef("parameter %s from %s: %w", f.Name, s.source, err)
	}
	return v, nil
}

// parseText turns one text into a value for the field, without looking at bounds and options.
func (f *field) parseText(text string) (reflect.Value, error) {
	var v any = text
	var err error
	want := ""
	switch f.value.Interface().(type) {
	case string:
		if f.Pattern != nil && !f.Pattern.MatchString(text) {
			err, want = strconv.ErrSyntax, f.Placeholder
		}
	case bool:
		b, ok := parseBool(text)
		if !ok {
			b, err = strconv.ParseBool(text)
		}
		v, want = b, "true or false"
	case int, int64:
		v, err = parseInteger(text, strconv.ParseInt)
		want = "a whole number"
	case uint64:
		var n uint64
		if n, err = parseInteger(text, strconv.ParseUint); err == nil && n > math.MaxInt64 {
			err = strconv.ErrRange
		}
		v, want = n, "a whole number, not negative"
	case float64:
		v, err = parseFloat(text)
		want = "a number"
	case time.Duration:
		v, err = parseDuration(text)
		want = "a duration such as 1m30s, or a number of seconds"
	case Size:
		v, err = ParseSize(text)
		want = "a size such as 256MiB or 1GB, or a number of bytes"
	}
	if err != nil {
		return reflect.Value{}, fmt.Errorf("%q is not allowed, want %s", text, want)
	}
	return reflect.ValueOf(v).Convert(f.value.Type()), nil
}

// parseInteger reads a decimal number, or one with a prefix such as 0x. A leading 0 does not make it octal.
func parseInteger[T int64 | uint64](text string, parse func(string, int, int) (T, error)) (T, error) {
	if n, err := parse(text, 10, 64); err == nil {
		return n, nil
	}
	return parse(text, 0, 64)
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

// allowed checks a text against the options.
func (f *field) allowed(text string) error {
	if f.Options == nil || slices.Contains(f.Options, text) {
		return nil
	}
	return fmt.Errorf("%q is not allowed, want %s", text, strings.Join(f.Options, " or "))
}

// inBounds checks a value against min and max.
func (f *field) inBounds(v reflect.Value) error {
	outside := func(bound string, sign float64) bool {
		if bound == "" {
			return false
		}
		b, err := f.parseText(bound)
		return err != nil || (number(v)-number(b))*sign > 0
	}
	if !outside(f.Min, -1) && !outside(f.Max, 1) {
		return nil
	}
	return fmt.Errorf("%v is not allowed, want %s", v.Interface(), f.bounds())
}

// bounds says in words what min and max allow.
func (f *field) bounds() string {
	switch {
	case f.Max == "":
		return "at least " + f.Min
	case f.Min == "":
		return "at most " + f.Max
	}
	return f.Min + " to " + f.Max
}

// number returns a numeric value as a float64, which is exact enough for bounds.
func number(v reflect.Value) float64 {
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	}
	return v.Float()
}

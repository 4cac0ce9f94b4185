package config

import (
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

// named is a field of options that has a struct of options for each of several things with names of their own.
type named struct {
	field Parameter     // as the help text has it
	value reflect.Value // the map, by name
	base  reflect.Value // what an entry begins as
}

// newNamed returns the option at field i of a struct, which is a map of pointers to structs.
func newNamed(v reflect.Value, i int) named {
	t := v.Type().Field(i)
	n := named{value: v.Field(i), field: Parameter{Name: t.Tag.Get("param"), Group: t.Tag.Get("group"), Help: t.Tag.Get("help"), Type: "any"}}
	for j := range v.NumField() {
		if f := v.Type().Field(j); f.Anonymous && reflect.PointerTo(f.Type) == t.Type.Elem() {
			n.base = v.Field(j)
			return n
		}
	}
	panic("config: option " + n.field.Name + " needs an embedded struct that its entries begin as")
}

// namedFields returns those options of a struct of which there are several by name.
func namedFields(opts any) []named {
	if opts == nil {
		return nil
	}
	var list []named
	v := structOf(opts)
	for i := range v.NumField() {
		if _, tagged := v.Type().Field(i).Tag.Lookup("param"); tagged && isNamed(v.Type().Field(i).Type) {
			list = append(list, newNamed(v, i))
		}
	}
	return list
}

// isNamed says whether a type is a map of pointers to structs by name.
func isNamed(t reflect.Type) bool {
	return t.Kind() == reflect.Map && t.Key().Kind() == reflect.String && t.Elem().Kind() == reflect.Pointer && t.Elem().Elem().Kind() == reflect.Struct
}

// documented returns options as the help text and the tables list them.
func documented(fields []field, list []named) []field {
	fields = slices.Clone(fields)
	for _, n := range list {
		f := field{Parameter: n.field}
		f.Name += ".NAME.OPTION"
		fields = append(fields, f)
	}
	return fields
}

// fields returns the options of all entries, by name.
func (n *named) fields() []field {
	var list []field
	for _, key := range slices.Sorted(maps.Keys(n.entries())) {
		list = append(list, n.entry(key)...)
	}
	return list
}

func (n *named) entries() map[string]reflect.Value {
	entries := map[string]reflect.Value{}
	for _, key := range n.value.MapKeys() {
		entries[key.String()] = n.value.MapIndex(key)
	}
	return entries
}

// entry returns the options of an entry, which there is. They have no flags: those of the struct that it begins as hold for all entries.
func (n *named) entry(key string) []field {
	v := n.value.MapIndex(reflect.ValueOf(key).Convert(n.value.Type().Key()))
	list := structFields(v.Elem(), "")
	for i := range list {
		f := &list[i]
		f.Name = n.field.Name + "." + key + "." + f.Name
		f.Flag, f.Short, f.Aliases = "", "", nil
	}
	return list
}

// key returns the name of the entry that a parameter belongs to, if it is one of an entry's options.
func (n *named) key(parameter string) (key string, ok bool) {
	rest, ok := strings.CutPrefix(parameter, n.field.Name+".")
	if !ok {
		return "", false
	}
	key, option, ok := strings.Cut(rest, ".")
	if !ok || key == "" {
		return "", false
	}
	return key, slices.ContainsFunc(structFields(n.base, ""), func(f field) bool { return f.Name == option })
}

// add makes an entry, unless there is one of that name.
func (n *named) add(key string) {
	if n.value.IsNil() {
		n.value.Set(reflect.MakeMap(n.value.Type()))
	}
	k := reflect.ValueOf(key).Convert(n.value.Type().Key())
	if n.value.MapIndex(k).IsValid() {
		return
	}
	v := reflect.New(n.base.Type())
	v.Elem().Set(n.base)
	n.value.SetMapIndex(k, v)
}

// assignNamed gives entries their values, in the order in which these were given, after all other options have theirs.
func (in *Input) assignNamed() error {
	for _, s := range in.entries {
		for i := range in.named {
			if key, ok := in.named[i].key(s.name); ok {
				in.named[i].add(key)
			}
		}
	}
	for i := range in.named {
		in.fields = append(in.fields, in.named[i].fields()...)
	}
	for _, s := range in.entries {
		i := slices.IndexFunc(in.fields, func(f field) bool { return f.Name == s.name })
		v, err := in.fields[i].parse(s)
		if err != nil {
			return err
		}
		in.fields[i].value.Set(v)
		in.sources[s.name] = s.source
	}
	return nil
}

// ReadFile sets options, given by a pointer to their struct, from what a ROS 2 parameter file says for a node of that full name,
// "/robot/camera_publisher". What it says beside them is left alone.
func ReadFile(file, node string, opts any) error {
	in := &Input{Namespace: path.Dir(node), Node: path.Base(node), Extra: map[string]any{}, sources: map[string]string{}}
	in.fields, in.named = fields(opts), namedFields(opts)
	settings, err := in.readFile(file)
	if err != nil {
		return err
	}
	v := viper.NewWithOptions(viper.KeyDelimiter("/"))
	for _, s := range in.known(settings) {
		v.Set(s.name, s)
	}
	return in.assign(v, node)
}

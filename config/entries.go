package config

import (
	"reflect"
	"slices"
	"strings"
)

// entryMap is an option of type map[string]*T: options of several things by name, such as cameras.
type entryMap struct {
	Parameter
	value reflect.Value // the map
	base  reflect.Value // the embedded T that new entries copy
}

// entryMaps returns the maps of options among the fields of opts.
func entryMaps(opts any) []entryMap {
	if opts == nil {
		return nil
	}
	var list []entryMap
	v := structOf(opts)
	section := texts{}.inside(v.Type()).section
	for i := range v.NumField() {
		if m, ok := newEntryMap(v, i); ok {
			sentences, _ := textOf(section[m.Name])
			m.setTexts(sentences)
			list = append(list, m)
		}
	}
	return list
}

// newEntryMap returns field i of a struct if it is a map of options.
func newEntryMap(v reflect.Value, i int) (m entryMap, ok bool) {
	t := v.Type().Field(i)
	name, tagged := t.Tag.Lookup("param")
	if k := t.Type; !tagged || k.Kind() != reflect.Map || k.Key().Kind() != reflect.String ||
		k.Elem().Kind() != reflect.Pointer || k.Elem().Elem().Kind() != reflect.Struct {
		return m, false
	}
	m.value = v.Field(i)
	m.Parameter = Parameter{Name: name, Group: t.Tag.Get("group"), Type: "any"}
	for j := range v.NumField() {
		if f := v.Type().Field(j); f.Anonymous && f.Type == t.Type.Elem().Elem() {
			m.base = v.Field(j)
			return m, true
		}
	}
	panic("config: option " + name + " needs an embedded struct that its entries begin as")
}

// fields returns the options of all entries, sorted by name. They have no flags: the flags of base apply to all
// entries.
func (m *entryMap) fields() []field {
	var list []field
	keys := m.value.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		for _, f := range structFields(m.value.MapIndex(key).Elem(), "", texts{}) {
			f.Name = m.Name + "." + key.String() + "." + f.Name
			f.Flag, f.Short, f.Aliases = "", "", nil
			list = append(list, f)
		}
	}
	return list
}

// entry returns NAME if parameter is "cameras.NAME.OPTION", where OPTION is an option of entries, else "".
func (m *entryMap) entry(parameter string) string {
	rest, ok := strings.CutPrefix(parameter, m.Name+".")
	name, option, _ := strings.Cut(rest, ".")
	if !ok || !slices.ContainsFunc(structFields(m.base, "", texts{}), func(f field) bool { return f.Name == option }) {
		return ""
	}
	return name
}

// add creates an entry unless it exists.
func (m *entryMap) add(name string) {
	key := reflect.ValueOf(name).Convert(m.value.Type().Key())
	if m.value.MapIndex(key).IsValid() {
		return
	}
	if m.value.IsNil() {
		m.value.Set(reflect.MakeMap(m.value.Type()))
	}
	entry := reflect.New(m.base.Type())
	base := structFields(m.base, "", texts{})
	for i, f := range structFields(entry.Elem(), "", texts{}) {
		if f.Flag != "" {
			f.value.Set(base[i].value) // field by field, because the type of an embedded struct may be unexported
		}
	}
	m.value.SetMapIndex(key, entry)
}

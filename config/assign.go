package config

import (
	"slices"
	"strings"
)

// Assign sets options, given by a pointer to their struct, as a command line would, from texts NAME=VALUE. NAME is that of a flag,
// without dashes in front, or of a parameter. A list becomes all values that are given for it. After an error nothing is set.
func Assign(opts any, texts []string) error {
	list := fields(opts)
	settings := make([]setting, len(list))
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		i := slices.IndexFunc(list, func(f field) bool { return f.named(name) })
		switch {
		case !ok:
			return Usagef("option %q: want NAME=VALUE", text)
		case i < 0:
			return Usagef("option %q: there is no option %s", text, name)
		}
		settings[i].source = "option " + text
		settings[i].texts = append(settings[i].texts, value)
	}
	var set []func()
	for i, s := range settings {
		if s.texts == nil {
			continue
		}
		f := &list[i]
		if n := len(s.texts); f.Type != "string array" && n > 1 {
			return Usagef("option %s is given %d times", f.Name, n)
		}
		v, err := f.parse(s)
		if err != nil {
			return err
		}
		set = append(set, func() { f.value.Set(v) })
	}
	for _, apply := range set {
		apply()
	}
	return nil
}

// named says whether a name is that of the flag, one of its aliases, or the parameter.
func (f *field) named(name string) bool {
	flag := strings.ReplaceAll(name, "_", "-")
	return name == f.Name || f.Flag != "" && flag == f.Flag || slices.Contains(f.Aliases, flag)
}

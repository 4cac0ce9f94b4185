package config

import (
	"slices"
	"strings"
)

// Assign sets options, given by a pointer to their struct, from texts NAME=VALUE. NAME is that of a flag, without
// dashes in front, or of a parameter. Values given for a list add up. After an error nothing is set.
func Assign(opts any, texts []string) error {
	list := fields(opts)
	given := map[string]setting{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		i := slices.IndexFunc(list, func(f field) bool { return f.named(name) })
		switch {
		case !ok:
			return Usagef("option %q: want NAME=VALUE", text)
		case i < 0:
			return Usagef("option %q: there is no option %s", text, name)
		}
		f := &list[i]
		s := setting{source: "option " + text, texts: append(given[f.Name].texts, value)}
		if len(s.texts) > 1 && f.Type != "string array" {
			return Usagef("option %s is given %d times", f.Name, len(s.texts))
		}
		given[f.Name] = s
	}
	return apply(list, given)
}

// named reports whether a name is that of the parameter, its flag or one of the flag's aliases.
func (f *field) named(name string) bool {
	flag := strings.ReplaceAll(name, "_", "-")
	return name == f.Name || f.Flag != "" && flag == f.Flag || slices.Contains(f.Aliases, flag)
}

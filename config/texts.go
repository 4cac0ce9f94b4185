package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Described is implemented by a struct of options whose help texts are in a file beside it. The file also describes the
// structs that it embeds, unless they have their own files. The file has a section for each struct:
//
//	[splitOptions]
//	max_bag_size
//		Start another file before one exceeds this size.
//		0 means never.
//
// The section of a struct of another package is called [selection.TopicOptions]. Each line that begins with a tab is
// one sentence; the first sentence is the summary. A line "@alias a,b" is the field's tag alias:"a,b", for tags that
// are too long for the field. Lines that begin with # are comments.
type Described interface{ OptionTexts() string }

// texts are the help texts of one struct of options.
type texts struct {
	files   []string            // files of the structs around it, the nearest first
	file    string              // the element of files with the section
	section map[string][]string // lines by option
}

// textOf splits the lines of an option into sentences and tags.
func textOf(lines []string) (sentences []string, tags map[string]string) {
	tags = map[string]string{}
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(line, "@"); ok {
			key, value, _ := strings.Cut(rest, " ")
			tags[key] = value
		} else {
			sentences = append(sentences, line)
		}
	}
	return sentences, tags
}

// inside returns the texts of the struct s. t has the texts of the struct around it.
func (t texts) inside(s reflect.Type) texts {
	own := texts{files: t.files}
	if d, ok := reflect.New(s).Interface().(Described); ok {
		own.files = slices.Concat([]string{d.OptionTexts()}, t.files)
	}
	for _, own.file = range own.files {
		own.section = textSection(own.file, s)
		if own.section != nil {
			break
		}
	}
	return own
}

// textSection returns the section of a struct, nil if the file has none.
func textSection(file string, s reflect.Type) map[string][]string {
	_, rest, ok := strings.Cut("\n"+file, "\n["+s.String()+"]\n")
	if !ok {
		_, rest, ok = strings.Cut("\n"+file, "\n["+s.Name()+"]\n")
	}
	if !ok {
		return nil
	}
	rest, _, _ = strings.Cut(rest, "\n[")
	section, option := map[string][]string{}, ""
	for line := range strings.Lines(rest) {
		line = strings.TrimSuffix(line, "\n")
		sentence, indented := strings.CutPrefix(line, "\t")
		switch {
		case indented:
			section[option] = append(section[option], sentence)
		case line != "" && line[0] != '#':
			option = line
		}
	}
	return section
}

// TextErrors checks the help texts of structs of options, given by pointers. They must be all structs with texts in the
// file of the first one. It returns an error for each option without a text, each text in the file without an option,
// and each line that is too long or not a sentence.
func TextErrors(structs ...Described) []string {
	file := structs[0].OptionTexts()
	c := textCheck{file: file, used: map[string]bool{}}
	for _, s := range structs {
		c.visit(reflect.TypeOf(s).Elem(), texts{})
	}
	section, option := "", ""
	for line := range strings.Lines(file) {
		line = strings.TrimSuffix(line, "\n")
		sentence, indented := strings.CutPrefix(line, "\t")
		switch {
		case indented:
			c.checkSentence(section+" "+option, sentence)
		case strings.HasPrefix(line, "["):
			section = line
		case line != "" && line[0] != '#':
			option = line
			if !c.used[section+" "+option] {
				c.errs = append(c.errs, fmt.Sprintf("%s %s: no option has this text", section, option))
			}
		}
	}
	slices.Sort(c.errs)
	return slices.Compact(c.errs)
}

// textCheck is the state of TextErrors.
type textCheck struct {
	file string
	used map[string]bool // by section and option
	errs []string
}

// visit checks the options of a struct.
func (c *textCheck) visit(s reflect.Type, around texts) {
	t := around.inside(s)
	for i := range s.NumField() {
		f := s.Field(i)
		name, tagged := f.Tag.Lookup("param")
		kind := f.Type.Kind()
		switch {
		case kind == reflect.Struct && (tagged || f.Anonymous):
			c.visit(f.Type, t)
		case !tagged:
		case !t.describes(name):
			c.errs = append(c.errs, fmt.Sprintf("[%v] %s: the option has no text", s, name))
		case t.file == c.file:
			c.used["["+s.String()+"] "+name], c.used["["+s.Name()+"] "+name] = true, true
		}
	}
}

func (t texts) describes(option string) bool {
	sentences, _ := textOf(t.section[option])
	return len(sentences) > 0
}

// maxText is the largest length of a line in a file of help texts. A tab counts as 4 columns.
const maxText = 120

func (c *textCheck) checkSentence(where, sentence string) {
	first, _ := utf8.DecodeRuneInString(sentence)
	switch {
	case first != '@' && (first >= 'a' && first <= 'z' || !strings.HasSuffix(sentence, ".")):
		c.errs = append(c.errs, fmt.Sprintf("%s: %q wants a capital letter and a full stop", where, sentence))
	case utf8.RuneCountInString(sentence)+4 > maxText:
		c.errs = append(c.errs, fmt.Sprintf("%s: %q is longer than a line of %d columns", where, sentence, maxText))
	}
}

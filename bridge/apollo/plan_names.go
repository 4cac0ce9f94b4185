package apollo

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// name returns the name of the ROS 2 type for d, or for a part of d: apollo.canbus.Chassis is
// apollo_canbus/msg/Chassis, which is also the prefix of types nested in it.
func (all *plans) name(d protoreflect.MessageDescriptor, part string) string {
	proto := d.ParentFile().Package()
	pkg := "protobuf"
	if proto != "" {
		pkg = fieldName(string(proto))
	}
	name := typeName(strings.TrimPrefix(strings.TrimPrefix(string(d.FullName()), string(proto)), ".")) + part
	return untaken(all.taken, pkg+"/msg/"+name, "")
}

// untaken takes and returns a name, with a number as suffix if it is already taken.
func untaken(taken map[string]bool, name, between string) string {
	free := name
	for n := 2; taken[free]; n++ {
		free = name + between + strconv.Itoa(n)
	}
	taken[free] = true
	return free
}

// words splits a name of Protocol Buffers into words, at capitals and at characters other than letters and digits.
func words(name string) []string {
	var words []string
	begin := 0
	cut := func(end int) {
		if end > begin {
			words = append(words, name[begin:end])
		}
		begin = end
	}
	for i, c := range []byte(name) {
		switch {
		case !letter(c) && !digit(c):
			cut(i)
			begin = i + 1
		case upper(c) && i > begin && (!upper(name[i-1]) || i+1 < len(name) && letter(name[i+1]) && !upper(name[i+1])):
			cut(i)
		}
	}
	cut(len(name))
	return words
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || upper(c) }

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// keywords are those of the languages that ROS generates code for, as far as fields could have them as names.
var keywords = strings.Fields(`
	alignas alignof and as asm assert async auto await bool break case catch char class const constexpr continue
	decltype def default del delete do double elif else enum except explicit export extern false finally float for
	from friend global goto if import in inline int is lambda long mutable namespace new noexcept nonlocal not
	nullptr operator or pass private protected public raise register return short signed sizeof static struct switch
	template this throw true try typedef typeid typename union unsigned using virtual void volatile while with xor
	yield
`)

// fieldName returns a valid name of a field or package of ROS 2: lower case with single underscores inside.
func fieldName(name string) string {
	s := strings.ToLower(strings.Join(words(name), "_"))
	switch {
	case s == "" || digit(s[0]):
		return "f" + s
	case slices.Contains(keywords, s):
		return s + "_field"
	}
	return s
}

// constantName is fieldName for constants.
func constantName(name string) string {
	s := strings.ToUpper(strings.Join(words(name), "_"))
	if s == "" || digit(s[0]) {
		s = "F" + s
	}
	return s
}

// typeName returns a valid name of a ROS 2 type: letters and digits.
func typeName(name string) string {
	var b strings.Builder
	parts := strings.FieldsFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII || !letter(byte(r)) && !digit(byte(r))
	})
	for _, part := range parts {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	if s := b.String(); s != "" && !digit(s[0]) {
		return s
	}
	return "T" + b.String()
}

package bridge

import (
	"errors"
	"fmt"
	"strings"
)

// The longest names that rmw accepts.
const (
	maxNodeName  = 255
	maxTopicName = 247
	maxNamespace = 245
)

// Names has the name of a node, and expands and remaps the names of the node's topics and services. It follows rcl:
// https://design.ros2.org/articles/topic_and_service_names.html and
// https://design.ros2.org/articles/static_remapping.html.
type Names struct {
	name, namespace string
	rules           []remap
}

// remap is a rule for topics, services or both, with both sides expanded.
type remap struct {
	topic, service bool
	from, to       string
}

// NewNames applies the rules of o.Remaps that rename the node, and checks all rules. An error names the wrong rule or
// name.
func NewNames(o Options) (*Names, error) {
	n := &Names{name: o.Name, namespace: o.Namespace}
	if n.namespace == "" {
		n.namespace = "/"
	}
	if n.namespace[0] != '/' {
		n.namespace = "/" + n.namespace
	}
	rules := make([]rule, len(o.Remaps))
	for i, text := range o.Remaps {
		r, err := parseRule(text)
		if err != nil {
			return nil, fmt.Errorf("remap rule %q: %w", text, err)
		}
		rules[i] = r
	}
	// The node prefix of a __node rule means the given name. The prefix of any other rule means the new name, as in
	// rcl_node_init.
	if r := firstRule(rules, "__node", n.name); r != nil {
		n.name = r.to
	}
	if r := firstRule(rules, "__ns", n.name); r != nil {
		n.namespace = r.to
	}
	if err := checkNodeName(n.name); err != nil {
		return nil, fmt.Errorf("node name %q: %w", n.name, err)
	}
	if err := checkNamespace(n.namespace); err != nil {
		return nil, fmt.Errorf("namespace %q: %w", n.namespace, err)
	}
	for i, r := range rules {
		if r.keyword() {
			continue
		}
		from, err := n.expand(r.from)
		if err != nil {
			return nil, fmt.Errorf("remap rule %q: %q: %w", o.Remaps[i], r.from, err)
		}
		to, err := n.expand(r.to)
		if err != nil {
			return nil, fmt.Errorf("remap rule %q: %q: %w", o.Remaps[i], r.to, err)
		}
		if r.appliesTo(n.name) {
			n.rules = append(n.rules, remap{topic: r.scheme != "rosservice", service: r.scheme != "rostopic",
				from: from, to: to})
		}
	}
	return n, nil
}

// Node returns the fully qualified name: "/robot/recorder".
func (n *Names) Node() string { return join(n.namespace, n.name) }

// NodeName returns the name without namespace.
func (n *Names) NodeName() string { return n.name }

// Namespace returns the namespace: "/" or "/robot".
func (n *Names) Namespace() string { return n.namespace }

// Topic returns the full name of a topic, after expansion ("~/x", "{node}/x", "x", "/x") and remapping.
func (n *Names) Topic(name string) (string, error) {
	return n.full("topic", name, func(r remap) bool { return r.topic })
}

// Service returns the full name of a service, after expansion and remapping.
func (n *Names) Service(name string) (string, error) {
	return n.full("service", name, func(r remap) bool { return r.service })
}

func (n *Names) full(kind, name string, applies func(remap) bool) (string, error) {
	full, err := n.expand(name)
	if err != nil {
		return "", fmt.Errorf("%s name %q: %w", kind, name, err)
	}
	for _, r := range n.rules {
		if applies(r) && r.from == full {
			return r.to, nil
		}
	}
	return full, nil
}

func (n *Names) expand(name string) (string, error) {
	full := name
	if rest, ok := strings.CutPrefix(full, "~"); ok {
		if rest != "" && rest[0] != '/' {
			return "", errors.New("'~' must stand alone or be followed by '/'")
		}
		full = n.Node() + rest
	}
	full = strings.NewReplacer("{node}", n.name, "{ns}", n.namespace, "{namespace}", n.namespace).Replace(full)
	if full == "" {
		return "", errors.New("is empty")
	}
	if full[0] != '/' {
		full = join(n.namespace, full)
	}
	if i := strings.IndexByte(full, '{'); i >= 0 {
		return "", fmt.Errorf("unknown substitution in %q, only {node}, {ns} and {namespace} are known", full[i:])
	}
	return full, checkFull(full, maxTopicName)
}

func join(namespace, name string) string {
	if namespace == "/" {
		return "/" + name
	}
	return namespace + "/" + name
}

// rule is a remap rule as written: [node:][scheme://]from:=to.
type rule struct {
	node     string // the rule applies to the node of this name only; "": to any node
	scheme   string // "rostopic", "rosservice" or ""
	from, to string // from is "__node" or "__ns" in rules that rename the node
}

func parseRule(text string) (rule, error) {
	from, to, ok := strings.Cut(text, ":=")
	if !ok {
		return rule{}, errors.New("has no ':=', want from:=to")
	}
	if from == "" || to == "" {
		return rule{}, errors.New("one side is empty, want from:=to")
	}
	r := rule{to: to}
	if node, rest, ok := strings.Cut(from, ":"); ok && !strings.HasPrefix(rest, "//") {
		if err := checkNodeName(node); err != nil {
			return rule{}, fmt.Errorf("node name %q: %w", node, err)
		}
		r.node, from = node, rest
	}
	if scheme, rest, ok := strings.Cut(from, "://"); ok {
		if scheme != "rostopic" && scheme != "rosservice" {
			return rule{}, fmt.Errorf("unknown scheme %q, want rostopic:// or rosservice://", scheme)
		}
		r.scheme, from = scheme, rest
	}
	r.from = from
	if r.scheme != "" || !strings.HasPrefix(from, "__") {
		return r, nil
	}
	switch from {
	case "__node", "__name":
		r.from = "__node"
		if err := checkNodeName(to); err != nil {
			return rule{}, fmt.Errorf("node name %q: %w", to, err)
		}
	case "__ns":
		if err := checkNamespace(to); err != nil {
			return rule{}, fmt.Errorf("namespace %q: %w", to, err)
		}
	default:
		return rule{}, fmt.Errorf("unknown keyword %q, want __node, __name or __ns", from)
	}
	return r, nil
}

func (r rule) keyword() bool { return r.scheme == "" && strings.HasPrefix(r.from, "__") }

func (r rule) appliesTo(node string) bool { return r.node == "" || r.node == node }

func firstRule(rules []rule, keyword, node string) *rule {
	for i, r := range rules {
		if r.keyword() && r.from == keyword && r.appliesTo(node) {
			return &rules[i]
		}
	}
	return nil
}

func checkNodeName(name string) error {
	switch {
	case name == "":
		return errors.New("is empty")
	case len(name) > maxNodeName:
		return fmt.Errorf("is longer than %d characters", maxNodeName)
	case strings.Contains(name, "/"):
		return errors.New("contains '/', a namespace belongs into __ns")
	}
	return checkToken(name)
}

func checkNamespace(name string) error {
	if name == "/" {
		return nil
	}
	return checkFull(name, maxNamespace)
}

// checkFull applies the rules of rmw_validate_full_topic_name. Like that function it accepts repeated underscores,
// which the design document forbids.
func checkFull(name string, longest int) error {
	switch {
	case name == "" || name[0] != '/':
		return errors.New("must begin with '/'")
	case strings.HasSuffix(name, "/"):
		return errors.New("ends in '/'")
	case strings.Contains(name, "//"):
		return errors.New("contains '//'")
	case len(name) > longest:
		return fmt.Errorf("is longer than %d characters", longest)
	}
	for token := range strings.SplitSeq(name[1:], "/") {
		if err := checkToken(token); err != nil {
			return err
		}
	}
	return nil
}

func checkToken(token string) error {
	for i, c := range []byte(token) {
		switch {
		case c == '_', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case '0' <= c && c <= '9':
			if i == 0 {
				return fmt.Errorf("%q begins with a digit", token)
			}
		default:
			return fmt.Errorf("contains %q, only letters, digits and '_' are allowed between '/'", token[i:i+1])
		}
	}
	return nil
}

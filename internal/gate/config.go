package gate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"lacuna/internal/measure"
	"lacuna/internal/unit"
)

// A Config is a lacuna.yaml.
type Config struct {
	Path         string
	Baseline     string
	Inconclusive string
	Same         []string
	Rules        []Rule
}

// maxConfig bounds a file of rules: nobody writes more, and the parser's depth grows with it.
const maxConfig = 1 << 16

// A ConfigError says what is wrong with a lacuna.yaml, and where.
type ConfigError struct {
	Path  string
	Line  int
	What  string
	Key   string   // that is not known
	Known []string // keys that are, sorted
}

func (e *ConfigError) Error() string {
	text := e.Path
	if e.Line > 0 {
		text += fmt.Sprintf(": line %d", e.Line)
	}
	return text + ": " + e.What
}

// ParseConfig reads a lacuna.yaml. What it does not know is an error, so that a limit with a typing mistake is not a limit that
// silently never holds.
func ParseConfig(path string, text []byte) (*Config, error) {
	if len(text) > maxConfig {
		return nil, &ConfigError{Path: path, What: fmt.Sprintf("is %d bytes long, at most %d are read", len(text), maxConfig)}
	}
	if deepest(text) > maxNesting {
		return nil, &ConfigError{Path: path, What: "is nested too deeply"}
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			return nil, &ConfigError{Path: path, Line: at.GetToken().Position.Line, What: "is no YAML: " + at.GetMessage()}
		}
		return nil, &ConfigError{Path: path, What: "is no YAML: " + firstLine(err.Error())}
	}
	c := &Config{Path: path}
	for i, doc := range file.Docs {
		switch {
		case doc.Body == nil:
			continue
		case i > 0:
			return nil, &ConfigError{Path: path, Line: lineOf(doc.Body), What: "holds more than one document"}
		}
		if err := fileFields.read(c, "", doc.Body); err != nil {
			err.Path = path
			return nil, err
		}
	}
	for i := range c.Rules {
		c.Rules[i].From = fmt.Sprintf("%s line %d", path, c.Rules[i].Line)
	}
	return c, nil
}

// maxNesting is how deep brackets and indents may go: what is understood goes four levels deep.
const maxNesting = 64

// deepest is at most how deeply a text nests: brackets and dashes of one line, and columns of indent.
func deepest(text []byte) int {
	depth, most := 0, 0
	for _, line := range strings.Split(string(text), "\n") {
		inLine := 0
		for _, c := range line {
			switch c {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(0, depth-1)
			case '-', '?', ':':
				inLine++
			}
		}
		most = max(most, depth, inLine/4)
	}
	return most
}

func firstLine(s string) string { return strings.TrimSpace(strings.SplitN(s, "\n", 2)[0]) }

// lineOf is where a node begins.
func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// wrong is an error at a node.
func wrong(n ast.Node, format string, args ...any) *ConfigError {
	return &ConfigError{Line: lineOf(n), What: fmt.Sprintf(format, args...)}
}

// entries is the keys and values of a mapping.
func entries(n ast.Node, where string) ([]*ast.MappingValueNode, *ConfigError) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, nil
	case *ast.NullNode:
		return nil, nil
	case *ast.AliasNode, *ast.AnchorNode, *ast.TagNode:
		return nil, wrong(n, "anchors, aliases and tags are not understood; write it out")
	}
	if where == "" {
		return nil, wrong(n, "want keys and values (check: ...)")
	}
	return nil, wrong(n, "%s: want keys and values", where)
}

// scalar is the text of a value.
func scalar(n ast.Node, key string) (string, *ConfigError) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	case *ast.AliasNode, *ast.AnchorNode, *ast.TagNode:
		return "", wrong(n, "anchors, aliases and tags are not understood; write it out")
	case *ast.NullNode:
		return "", wrong(n, "%s: has no value", key)
	}
	return "", wrong(n, "%s: want one value", key)
}

// read sets the fields of x from the entries of a mapping.
func (t fields[T]) read(x *T, where string, n ast.Node) *ConfigError {
	list, err := entries(n, where)
	if err != nil {
		return err
	}
	seen := make(map[string]int)
	for _, e := range list {
		key, err := scalar(e.Key, "a key")
		if err != nil {
			return err
		}
		line := lineOf(e.Key)
		at := slices.IndexFunc(t, func(f field[T]) bool { return f.name == key })
		if at < 0 {
			known := t.names()
			slices.Sort(known)
			return &ConfigError{Line: line, Key: key, Known: known, What: fmt.Sprintf("%sno key %.60q (keys are %s)", inside(where), key, strings.Join(known, ", "))}
		}
		if seen[key] > 0 {
			return &ConfigError{Line: line, What: fmt.Sprintf("%s%s is given already in line %d", inside(where), key, seen[key])}
		}
		seen[key] = line
		if err := t[at].set(x, inside(where)+key, e.Value); err != nil {
			return err
		}
	}
	return nil
}

func inside(where string) string {
	if where == "" {
		return ""
	}
	return where + ": "
}

// rules reads the mapping of patterns to rules, in order.
func readRules(c *Config, where string, n ast.Node) *ConfigError {
	list, err := entries(n, where)
	if err != nil {
		return err
	}
	for _, e := range list {
		name, err := scalar(e.Key, where)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(c.Rules, func(r Rule) bool { return r.Pattern == name }) || name == "" {
			return wrong(e.Key, "%s: %q is empty, or given already", where, name)
		}
		r := Rule{Pattern: name, Line: lineOf(e.Key)}
		if err := ruleFields.read(&r, where+": "+name, e.Value); err != nil {
			return err
		}
		c.Rules = append(c.Rules, r)
	}
	return nil
}

// The kinds of values, each with how it is read.

func readText(to *string) func(where string, n ast.Node) *ConfigError {
	return func(where string, n ast.Node) (err *ConfigError) {
		*to, err = scalar(n, where)
		return err
	}
}

func readWord(to *string, words []string) func(string, ast.Node) *ConfigError {
	return func(where string, n ast.Node) *ConfigError {
		text, err := scalar(n, where)
		if err == nil && !slices.Contains(words, text) {
			err = wrong(n, "%s: want %s (is %.40q)", where, strings.Join(words, " or "), text)
		}
		*to = text
		return err
	}
}

func readBool(to *bool) func(string, ast.Node) *ConfigError {
	return func(where string, n ast.Node) *ConfigError {
		b, ok := n.(*ast.BoolNode)
		if !ok {
			return wrong(n, "%s: want true or false", where)
		}
		*to = b.Value
		return nil
	}
}

func readTexts(to *[]string) func(string, ast.Node) *ConfigError {
	return func(where string, n ast.Node) *ConfigError {
		list, ok := n.(*ast.SequenceNode)
		if !ok {
			return wrong(n, "%s: want a list such as [model, batch]", where)
		}
		for _, v := range list.Values {
			text, err := scalar(v, where)
			if err != nil {
				return err
			}
			*to = append(*to, text)
		}
		return nil
	}
}

// readShare reads 2%, or 0.02.
func readShare(to **float64) func(string, ast.Node) *ConfigError {
	return func(where string, n ast.Node) *ConfigError {
		text, err := scalar(n, where)
		if err != nil {
			return err
		}
		q, bad := unit.ParseQuantity(text)
		share, ok := q.In("share")
		if bad != nil || !ok || !(share >= 0) || math.IsInf(share, 0) {
			return wrong(n, "%s: want a share of before such as 2%% or 0.02 (is %.40q)", where, text)
		}
		*to = &share
		return nil
	}
}

func readQuantity(to **unit.Quantity, least float64) func(string, ast.Node) *ConfigError {
	return func(where string, n ast.Node) *ConfigError {
		text, err := scalar(n, where)
		if err != nil {
			return err
		}
		q, bad := unit.ParseQuantity(text)
		if bad != nil || q.Value < least {
			return wrong(n, "%s: want an amount with its unit such as 20us, 1.5GB or 300 (is %.40q)", where, text)
		}
		*to = &q
		return nil
	}
}

func readCount(to *float64) func(string, ast.Node) *ConfigError {
	return func(where string, n ast.Node) *ConfigError {
		text, err := scalar(n, where)
		if err != nil {
			return err
		}
		q, bad := unit.ParseQuantity(text)
		if bad != nil || q.Symbol != "" || q.Value < 1 || q.Value != math.Trunc(q.Value) || q.Value > 1e6 {
			return wrong(n, "%s: want a whole number from 1 (is %.40q)", where, text)
		}
		*to = q.Value
		return nil
	}
}

func readBetter(to **measure.Better) func(string, ast.Node) *ConfigError {
	return func(where string, n ast.Node) *ConfigError {
		var word string
		if err := readWord(&word, betterWords)(where, n); err != nil {
			return err
		}
		b := measure.Better(slices.Index(betterWords, word))
		*to = &b
		return nil
	}
}

// betterWords is the ways in the order of measure.Better.
var betterWords = []string{measure.Lower.String(), measure.Higher.String(), measure.Neither.String()}

package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"lacuna/internal/base/unit"
	"lacuna/internal/runs/measure"
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

// ParseConfig reads a lacuna.yaml. What it does not know is an error, so that a limit with a typing mistake is not a
// limit that silently never holds.
func ParseConfig(path string, text []byte) (*Config, error) {
	if len(text) > maxConfig {
		return nil, &ConfigError{Path: path, What: fmt.Sprintf("is %d bytes long, at most %d are read", len(text),
			maxConfig)}
	}
	if deepest(text) > maxNesting {
		return nil, &ConfigError{Path: path, What: "is nested too deeply"}
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			return nil, &ConfigError{Path: path, Line: at.GetToken().Position.Line, What: "is not YAML: " +
				at.GetMessage()}
		}
		return nil, &ConfigError{Path: path, What: "is not YAML: " + firstLine(err.Error())}
	}
	c, bad := readConfig(file)
	if bad != nil {
		bad.Path = path
		return nil, bad
	}
	c.Path = path
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

// readConfig reads the one document of a file.
func readConfig(file *ast.File) (*Config, *ConfigError) {
	c := new(Config)
	for i, doc := range file.Docs {
		switch {
		case doc.Body == nil:
			continue
		case i > 0:
			return nil, wrong(doc.Body, "holds more than one document")
		}
		refused := new(refusal)
		if ast.Walk(refused, doc.Body); refused.err != nil {
			return nil, refused.err
		}
		var top struct{ Check tree }
		if err := decode(doc.Body, "", &top, fileFields.names()); err != nil {
			return nil, err
		}
		if err := readCheck(c, top.Check.Node); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// A refusal is what no part of a file may have.
type refusal struct{ err *ConfigError }

func (r *refusal) Visit(n ast.Node) ast.Visitor {
	switch n.(type) {
	case *ast.AliasNode, *ast.AnchorNode, *ast.TagNode, *ast.MergeKeyNode:
		r.err = wrong(n, "anchors, aliases and tags are not understood; write it out")
		return nil
	}
	return r
}

func readCheck(c *Config, n ast.Node) *ConfigError {
	var keys struct {
		Baseline     string
		Inconclusive policy
		Same         []string
		Measures     tree
	}
	if err := decode(n, "check", &keys, checkFields.names()); err != nil {
		return err
	}
	if slices.Contains(keys.Same, "") {
		return wrong(n, "check: same: a label has no value")
	}
	c.Baseline, c.Inconclusive, c.Same = keys.Baseline, string(keys.Inconclusive), keys.Same
	const where = "check: measures"
	measures, err := entries(keys.Measures.Node, where)
	if err != nil {
		return err
	}
	for _, m := range measures {
		name := keyOf(m)
		if slices.ContainsFunc(c.Rules, func(r Rule) bool { return r.Pattern == name }) || name == "" {
			return wrong(m.Key, "%s: %q is empty, or given already", where, name)
		}
		var keys ruleKeys
		if err := decode(m.Value, where+": "+name, &keys, ruleFields.names()); err != nil {
			return err
		}
		c.Rules = append(c.Rules, keys.rule(name, lineOf(m.Key)))
	}
	return nil
}

// ruleKeys is the keys of a rule, as ruleFields lists them.
type ruleKeys struct {
	Change       *share
	Floor        *amount
	Max, Min     *quantity
	Better       *better
	Inconclusive policy
	Family       string
	Sum          bool
	Optional     bool
	Noise        *share
	NoiseRuns    count `yaml:"noise_runs"`
}

func (k *ruleKeys) rule(pattern string, line int) Rule {
	return Rule{Pattern: pattern, Line: line, Change: (*float64)(k.Change), Floor: (*unit.Quantity)(k.Floor),
		Max: (*unit.Quantity)(k.Max), Min: (*unit.Quantity)(k.Min), Better: (*measure.Better)(k.Better),
		Inconclusive: string(k.Inconclusive), Family: k.Family, Sum: k.Sum, Optional: k.Optional,
		Noise: (*float64)(k.Noise), NoiseRuns: float64(k.NoiseRuns)}
}

package gate

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"lacuna/internal/base/unit"
	"lacuna/internal/runs/measure"
)

// decode reads the mapping n, whose place in the file is where, into the struct that to points to. An unknown
// key is an error, looked for here: the library's own names any one of several and no others, and passes over
// keys that are not texts. So is a key without a value, unless its value would be a mapping: to the library
// that is a key that is not given.
func decode(n ast.Node, where string, to any, known []string) *ConfigError {
	list, err := entries(n, where)
	if err != nil || len(list) == 0 {
		return err
	}
	for _, e := range list {
		key := keyOf(e)
		switch {
		case !slices.Contains(known, key):
			slices.Sort(known)
			return &ConfigError{Line: lineOf(e.Key), Key: key, Known: known,
				What: fmt.Sprintf("%sno key %.60q (keys are %s)", inside(where), key, strings.Join(known, ", "))}
		case e.Value.Type() == ast.NullType && key != "check" && key != "measures":
			return wrong(e.Value, "%s%s: has no value", inside(where), key)
		}
	}
	if err := yaml.NodeToValue(n, to, yaml.Strict()); err != nil {
		return explain(err, where, list)
	}
	return nil
}

// explain says what is wrong by an error of the library or of a value below, with its place.
func explain(err error, where string, list []*ast.MappingValueNode) *ConfigError {
	var at yaml.Error
	if !errors.As(err, &at) || at.GetToken() == nil {
		return &ConfigError{What: inside(where) + firstLine(err.Error())}
	}
	what, place := at.GetMessage(), at.GetToken().Position
	switch at := at.(type) {
	case *yaml.UnexpectedNodeTypeError:
		what = "want a list such as [model, batch]"
	case *yaml.TypeError:
		what = "want one value"
		if at.DstType.Kind() == reflect.Bool {
			what = "want true or false"
		}
	}
	for _, e := range slices.Backward(list) {
		if e.Key.GetToken().Position.Offset <= place.Offset { // the last key before it
			what = keyOf(e) + ": " + what
			break
		}
	}
	return &ConfigError{Line: place.Line, What: inside(where) + what}
}

// entries is the keys and values of a mapping; none of nothing.
func entries(n ast.Node, where string) ([]*ast.MappingValueNode, *ConfigError) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, nil
	case nil, *ast.NullNode:
		return nil, nil
	}
	if where == "" {
		return nil, wrong(n, "want keys and values (check: ...)")
	}
	return nil, wrong(n, "%s: want keys and values", where)
}

func keyOf(e *ast.MappingValueNode) string { return e.Key.GetToken().Value }

func inside(where string) string {
	if where == "" {
		return ""
	}
	return where + ": "
}

// lineOf is where a node begins.
func lineOf(n ast.Node) int { return n.GetToken().Position.Line }

// wrong is an error at a node.
func wrong(n ast.Node, format string, args ...any) *ConfigError {
	return &ConfigError{Line: lineOf(n), What: fmt.Sprintf(format, args...)}
}

// A tree is a part of the file that is read later.
type tree struct{ ast.Node }

func (t *tree) UnmarshalYAML(n ast.Node) error {
	t.Node = n
	return nil
}

// parsed gives the text of one value to parse, which says whether it is taken.
func parsed(n ast.Node, want string, parse func(text string) bool) error {
	text := n.GetToken().Value
	if _, one := n.(ast.ScalarNode); !one || !parse(text) {
		return &yaml.SyntaxError{Message: fmt.Sprintf("want %s (is %.40q)", want, text), Token: n.GetToken()}
	}
	return nil
}

// The kinds of values that the library does not know.
type (
	policy   string
	better   measure.Better
	share    float64 // 2%, or 0.02
	quantity unit.Quantity
	amount   unit.Quantity // from 0
	count    float64
)

func (p *policy) UnmarshalYAML(n ast.Node) error {
	return parsed(n, strings.Join(policies, " or "), func(text string) bool {
		*p = policy(text)
		return slices.Contains(policies, text)
	})
}

// betterWords is the ways in the order of measure.Better.
var betterWords = []string{measure.Lower.String(), measure.Higher.String(), measure.Neither.String()}

func (b *better) UnmarshalYAML(n ast.Node) error {
	return parsed(n, strings.Join(betterWords, " or "), func(text string) bool {
		*b = better(slices.Index(betterWords, text))
		return slices.Contains(betterWords, text)
	})
}

func (s *share) UnmarshalYAML(n ast.Node) error {
	return parsed(n, "a share of before such as 2% or 0.02", func(text string) bool {
		q, err := unit.ParseQuantity(text)
		x, ok := q.In("share")
		*s = share(x)
		return err == nil && ok && x >= 0 && !math.IsInf(x, 0)
	})
}

const wantAmount = "an amount with its unit such as 20us, 1.5GB or 300"

func (q *quantity) UnmarshalYAML(n ast.Node) error {
	return parsed(n, wantAmount, func(text string) bool {
		x, err := unit.ParseQuantity(text)
		*q = quantity(x)
		return err == nil
	})
}

func (a *amount) UnmarshalYAML(n ast.Node) error {
	return parsed(n, wantAmount, func(text string) bool {
		x, err := unit.ParseQuantity(text)
		*a = amount(x)
		return err == nil && x.Value >= 0
	})
}

func (c *count) UnmarshalYAML(n ast.Node) error {
	return parsed(n, "a whole number from 1", func(text string) bool {
		x, err := unit.ParseQuantity(text)
		*c = count(x.Value)
		return err == nil && x.Symbol == "" && x.Value >= 1 && x.Value == math.Trunc(x.Value) && x.Value <= 1e6
	})
}

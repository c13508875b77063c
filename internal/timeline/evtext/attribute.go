package evtext

import (
	"fmt"
	"slices"
	"strings"
)

// An index finds the columns of a table by what a token looks like.
type index struct {
	keys   map[string][]*column // one column, or the three of grid=1x2x3
	shorts map[byte]*column
	words  map[string]*column
	arrow  []*column // source and target
	said   []string  // how the attributes are spelled, for errors
}

func (t *table) index() {
	x := &index{keys: make(map[string][]*column), shorts: make(map[byte]*column), words: make(map[string]*column)}
	for _, a := range t.attributes(func(*column) bool { return true }) {
		for _, c := range a.cols {
			x.keys[c.key] = []*column{c}
		}
		c := a.cols[0]
		switch a.form {
		case 's':
			x.shorts[a.key[0]] = c
			x.said = append(x.said, a.key+"1")
		case 'x':
			x.keys[a.key] = a.cols
			x.said = append(x.said, a.key+"=1x1x1")
		case '>':
			x.arrow = a.cols
			x.said = append(x.said, "pageable->device")
		case 'w':
			words := c.words()
			slices.Sort(words)
			for _, w := range words {
				x.words[w] = c
			}
			x.said = append(x.said, words...)
		default:
			x.said = append(x.said, a.key+"=")
		}
	}
	if t.name == "Threads" {
		x.said = append(x.said, "pid=")
	}
	t.find = x
}

func (t *table) spellings() []string { return t.find.said }

// attribute reads a token into a row if it is an attribute.
func (t *table) attribute(token string, row, line int) (known bool, err error) {
	x := t.find
	if c := x.words[token]; c != nil {
		return true, c.setOnce(token, row, line)
	}
	if isShort(token) {
		if c := x.shorts[token[0]]; c != nil {
			return true, c.setOnce(token[1:], row, line)
		}
	}
	if key, value, ok := strings.Cut(token, "="); ok {
		cols := x.keys[key]
		if len(cols) == 0 {
			return false, nil
		}
		return true, setAll(cols, key, "x", value, row, line)
	}
	if x.arrow != nil && strings.Contains(token, "->") {
		return true, setAll(x.arrow, "source->target", "->", token, row, line)
	}
	return false, nil
}

// setAll reads a value that has a part for each column.
func setAll(cols []*column, key, separator, value string, row, line int) error {
	parts := []string{value}
	if len(cols) > 1 {
		parts = strings.Split(value, separator)
	}
	if len(parts) != len(cols) {
		return fmt.Errorf("%s is %q, want %d values with %s between", key, clip(value), len(cols), separator)
	}
	for i, c := range cols {
		if err := c.setOnce(parts[i], row, line); err != nil {
			return err
		}
	}
	return nil
}

// setOnce sets a cell that the line has not set before.
func (c *column) setOnce(text string, row, line int) error {
	if c.line == line {
		return fmt.Errorf("%s is given twice", c.key)
	}
	c.line = line
	if err := c.set(row, text); err != nil {
		return fmt.Errorf("%s: %w", c.key, err)
	}
	return nil
}

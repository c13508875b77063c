package kernelpages

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/kernel/profile"
)

var raw = Page{
	Name: "raw",
	Doc: `Every metric of every launch: a line a launch, a column a metric, sorted by name, units in the second line.
With automatic units a column has one prefix, chosen by its largest value, so that small values in it may
print as 0.000000. "no data" says that a metric was asked for and not measured; empty, that it is not
there for this launch.`,
	csv:  rawCSV,
	text: rawText,
}

// A column is a metric of the raw page.
type column struct {
	name  profile.NameID
	text  string
	unit  step
	zeros bool // no value is above 0
}

// rawColumns are the metrics of all launches by name, without those that only group others.
func rawColumns(r *profile.Report, opt Options) []column {
	largest := make([]float64, len(r.Names.All()))
	seen := make([]bool, len(largest))
	for _, l := range r.Launches {
		for i := range l.Metrics {
			m := &l.Metrics[i]
			seen[m.Name] = true
			if v, ok := m.Value.Number(); ok && v > largest[m.Name] {
				largest[m.Name] = v
			}
		}
	}
	e := editionOf(r)
	var columns []column
	for id, name := range r.Names.All() {
		if !seen[id] || grouping(name) {
			continue
		}
		c := column{name: profile.NameID(id), text: name, unit: step{e.unit(name), 1}, zeros: largest[id] == 0}
		if !opt.base() {
			c.unit = scaled(c.unit.unit, largest[id])
		}
		columns = append(columns, c)
	}
	slices.SortFunc(columns, func(a, b column) int { return strings.Compare(a.text, b.text) })
	return columns
}

// grouping says whether a metric only lists others.
func grouping(name string) bool {
	return strings.HasPrefix(name, "breakdown:") || strings.HasPrefix(name, "group:") ||
		strings.HasPrefix(name, "regex:")
}

// cell is a metric in its column.
func (c *column) cell(m *profile.Metric, e edition, opt Options) string {
	v, isNumber := m.Value.Number()
	if opt.base() || c.unit.unit == "" || !isNumber {
		return plain(m)
	}
	if c.zeros && v <= 0 || c.zeros && v != v { // a prefix of nothing: negative numbers and NaN come out as 0 too
		v = 0
		if e.since2025 {
			return "0"
		}
	}
	if e.since2025 && m.Value.Kind == profile.Unsigned && c.unit.factor == 1 {
		return plain(m)
	}
	return six(v / c.unit.factor)
}

func rawCSV(s *sheet, r *profile.Report, opt Options) error {
	columns, e := rawColumns(r, opt), editionOf(r)
	for _, name := range launchColumns {
		s.field(name)
	}
	for _, c := range columns {
		s.field(c.text)
	}
	s.end()
	for range launchColumns {
		s.field("")
	}
	for _, c := range columns {
		s.field(c.unit.unit)
	}
	s.end()
	for _, l := range r.Launches {
		for _, cell := range launchCells(l) {
			s.field(cell)
		}
		at := byName(l, len(r.Names.All()))
		for i := range columns {
			text := ""
			if m := at[columns[i].name]; m >= 0 {
				text = columns[i].cell(&l.Metrics[m], e, opt)
			}
			s.field(text)
		}
		s.end()
	}
	return nil
}

// byName is where a launch's metrics are by their name's number; -1: it has none of it.
func byName(l *profile.Launch, names int) []int32 {
	at := make([]int32, names)
	for i := range at {
		at[i] = -1
	}
	for i := range l.Metrics {
		at[l.Metrics[i].Name] = int32(i)
	}
	return at
}

// rawText lists each launch's metrics below its name.
func rawText(w *bufio.Writer, r *profile.Report, opt Options) error {
	columns, e := rawColumns(r, opt), editionOf(r)
	for n, l := range r.Launches {
		if n > 0 {
			fmt.Fprintln(w)
		}
		heading(w, l)
		at := byName(l, len(r.Names.All()))
		var rows []textRow
		for i := range columns {
			if m := at[columns[i].name]; m >= 0 {
				rows = append(rows, textRow{columns[i].text, columns[i].unit.unit,
					columns[i].cell(&l.Metrics[m], e, opt)})
			}
		}
		list(w, rows, opt.Width)
	}
	return nil
}

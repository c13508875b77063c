package kernelpages

import (
	"cmp"
	"strconv"
	"strings"

	"lacuna/internal/kernel/profile"
)

// A sourceColumn is a metric by instruction.
type sourceColumn struct {
	label  string
	metric string
	// values are by address. Several metrics of a group are added up.
	values map[uint64]profile.Value
	word   bool // word: the value names something; without one the cell is "-"
}

// sourceColumns are the metrics that a launch has by instruction, in the order of its sections' lists.
func sourceColumns(l *profile.Launch) []*sourceColumn {
	var columns []*sourceColumn
	seen := make(map[string]bool)
	for i := range l.Sections {
		for _, m := range sourceList(l, &l.Sections[i]) {
			if seen[m.Name] {
				continue
			}
			seen[m.Name] = true
			c := &sourceColumn{label: cmp.Or(m.Label, m.Name), metric: m.Name, word: isWord(m.Name)}
			c.collect(l, m.Name)
			if c.values != nil {
				columns = append(columns, c)
			}
		}
	}
	return columns
}

// sourceList is a section's list of columns. Up to 2022.4 there is none: then it is the extra metrics of the section
// of source counters, groups first. 2022.4 names inst_executed before them, without its label (in both reports of it
// that are known).
func sourceList(l *profile.Launch, s *profile.Section) []profile.SectionMetric {
	if len(s.Source) > 0 || s.ID != "SourceCounters" {
		return s.Source
	}
	var first, rest []profile.SectionMetric
	for _, m := range s.Extra {
		if grouping(m.Name) {
			first = append(first, m)
		} else {
			rest = append(rest, m)
		}
	}
	if atLeast(l.Report.Producer, 2022, 4) {
		first = append(first, profile.SectionMetric{Name: "inst_executed"})
	}
	return append(first, rest...)
}

// collect adds up a metric, or the members of a group, by address.
func (c *sourceColumn) collect(l *profile.Launch, name string) {
	names := []string{name}
	if strings.HasPrefix(name, "group:") {
		list, _ := l.Text(name)
		names = strings.Split(list, ",")
	}
	for _, n := range names {
		m := l.Metric(strings.TrimSpace(n))
		if m == nil || m.Sampled {
			continue
		}
		for i := range m.Instances() {
			if i.Key.Kind != profile.Unsigned || i.Key.Uint < lowestAddress {
				continue
			}
			if c.values == nil {
				c.values = make(map[uint64]profile.Value)
			}
			c.values[i.Key.Uint] = plus(c.values[i.Key.Uint], i.Value)
		}
	}
}

// lowestAddress parts addresses of code from other keys of instances: devices, block sizes, register counts.
const lowestAddress = 1 << 24

func plus(a, b profile.Value) profile.Value {
	switch {
	case a.Kind == profile.None:
		return b
	case a.Kind == profile.Unsigned && b.Kind == profile.Unsigned:
		a.Uint += b.Uint
	case a.Kind == profile.Double && b.Kind == profile.Double:
		a.Float += b.Float
	}
	return a
}

// isWord says whether a metric's values name something.
func isWord(metric string) bool {
	switch metric {
	case "memory_type", "memory_access_type", "memory_access_size_type",
		"smsp__sass_inst_executed_memdesc_explicit_evict_type":
		return true
	}
	return false
}

// cell is the column's cell for an instruction.
func (c *sourceColumn) cell(address uint64) string {
	v, ok := c.values[address]
	switch {
	case !ok && c.word:
		return "-"
	case !ok:
		return "0"
	case c.word:
		return word(c.metric, v)
	}
	return plain(&profile.Metric{Value: v})
}

// word names a value of a metric that names something. Values that occur in no printed page stay numbers.
func word(metric string, v profile.Value) string {
	n, ok := v.Number()
	if !ok || n == 0 {
		return v.String
	}
	switch metric {
	case "memory_type":
		switch n {
		case 4:
			return "Global"
		case 8:
			return "Local"
		case 16:
			return "Shared"
		}
	case "memory_access_type":
		switch n {
		case 2:
			return "Load"
		case 4:
			return "Store"
		}
	case "memory_access_size_type": // bits; the numbers for 8 and 16 are not their own
		switch n {
		case 2:
			return "8"
		case 8:
			return "16"
		}
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// number is the column's value for an instruction.
func (c *sourceColumn) number(address uint64) float64 {
	n, _ := c.values[address].Number()
	return n
}

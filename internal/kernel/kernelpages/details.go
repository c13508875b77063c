package kernelpages

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lacuna/internal/kernel/profile"
)

var details = Page{
	Name: "details",
	Doc: `
The sections of every launch: the metrics in their heads, with labels as the report has them, each with the prefix
that suits it, and below them what NVIDIA's rules said, with the speedup that they estimate: local (of the resource's
part) or global (of the kernel's duration). lacuna's own findings are not on this page.`,
	csv:  detailsCSV,
	text: detailsText,
}

// A detail is a line of a section: a metric, or a message of a rule.
type detail struct {
	section           string // display name; of a rule, the identifier
	label, unit, text string
	rule              string // "": it is a metric
	kind              string // of the message: "OPT"
	speedup, percent  string
}

// detailsOf are the lines of a launch, in the order in which ncu prints them: sections by their order number, in each
// its metrics by name, then its rules' messages.
func detailsOf(l *profile.Launch, e edition, opt Options) []detail {
	sections := slices.Clone(l.Sections)
	slices.SortStableFunc(sections, func(a, b profile.Section) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), strings.Compare(a.Name, b.Name))
	})
	var lines []detail
	for i := range sections {
		s := &sections[i]
		for _, m := range headMetrics(l, s) {
			line, ok := metricLine(l, m, e, opt)
			if line.section = s.Name; ok {
				lines = append(lines, line)
			}
		}
		for _, r := range l.Rules {
			if r.Section != s.ID {
				continue
			}
			for _, m := range r.Messages {
				lines = append(lines, ruleLine(&r, &m))
			}
		}
	}
	return lines
}

// headMetrics are the metrics of a section's head by name, with groups and patterns replaced by what they stand for.
func headMetrics(l *profile.Launch, s *profile.Section) []profile.SectionMetric {
	var all []profile.SectionMetric
	for _, m := range s.Header {
		if !grouping(m.Name) {
			if m.Name != "" { // empty places fill a table
				all = append(all, m)
			}
			continue
		}
		names, _ := l.Text(m.Name)
		for name := range strings.SplitSeq(names, ",") {
			if name = strings.TrimSpace(name); name != "" {
				all = append(all, profile.SectionMetric{Name: name})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b profile.SectionMetric) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// metricLine is a metric's line, or that of the first option that was collected in its place. Not ok: the filters
// leave this device out, whether it was collected or not.
func metricLine(l *profile.Launch, m profile.SectionMetric, e edition, opt Options) (line detail, ok bool) {
	cc := e.filterCapability(l)
	for _, candidate := range e.candidates(cc, m) {
		if found := l.Metric(candidate.Name); found != nil {
			line.label = cmp.Or(candidate.Label, m.Label, candidate.Name)
			line.unit, line.text = single(found, e.unit(candidate.Name), opt)
			return line, true
		}
		line, ok = detail{label: cmp.Or(m.Label, m.Name), text: "n/a"}, true
	}
	return line, ok
}

// candidates are a metric and what may stand in for it on the device; an option that its filter names comes first.
func (e edition) candidates(cc uint32, m profile.SectionMetric) []profile.SectionMetric {
	var first, rest []profile.SectionMetric
	if e.allowed(cc, m.Filters) {
		rest = append(rest, m)
	}
	for _, o := range m.Options {
		switch {
		case !e.allowed(cc, o.Filters):
		case len(o.Filters) > 0 && (len(o.Filters) == 1 || e.since2025):
			first = append(first, o)
		default:
			rest = append(rest, o)
		}
	}
	return append(first, rest...)
}

// single is a value with the unit that suits it alone.
func single(m *profile.Metric, unit string, opt Options) (printed, text string) {
	v, isNumber := m.Value.Number()
	if opt.base() || !isNumber {
		return unit, plain(m)
	}
	s := scaled(unit, max(v, -v))
	if s.factor == 1 {
		return s.unit, plain(m)
	}
	return s.unit, round2(v / s.factor)
}

// filterCapability is the compute capability that filters are held against, as 75 for 7.5; 0: not known.
func (e edition) filterCapability(l *profile.Launch) uint32 {
	major, ok := l.Number("device__attribute_compute_capability_major")
	minor, _ := l.Number("device__attribute_compute_capability_minor")
	if !ok || major < 0 || major > 100 || minor < 0 || minor > 9 {
		return 0
	}
	cc := uint32(major*10 + minor)
	if e.unknownChip {
		return assumed(cc)
	}
	return cc
}

// allowed says whether a definition is for a compute capability. Lists of spans are younger than 2024.1.1, which takes
// no notice of them.
func (e edition) allowed(cc uint32, filters []profile.Filter) bool {
	if cc == 0 || len(filters) == 0 || len(filters) > 1 && !e.since2025 {
		return true
	}
	return slices.ContainsFunc(filters, func(f profile.Filter) bool {
		if e.unknownChip { // a bound that it does not know it takes for 5.0 as well
			f.Min, f.Max = assumed(f.Min), assumed(f.Max)
		}
		return cc >= f.Min && (f.Max == 0 || cc <= f.Max)
	})
}

// assumed is what ncu 2024.1.1 makes of a compute capability: "Failed to detect compute capability, assuming 50".
func assumed(cc uint32) uint32 {
	if cc >= 100 {
		return 50
	}
	return cc
}

// ruleLine is a rule's message.
func ruleLine(r *profile.RuleResult, m *profile.Message) detail {
	line := detail{section: r.Section, rule: r.ID, kind: messageKind(m.Type), text: resolve(m.Text)}
	if m.Speedup.Kind != "" {
		line.speedup, line.percent = m.Speedup.Kind, strconv.FormatFloat(m.Speedup.Percent, 'g', 4, 64)
	}
	return line
}

// messageKind is how ncu abbreviates a message's type.
func messageKind(kind int) string {
	switch kind {
	case 1:
		return "INF"
	case 2:
		return "WRN"
	case 3:
		return "ERR"
	case 4:
		return "OPT"
	}
	return ""
}

// resolve replaces markup: @section:ID:text@ by text, @url:text:address@ by "text (address)".
func resolve(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "@")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		inside, after, closed := strings.Cut(rest, "@")
		kind, body, _ := strings.Cut(inside, ":")
		switch {
		case closed && (kind == "section" || kind == "source"):
			_, shown, _ := strings.Cut(body, ":")
			b.WriteString(shown)
		case closed && kind == "url":
			shown, address, _ := strings.Cut(body, ":")
			fmt.Fprintf(&b, "%s (%s)", shown, address)
		default: // no markup: an at sign
			b.WriteByte('@')
			text = rest
			continue
		}
		text = after
	}
}

func detailsCSV(s *sheet, r *profile.Report, opt Options) error {
	withRules := slices.ContainsFunc(r.Launches, func(l *profile.Launch) bool { return len(l.Rules) > 0 })
	e := editionOf(r)
	started := false
	for _, l := range r.Launches {
		cells := launchCells(l)
		for _, d := range detailsOf(l, e, opt) {
			if !started { // a report without sections prints nothing
				detailsHead(s, withRules)
				started = true
			}
			for _, c := range cells {
				s.field(c)
			}
			if d.rule == "" {
				s.field(d.section)
				s.field(d.label)
				s.field(d.unit)
				s.field(d.text)
				if withRules {
					s.blank()
				}
			} else {
				for _, c := range [...]string{d.section, "", "", "", d.rule, d.kind, d.text, d.speedup, d.percent} {
					s.field(c)
				}
			}
			s.end()
		}
	}
	return nil
}

func detailsHead(s *sheet, withRules bool) {
	for _, c := range launchColumns {
		s.field(c)
	}
	for _, c := range [...]string{"Section Name", "Metric Name", "Metric Unit", "Metric Value"} {
		s.field(c)
	}
	if withRules {
		for _, c := range [...]string{"Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type",
			"Estimated Speedup"} {
			s.field(c)
		}
	}
	s.end()
}

// detailsText prints sections as blocks, rules' messages wrapped below them.
func detailsText(w *bufio.Writer, r *profile.Report, opt Options) error {
	e := editionOf(r)
	for n, l := range r.Launches {
		if n > 0 {
			fmt.Fprintln(w)
		}
		heading(w, l)
		lines := detailsOf(l, e, opt)
		for len(lines) > 0 {
			end := slices.IndexFunc(lines, func(d detail) bool {
				return d.section != lines[0].section ||
					(d.rule != "") != (lines[0].rule != "")
			})
			if end < 0 {
				end = len(lines)
			}
			if lines[0].rule == "" {
				fmt.Fprintf(w, "\n %s\n", printable(lines[0].section))
				var rows []textRow
				for _, d := range lines[:end] {
					rows = append(rows, textRow{d.label, d.unit, d.text})
				}
				list(w, rows, opt.Width)
			} else {
				messages(w, lines[:end], opt.Width)
			}
			lines = lines[end:]
		}
	}
	return nil
}

func messages(w *bufio.Writer, lines []detail, width int) {
	for _, d := range lines {
		head := strings.TrimSpace(d.kind + " " + d.rule)
		if d.speedup != "" {
			head += fmt.Sprintf(" (estimated speedup %s %%, %s)", d.percent, d.speedup)
		}
		fmt.Fprintf(w, "  %s\n", printable(head))
		wrapped(w, d.text, 4, width)
	}
}

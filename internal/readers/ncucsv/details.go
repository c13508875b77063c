package ncucsv

import (
	_ "embed"
	"strconv"
	"strings"

	"lacuna/internal/kernel/profile"
)

//go:embed labels.txt
var labelText string

// labels says which metrics the labels of the details page stand for.
type labels struct {
	ids     map[string]string   // of sections, by printed name
	metrics map[string][]string // by printed name of the section, tab, label
}

func parseLabels(text string) labels {
	all := labels{ids: make(map[string]string), metrics: make(map[string][]string)}
	section := ""
	for line := range strings.Lines(text) {
		left, right, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			continue // a comment
		}
		if id, is := strings.CutPrefix(left, "section "); is {
			section = right
			all.ids[section] = id
			continue
		}
		key := section + "\t" + left
		all.metrics[key] = append(all.metrics[key], right)
	}
	return all
}

// metric is the metric that a label stands for. Where that depends on the chip, the unit must tell.
func (a labels) metric(section, label, unit string) (string, bool) {
	if strings.Contains(label, "__") { // it has none: what --metrics asked for
		return label, true
	}
	candidates := a.metrics[section+"\t"+label]
	if len(candidates) == 1 {
		return candidates[0], true
	}
	found := ""
	base, _ := profile.BaseUnit(unit)
	for _, c := range candidates {
		if base != "" && profile.Unit(c) == base { // an unknown chip has no units at all
			if found != "" {
				return "", false
			}
			found = c
		}
	}
	return found, found != ""
}

// detailsRow reads a metric or a rule's message of a launch.
func (p *page) detailsRow(l *profile.Launch, row []string) {
	section := p.cell(row, "Section Name")
	if rule := p.cell(row, "Rule Name"); rule != "" {
		p.ruleRow(l, section, rule, row)
		return
	}
	label := p.cell(row, "Metric Name")
	if label == "" {
		return
	}
	unit := p.cell(row, "Metric Unit")
	v, ok := p.value(p.cell(row, "Metric Value"), unit)
	if !ok {
		return
	}
	name, ok := p.labels.metric(section, label, unit)
	if !ok {
		p.report.Losses.Add(lossUnknownLabel, 1, section+": "+label)
		return
	}
	p.add(l, name, v)
	s := p.section(l, section)
	s.Header = append(s.Header, profile.SectionMetric{Name: name, Label: label})
}

// section is the launch's section of that printed name, which rows of one section follow each other in.
func (p *page) section(l *profile.Launch, name string) *profile.Section {
	if n := len(l.Sections); n == 0 || l.Sections[n-1].Name != name {
		l.Sections = append(l.Sections, profile.Section{ID: p.labels.ids[name], Name: name, Order: int64(n)})
	}
	return &l.Sections[len(l.Sections)-1]
}

// ruleRow reads a rule's message.
func (p *page) ruleRow(l *profile.Launch, section, rule string, row []string) {
	if n := len(l.Rules); n == 0 || l.Rules[n-1].ID != rule || l.Rules[n-1].Section != section {
		l.Rules = append(l.Rules, profile.RuleResult{ID: rule, Name: rule, Section: section})
	}
	m := profile.Message{Text: p.cell(row, "Rule Description"), Type: messageType(p.cell(row, "Rule Type"))}
	kind := p.cell(row, "Estimated Speedup Type")
	if percent, err := strconv.ParseFloat(p.cell(row, "Estimated Speedup"), 64); err == nil &&
		(kind == "local" || kind == "global") {
		m.Speedup = profile.Speedup{Kind: kind, Percent: percent}
	}
	r := &l.Rules[len(l.Rules)-1]
	r.Messages = append(r.Messages, m)
}

// messageType is a rule's type as profile.Message has it.
func messageType(text string) int {
	switch text {
	case "INF":
		return 1
	case "WRN":
		return 2
	case "ERR":
		return 3
	case "OPT":
		return 4
	}
	return 0
}

package profile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse reads the text form of a report, which tests are written in. A line is one of
//
//	attribute max_warps_per_multiprocessor 64
//	kernel sgemm_naive grid=132,1,1 block=256,1,1 stream=7
//	gpu__time_duration.sum 123456
//	inst_executed[0x7f10] 32
//	line 0x7f10 /src/a.cu:12 c[i] = a[i] + b[i];
//
// Attributes are of device 0 and hold for all kernels, wherever they stand: as a device's attribute, and as the metric
// device__attribute_NAME of each. Metrics and lines are of the kernel above them; a name with blanks is quoted.
//
// A value is a whole number (Unsigned), a number with a point, exponent or sign, nan or inf (Double), none (None) or
// else a text, which may be quoted. A key in brackets is a whole number, also as 0x…, or else a text: sampled metrics
// are not told apart. A line says which source line an instruction is of, and what that line's text is (it may be
// left out). Empty lines and those that begin with # say nothing.
func Parse(text string) (*Report, error) {
	p := parser{report: &Report{Format: "text"}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return p.finish(), nil
}

// A parser reads the text form.
type parser struct {
	report     *Report
	attributes []Attribute
	launch     *Launch // that the lines are of
	packed     map[*Launch]map[NameID][]Instance
}

func (p *parser) line(line string) error {
	word, rest := cutWord(line)
	switch word {
	case "attribute":
		name, value := cutWord(rest)
		if name == "" || value == "" {
			return fmt.Errorf("attribute %q: want a name and a value", rest)
		}
		p.attributes = append(p.attributes, Attribute{Name: name, Value: parseValue(value)})
		return nil
	case "kernel":
		return p.kernel(rest)
	}
	if p.launch == nil {
		return fmt.Errorf("%q stands before any kernel; begin with kernel NAME grid=X,Y,Z block=X,Y,Z", word)
	}
	if word == "line" {
		return p.sourceLine(rest)
	}
	return p.metric(word, rest)
}

// cutWord takes the first word, which may be quoted, off a line.
func cutWord(line string) (word, rest string) {
	if strings.HasPrefix(line, `"`) {
		if quoted, err := strconv.QuotedPrefix(line); err == nil {
			word, _ = strconv.Unquote(quoted)
			return word, strings.TrimSpace(line[len(quoted):])
		}
	}
	at := strings.IndexAny(line, " \t")
	if open := strings.IndexByte(line, '['); open >= 0 && open < at { // a key may have blanks
		if end := strings.IndexByte(line, ']'); end > open {
			at = end + 1
		}
	}
	if at < 0 {
		return line, ""
	}
	return line[:at], strings.TrimSpace(line[at:])
}

func (p *parser) kernel(rest string) error {
	name, rest := cutWord(rest)
	if name == "" {
		return fmt.Errorf("kernel has no name")
	}
	base, _, _ := strings.Cut(name, "(")
	l := &Launch{ID: len(p.report.Launches), Name: name, Base: base, Grid: [3]uint32{1, 1, 1},
		Block: [3]uint32{1, 1, 1}, Report: p.report}
	for field := range strings.FieldsSeq(rest) {
		key, value, _ := strings.Cut(field, "=")
		var err error
		switch key {
		case "grid":
			l.Grid, err = parseAxes(value)
		case "block":
			l.Block, err = parseAxes(value)
		case "stream":
			l.Stream, err = strconv.ParseUint(value, 10, 64)
		case "context":
			l.Context, err = strconv.ParseUint(value, 10, 64)
		default:
			err = fmt.Errorf("has no field %q; fields are grid, block, stream and context", key)
		}
		if err != nil {
			return fmt.Errorf("kernel %s: %w", name, err)
		}
	}
	p.report.Launches = append(p.report.Launches, l)
	p.launch = l
	return nil
}

// parseAxes reads "132,1,1"; axes that are left out are 1.
func parseAxes(text string) (v [3]uint32, err error) {
	parts := strings.Split(text, ",")
	if len(parts) > 3 {
		return v, fmt.Errorf("size %q: want at most three numbers", text)
	}
	v = [3]uint32{1, 1, 1}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil {
			return v, fmt.Errorf("size %q: want numbers with commas between", text)
		}
		v[i] = uint32(n)
	}
	return v, nil
}

// metric reads a metric of the kernel, or one instance of it.
func (p *parser) metric(word, rest string) error {
	if rest == "" {
		return fmt.Errorf("metric %s has no value", word)
	}
	name, key, keyed := strings.Cut(word, "[")
	id := p.report.Names.ID(name)
	l := p.launch
	at := slices.IndexFunc(l.Metrics, func(m Metric) bool { return m.Name == id })
	if at < 0 {
		at = len(l.Metrics)
		l.Metrics = append(l.Metrics, Metric{Name: id})
	}
	m := &l.Metrics[at]
	if !keyed {
		m.Value = parseValue(rest)
		return nil
	}
	if !strings.HasSuffix(key, "]") {
		return fmt.Errorf("metric %s: the bracket is not closed", word)
	}
	if p.packed == nil {
		p.packed = make(map[*Launch]map[NameID][]Instance)
	}
	if p.packed[l] == nil {
		p.packed[l] = make(map[NameID][]Instance)
	}
	p.packed[l][id] = append(p.packed[l][id], Instance{Key: parseKey(key[:len(key)-1]), Value: parseValue(rest)})
	return nil
}

func parseKey(text string) Value {
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		return Value{Kind: Unsigned, Uint: n}
	}
	return Value{Kind: Text, String: text}
}

func parseValue(text string) Value {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return Value{Kind: Unsigned, Uint: n}
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return Value{Kind: Double, Float: v}
	}
	if text == "none" {
		return Value{}
	}
	if word, rest := cutWord(text); rest == "" && text[0] == '"' {
		text = word
	}
	return Value{Kind: Text, String: text}
}

// sourceLine reads where an instruction comes from. Each kernel has a module of its own.
func (p *parser) sourceLine(rest string) error {
	address, rest := cutWord(rest)
	n, err := strconv.ParseUint(address, 0, 64)
	if err != nil {
		return fmt.Errorf("line %s: want an address as 0x…", address)
	}
	place, text := cutWord(rest)
	at := strings.LastIndexByte(place, ':')
	number, err := strconv.ParseUint(place[at+1:], 10, 32)
	if at <= 0 || err != nil || number == 0 {
		return fmt.Errorf("line %s: want FILE:LINE, not %q", address, place)
	}
	if p.launch.Source == nil {
		p.launch.Source = &Source{Ref: uint64(len(p.report.Sources) + 1)}
		p.report.Sources = append(p.report.Sources, p.launch.Source)
	}
	s := p.launch.Source
	s.Lines = append(s.Lines, SourceLine{Address: n, File: place[:at], Line: uint32(number), Text: text})
	return nil
}

// finish sorts and joins what the lines said.
func (p *parser) finish() *Report {
	r := p.report
	for _, l := range r.Launches {
		for _, a := range p.attributes {
			id := r.Names.ID(AttributePrefix + a.Name)
			if !slices.ContainsFunc(l.Metrics, func(m Metric) bool { return m.Name == id }) {
				l.Metrics = append(l.Metrics, Metric{Name: id, Value: a.Value})
			}
		}
		for i := range l.Metrics {
			if list := p.packed[l][l.Metrics[i].Name]; list != nil {
				l.Metrics[i].instances = slices.Values(list)
			}
		}
		l.SortMetrics()
	}
	if len(p.attributes) > 0 {
		d := Device{Attributes: p.attributes}
		for _, a := range p.attributes {
			if a.Name == "display_name" {
				d.Name = a.Value.String
			}
		}
		r.Session.Devices = []Device{d}
	}
	return r
}

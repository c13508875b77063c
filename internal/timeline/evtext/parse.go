package evtext

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"lacuna/internal/timeline/model"
)

// Parse reads the text form. Errors begin with the line's number. The trace is finished.
func Parse(text string) (*model.Trace, error) {
	p := newParser()
	for line := range strings.Lines(text) {
		p.lineNo++
		if err := p.line(strings.TrimRight(line, "\r\n")); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.lineNo, err)
		}
	}
	if err := p.checkReferences(); err != nil {
		return nil, err
	}
	for _, t := range p.tables {
		if t.dims.IsValid() {
			t.store()
		}
	}
	p.storeOnce()
	p.trace.Finish()
	return p.trace, nil
}

type parser struct {
	trace  *model.Trace
	tables map[string]*table // by keyword
	info   *table
	tool   *table
	epoch  *table
	lineNo int
	steps  int

	threads, processes declared
	refs               map[string]reference // the largest number referred to, by table
}

// declared is the rows of a dimension that may come into being on first use.
type declared struct {
	rows  map[uint32]int  // by number
	lines map[uint32]bool // numbers that had a line of their own
}

type reference struct {
	number uint32
	line   int
}

func newParser() *parser {
	p := &parser{trace: newTrace(), tables: make(map[string]*table), refs: make(map[string]reference)}
	p.threads = declared{make(map[uint32]int), make(map[uint32]bool)}
	p.processes = declared{make(map[uint32]int), make(map[uint32]bool)}
	e := &env{strings: &p.trace.Strings, thread: p.thread, process: p.process, refer: p.refer}
	for _, t := range e.tablesOf(p.trace) {
		p.tables[t.keyword] = t
	}
	p.info, p.tool = e.once("Info", &p.trace.Info), e.once("Tool", &p.trace.Info.Tool)
	p.epoch = e.once("Epoch", &p.trace.Epoch)
	for _, t := range p.tables {
		t.index()
	}
	p.info.index()
	p.tool.index()
	p.epoch.index()
	return p
}

func (p *parser) line(line string) error {
	keyword, rest := next(line)
	if keyword == "" || keyword[0] == '#' {
		return nil
	}
	switch keyword {
	case "info":
		return p.row(p.info, 0, rest)
	case "tool":
		return p.row(p.tool, 0, rest)
	case "epoch":
		return p.row(p.epoch, 0, rest)
	case "meta", "loss", "warning", "loaded":
		return p.once(keyword, rest)
	case "columns":
		return p.columns(rest)
	case "step":
		return p.step(rest)
	}
	t := p.tables[keyword]
	if t == nil {
		return fmt.Errorf("no table %q; tables are %s", clip(keyword), strings.Join(p.keywords(), ", "))
	}
	row := t.len()
	if number, after := next(rest); number != "" && isNumber(number) && t.startNs == nil {
		var err error
		switch {
		case t.number != nil:
			err = t.number.set(row, number)
		case t.name == "Threads":
			row, err = declare(t, &p.threads, number)
		case t.name == "Processes":
			row, err = declare(t, &p.processes, number)
		case numbered[t.name] && number != strconv.Itoa(row+1):
			err = fmt.Errorf("this is number %d, not %s", row+1, clip(number))
		case !numbered[t.name]:
			after = rest
		}
		if err != nil {
			return fmt.Errorf("%s: %w", keyword, err)
		}
		rest = after
	} else if t.name == "Threads" || t.name == "Processes" {
		return fmt.Errorf("%s: no number; want %s 1 …", keyword, keyword)
	}
	return p.row(t, row, rest)
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

func (p *parser) keywords() []string {
	out := []string{"step"}
	for k := range p.tables {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// row reads what follows the keyword into a row, which is new or one past the end.
func (p *parser) row(t *table, row int, rest string) error {
	timed := t.startNs == nil
	for {
		token, after := next(rest)
		if token == "" {
			break
		}
		known, err := t.attribute(token, row, p.lineNo)
		if pid, ok := strings.CutPrefix(token, "pid="); ok && t.name == "Threads" {
			known, err = true, p.setPid(pid, row)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.keyword, err)
		}
		if !known && !timed {
			if err := t.setTime(token, row); err != nil {
				return fmt.Errorf("%s: %w", t.keyword, err)
			}
			known, timed = true, true
		}
		if !known {
			if err := t.setRest(strings.TrimSpace(rest), row, p.lineNo); err != nil {
				return fmt.Errorf("%s: %w", t.keyword, err)
			}
			break
		}
		rest = after
	}
	if !timed {
		return fmt.Errorf("%s: no time; want START+DURATION or an instant, in ns", t.keyword)
	}
	for _, c := range t.cols {
		if c.core || c.len() > 0 {
			c.fill(row + 1)
		}
	}
	return nil
}

// setTime reads "100+200", "100+open" or "100".
func (t *table) setTime(token string, row int) error {
	start, dur, spans := strings.Cut(token, "+")
	want := "an instant"
	if t.durNs != nil {
		want = "START+DURATION"
	}
	startNs, err := parseNs(start)
	if err != nil || spans != (t.durNs != nil) {
		return fmt.Errorf("%q is neither an attribute nor a time; want %s; attributes are %s", clip(token), want,
			strings.Join(t.spellings(), ", "))
	}
	*t.startNs = append(*t.startNs, startNs)
	if !spans {
		return nil
	}
	durNs := model.OpenDurNs
	if dur != "open" {
		if durNs, err = parseNs(dur); err != nil {
			return err
		}
		if durNs > 0 && startNs > math.MaxInt64-durNs {
			return fmt.Errorf("%q ends after the last time there is", clip(token))
		}
	}
	*t.durNs = append(*t.durNs, durNs)
	return nil
}

// setRest reads the name, which is what is left of the line.
func (t *table) setRest(text string, row, line int) error {
	word := firstWord(text)
	if i := strings.IndexByte(word, '='); i > 0 && isKey(word[:i]) {
		return fmt.Errorf("no attribute %q (there are %s); quote a name that looks like one", word[:i],
			strings.Join(t.spellings(), ", "))
	}
	if t.rest == nil {
		return fmt.Errorf("%q is left over: a %s has no name; attributes are %s", clip(text), t.keyword,
			strings.Join(t.spellings(), ", "))
	}
	return t.rest.setOnce(text, row, line)
}

// once reads a line that is no row.
func (p *parser) once(keyword, rest string) error {
	first, after := next(rest)
	value, err := unquoted(strings.TrimSpace(after))
	if err != nil {
		return err
	}
	switch keyword {
	case "meta":
		key, err := unquoted(first)
		if err != nil {
			return err
		}
		p.trace.Info.Meta = append(p.trace.Info.Meta, model.KeyValue{Key: key, Value: value})
	case "warning":
		text, err := unquoted(strings.TrimSpace(rest))
		if err != nil {
			return err
		}
		p.trace.Warnings = append(p.trace.Warnings, text)
	case "loaded":
		parts, err := strconv.ParseUint(first, 0, 64)
		if err != nil {
			return fmt.Errorf("loaded: %q is not a number", clip(first))
		}
		p.trace.Loaded = model.Parts(parts)
	case "loss":
		count, after := next(after)
		code, err1 := unquoted(first)
		n, err2 := strconv.ParseInt(count, 10, 64)
		example, err3 := unquoted(strings.TrimSpace(after))
		if err1 != nil || err2 != nil || err3 != nil {
			return fmt.Errorf("loss: want loss CODE COUNT EXAMPLE")
		}
		p.trace.Losses.Add(model.LossCode(code), n, example)
	}
	return nil
}

// columns reads "columns kernel -corr +registers".
func (p *parser) columns(rest string) error {
	keyword, rest := next(rest)
	t := p.tables[keyword]
	if t == nil {
		return fmt.Errorf("columns: no table %q", clip(keyword))
	}
	if t.len() > 0 {
		return fmt.Errorf("columns: must come before the first %s", keyword)
	}
	for {
		token, after := next(rest)
		if token == "" {
			return nil
		}
		at := slices.IndexFunc(t.cols, func(c *column) bool { return c.key == token[1:] })
		if token[0] != '+' && token[0] != '-' || at < 0 || t.isTime(t.cols[at]) {
			return fmt.Errorf("columns: %q is not a column of %s with + or - before it", clip(token), keyword)
		}
		t.cols[at].core = token[0] == '+'
		rest = after
	}
}

// step reads "step 0+1000".
func (p *parser) step(rest string) error {
	t := p.tables[keywordOf("Ranges")]
	row := t.len()
	if err := p.row(t, row, rest); err != nil {
		return fmt.Errorf("step: %w", err)
	}
	if !t.rest.isDefault(row) {
		return fmt.Errorf("step: has no name; say range")
	}
	p.steps++
	return t.rest.set(row, fmt.Sprint(stepPrefix, p.steps-1))
}

// storeOnce puts Info and Epoch where they belong.
func (p *parser) storeOnce() {
	meta := p.trace.Info.Meta
	for _, x := range []struct {
		t  *table
		to any
	}{{p.info, &p.trace.Info}, {p.tool, &p.trace.Info.Tool}, {p.epoch, &p.trace.Epoch}} {
		x.t.store()
		reflect.ValueOf(x.to).Elem().Set(x.t.dims.Index(0))
	}
	p.trace.Info.Meta = meta
}

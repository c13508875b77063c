package instrument

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The kinds of instrumentation.
const (
	Torch = "torch" // torch.profiler
	NVTX  = "nvtx"  // NVTX ranges
)

// Kinds is what Patch takes.
func Kinds() []string { return []string{Torch, NVTX} }

// A Result is an instrumented script.
type Result struct {
	Loop   Loop
	Text   string   // the whole new script
	Phases []string // what was put a name on, in the script's order: data, forward, backward, optimizer
}

// A ChoiceError says that a script has several loops that may be meant, or none at the line that was asked for.
type ChoiceError struct {
	Asked int // line; 0: none was
	Loops []Loop
}

func (e *ChoiceError) Error() string {
	if e.Asked > 0 {
		return fmt.Sprintf("line %d begins no loop that trains or infers", e.Asked)
	}
	return fmt.Sprintf("%d loops may be the one that is meant", len(e.Loops))
}

// A HandError says that a script cannot be instrumented by changing it here and there: what to do is in Advice.
type HandError struct {
	Why    string
	Advice string // text to paste or to do, for people
}

func (e *HandError) Error() string { return e.Why }

// Patch instruments the hot loop of a script. Line chooses the loop that begins there (0: the only one, or the only one
// that trains); function, if not "", only looks into the function of that name.
func Patch(kind, source, function string, chosen int) (*Result, error) {
	s, err := scan(source)
	if err != nil {
		return nil, err
	}
	if strings.Contains(source, "lacuna_steps(") {
		return nil, &HandError{"the script is instrumented already: it has lacuna_steps", Generic(kind)}
	}
	if kind == Torch && s.profiles() {
		return nil, &HandError{"the script uses torch.profiler already, and two of them cannot record at once: let " +
			"it write a trace with export_chrome_trace, or take it out first", Generic(kind)}
	}
	l, err := s.choose(kind, function, chosen)
	if err != nil {
		return nil, err
	}
	if l.Refused != "" {
		return nil, &HandError{fmt.Sprintf("the loop at line %d cannot be changed by its header alone: %s", l.Line,
			l.Refused), Generic(kind)}
	}
	var edits []edit
	edits = append(edits, s.wrap(l)...)
	phases, names := s.phases(l)
	edits = append(edits, phases...)
	edits = append(edits, s.helper(kind))
	return &Result{Loop: *l, Text: apply(source, edits), Phases: names}, nil
}

// usesProfiler is the making of a profiler of PyTorch.
var usesProfiler = regexp.MustCompile(`\bprofile\(.*\bactivities\b|\btorch\.(profiler|autograd\.profiler)\.profile\(`)

// profiles says whether the script has a profiler of PyTorch of its own.
func (s *script) profiles() bool {
	return slices.ContainsFunc(s.lines, func(l line) bool {
		return usesProfiler.MatchString(strings.ReplaceAll(l.code,
			"\n", " "))
	})
}

// choose is the loop to instrument.
func (s *script) choose(kind, function string, chosen int) (*Loop, error) {
	all := s.loops()
	if function != "" {
		all = slices.DeleteFunc(all, func(l Loop) bool { return l.Function != function })
	}
	if chosen > 0 {
		if l := s.loopAt(chosen); l != nil { // also one that nothing speaks for: the user knows
			return l, nil
		}
		return nil, &ChoiceError{chosen, all}
	}
	training := slices.DeleteFunc(slices.Clone(all), func(l Loop) bool { return l.Kind != "training" })
	switch {
	case len(training) == 1:
		return &training[0], nil
	case len(training) == 0 && len(all) == 1:
		return &all[0], nil
	case len(all) > 0:
		if len(training) > 0 {
			all = training
		}
		return nil, &ChoiceError{0, all}
	}
	if f := s.framework(kind); f != nil {
		return nil, f
	}
	return nil, &HandError{"no loop in it trains or infers as far as can be seen; --line N names the line of one",
		Generic(kind)}
}

// loopAt is the loop whose header a line belongs to.
func (s *script) loopAt(number int) *Loop {
	for _, l := range s.loops() {
		if l.Line == number {
			return &l
		}
	}
	for i := range s.lines {
		if s.lines[i].number == number && isLoop(s.lines[i].code) {
			return &Loop{Line: number, Header: s.header(i), Function: s.inFunctions()[i], Kind: "loop",
				Refused: s.refused(i), at: i, end: s.blockEnd(i)}
		}
	}
	return nil
}

// An edit puts text in the place of the bytes from and to.
type edit struct {
	from, to int
	text     string
}

// apply makes the edits; they do not overlap.
func apply(source string, edits []edit) string {
	// what is put in goes before what is replaced there
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(source[at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.WriteString(source[at:])
	return b.String()
}

// wrap makes a loop's header run through lacuna_steps, which sees every pass through the body begin and end, whether it
// ends by falling through, continue, break, return or an exception:
//
//	for batch in loader:     for batch in lacuna_steps(loader):
//	while step < total:      for _lacuna in lacuna_while(lambda: step < total):
func (s *script) wrap(l *Loop) []edit {
	head := &s.lines[l.at]
	c := colon(head.code)
	start := len(head.code) - len(strings.TrimLeft(head.code, " \t\f"))
	if strings.HasPrefix(head.code[start:], "while") {
		from := start + len("while")
		condition := strings.TrimSpace(s.source[head.from+from : head.from+c])
		if strings.Contains(condition, "\n") && !enclosed(condition) {
			condition = "(" + condition + ")"
		}
		return []edit{{head.from + start, head.from + c, "for _lacuna in lacuna_while(lambda: " + condition + ")"}}
	}
	from, to := iterable(head.code)
	open, end := "lacuna_steps(", ")"
	if bareTuple(head.code[from:to]) { // for x in a, b:
		open, end = "lacuna_steps((", "))"
	}
	return []edit{{head.from + from, head.from + from, open}, {head.from + to, head.from + to, end}}
}

// enclosed says whether an expression is in brackets, so that it may go over several lines.
func enclosed(text string) bool {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '\n':
			if depth == 0 {
				return false
			}
		}
	}
	return true
}

// iterable is where the expression that a for loop runs over stands in its header; empty: it is no such header.
func iterable(code string) (from, to int) {
	c := colon(code)
	from = inAfter(code, strings.Index(code, "for")+len("for"))
	if c < 0 || from < 0 || from > c {
		return 0, 0
	}
	for from < c && strings.IndexByte(" \t\r\n\\", code[from]) >= 0 {
		from++
	}
	for to = c; to > from && strings.IndexByte(" \t\r\n\\", code[to-1]) >= 0; {
		to--
	}
	return from, to
}

// inAfter is the place after the word "in" of a for; -1: there is none.
func inAfter(code string, at int) int {
	depth := 0
	for i := at; i < len(code); i++ {
		switch code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case 'i':
			if depth == 0 && strings.HasPrefix(code[i:], "in") && i > at && !isWord(code[i-1]) && i+2 < len(code) &&
				!isWord(code[i+2]) {
				return i + 2
			}
		}
	}
	return -1
}

// bareTuple says whether an expression has a comma outside brackets.
func bareTuple(code string) bool {
	depth := 0
	for i := range len(code) {
		switch code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				return true
			}
		}
	}
	return false
}

// compound is the words that a line may begin with before which no "with" can stand.
var compound = regexp.MustCompile(`^(if|elif|else|for|while|with|try|except|finally|def|class|async|match|case|@|global|nonlocal|import|from|return|break|continue|pass|raise|assert|del)\b|^@`)

// phases puts names on the lines of the loop's body that do the step's parts: with lacuna_phase("backward"):
// loss.backward(). Only whole statements are named, so that the script stays the same in all else.
func (s *script) phases(l *Loop) ([]edit, []string) {
	var out []edit
	var names []string
	if !strings.HasPrefix(strings.TrimLeft(s.lines[l.at].code, " \t\f"), "while") {
		names = append(names, "data") // lacuna_steps names what fetches the next item
	}
	for i := l.at + 1; i < l.end; i++ {
		line := &s.lines[i]
		code := strings.TrimLeft(line.code, " \t\f")
		if definition.MatchString(line.code) { // what it defines does not run here
			i = s.blockEnd(i) - 1
			continue
		}
		if compound.MatchString(code) || hasWord(code, "yield") {
			continue
		}
		name := phaseOf(marksOf(line.code))
		if name == "" {
			name = s.calledPhase(code)
		}
		if name == "" {
			continue
		}
		at := line.from + len(line.code) - len(code)
		out = append(out, edit{at, at, fmt.Sprintf("with lacuna_phase(%q): ", name)})
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return out, names
}

// calledPhase is what a line does by the functions of the script that it calls. One that computes gradients seldom
// does that alone, whatever its losses and optimizers are called: it is taken for the whole step, which has a name,
// unless it says otherwise.
func (s *script) calledPhase(code string) string {
	m := s.called(code)
	if m.trains() && m.model || m.backward && (m.step || !strings.Contains(code, "backward")) {
		return ""
	}
	return phaseOf(m)
}

// phaseOf is what a line does in a step; "": nothing that has a name.
func phaseOf(m marks) string {
	switch {
	case m.backward:
		return "backward"
	case m.step:
		return "optimizer"
	case m.model:
		return "forward"
	case m.generate:
		return "generate"
	}
	return ""
}

// helper puts the functions that the changed lines call after the imports at the script's beginning. They import torch
// when they are first called: an import there might come before what the script sets in the environment.
func (s *script) helper(kind string) edit {
	at, first := 0, 0
	if strings.HasPrefix(s.source, "\ufeff") {
		at = len("\ufeff")
	}
	for i := range s.lines {
		l := &s.lines[i]
		code := strings.TrimSpace(l.code)
		doc := i == 0 && code != "" && strings.IndexByte(`"'rRuU`, code[0]) >= 0 && strings.ContainsAny(code, `"'`) &&
			!strings.Contains(code, "=") && !strings.Contains(code, "(")
		if l.indent > 0 || !doc && !strings.HasPrefix(code, "import ") && !strings.HasPrefix(code, "from ") {
			break
		}
		at, first = l.to, i+1
	}
	text := strings.ReplaceAll(helperText(kind), "\n", s.eol)
	if first == 0 { // before the first line, but after #! and the encoding
		at = s.afterHead(at)
		return edit{at, at, text + s.eol + s.eol}
	}
	if strings.HasPrefix(s.source[at:], "\r") {
		at++
	}
	if strings.HasPrefix(s.source[at:], "\n") {
		at++
		return edit{at, at, s.eol + s.eol + text}
	}
	return edit{at, at, s.eol + s.eol + s.eol + text}
}

// afterHead is the place after the comments that a script begins with.
func (s *script) afterHead(at int) int {
	for strings.HasPrefix(s.source[at:], "#") {
		end := strings.IndexByte(s.source[at:], '\n')
		if end < 0 {
			return len(s.source)
		}
		at += end + 1
	}
	return at
}

package instrument

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// A Loop is a loop of a script that may be the one that trains or serves.
type Loop struct {
	Line     int    // of its header, from 1
	Header   string // on one line: "for batch in loader:"
	Function string // that it is in; "": of the module
	Kind     string // training, inference
	Why      string // what in it says so
	Refused  string // why it cannot be patched; "": it can

	at     int // in script.lines
	end    int // the first logical line after it
	score  int
	direct marks
}

// marks is what stands in a loop's body, each once.
type marks struct{ backward, step, model, helper, generate bool }

// How much each sign of a training loop counts. A loop is a candidate from minScore on.
const (
	scoreBackward = 5
	scoreStep     = 4
	scoreModel    = 3
	scoreGenerate = 4
	scoreHelper   = 3
	scoreIterates = 2
	minScore      = 3
)

var (
	backwardCall = regexp.MustCompile(`\.backward\(|\bbackward\(`)
	// stepCall is .step( of what is called like an optimizer: env.step() and scheduler.step() do not end a training
	// step.
	stepCall     = regexp.MustCompile(`(?i)\b(\w*opt(im|imizer)?\w*|scaler|engine|model_engine|trainer)(\[\w+\])?\.step\(|\bopt\w*_step\(`)
	modelCall    = regexp.MustCompile(`(?i)(^|[^\w.])((self\.)?\w*(model|net|network|unet|transformer|llm|pipe|pipeline|encoder|decoder|generator|discriminator)|net[a-z]|policy)(_\w+)?\(|\.forward\(`)
	generateCall = regexp.MustCompile(`\.(generate|predict|infer|sample)\(`)
	helperCall   = regexp.MustCompile(`(?i)(^|[^\w])(train_step|training_step|train_batch|train_one_batch|train_one_step|run_step|update_step|inference_step|decode_step|one_step)\(|(^|[^\w.])step\(`)
	iterates     = regexp.MustCompile(`(?i)(loader|batches|dataset|batch_iter|minibatch|steps|iters|iterations|requests|prompts|tqdm|_dl\b|\bdl\b)`)
	notModel     = regexp.MustCompile(`(?i)\b(create|build|make|get|load|init|save|setup|wrap|compile)_?\w*(model|net|network|pipeline|encoder|decoder)\w*\(`)
	// overOptimizers is a loop that runs over a program's optimizers.
	overOptimizers = regexp.MustCompile(`(?i)\bin\s+.*opt(s|im\w*s?)?\b`)
	callOf         = regexp.MustCompile(`(?:^|[^\w.])(?:self\.)?([A-Za-z_]\w*)\(`)
	definition     = regexp.MustCompile(`^\s*(?:async\s+)?def\s+(\w+)`)
)

// marksOf is what a logical line says of the loop that it is in.
func marksOf(code string) marks {
	return marks{backward: backwardCall.MatchString(code) && !definition.MatchString(code),
		step: stepCall.MatchString(code),
		model: modelCall.MatchString(code) && !notModel.MatchString(code) && !definition.MatchString(code) &&
			!strings.HasPrefix(strings.TrimSpace(code), "class "),
		generate: generateCall.MatchString(code), helper: helperCall.MatchString(code) && !definition.MatchString(code)}
}

func (m *marks) add(x marks) {
	m.backward, m.step, m.model = m.backward || x.backward, m.step || x.step, m.model || x.model
	m.helper, m.generate = m.helper || x.helper, m.generate || x.generate
}

func (m marks) trains() bool { return m.backward || m.step }

// loops is every loop that may be the hot one, surest first.
func (s *script) loops() []Loop {
	own := make([]marks, len(s.lines)) // of each line, without what it calls
	for i := range s.lines {
		own[i] = marksOf(s.lines[i].code)
	}
	s.own = s.functions(own)
	within := s.inFunctions()
	var all []Loop
	var around []int // the loops around a line, outermost first
	for i := range s.lines {
		for len(around) > 0 && i >= all[around[len(around)-1]].end {
			around = around[:len(around)-1]
		}
		code := s.lines[i].code
		switch {
		case isLoop(code):
			around = append(around, len(all))
			all = append(all, Loop{Line: s.lines[i].number, Header: s.header(i), Function: within[i], at: i,
				end: s.blockEnd(i)})
			if c := colon(code); c >= 0 { // for x in y: step(x)
				all[len(all)-1].direct = marksOf(code[c:])
				all[len(all)-1].direct.add(s.called(code[c:]))
			}
		case len(around) > 0:
			l := &all[around[len(around)-1]]
			l.direct.add(own[i])
			l.direct.add(s.called(code))
		}
	}
	s.gather(all)
	var out []Loop
	for k := range all {
		if l := &all[k]; l.judge(s) {
			out = append(out, *l)
		}
	}
	slices.SortStableFunc(out, func(a, b Loop) int {
		return cmp.Or(cmp.Compare(b.score, a.score),
			cmp.Compare(a.Line, b.Line))
	})
	return out
}

// gather gives a loop that ends a training step itself what the loops inside it do: those accumulate gradients over
// smaller batches, and the step is the outer one.
func (s *script) gather(all []Loop) {
	for k := len(all) - 1; k > 0; k-- { // for opt in optimizers: opt.step() is a line of the step around it
		inner := &all[k]
		if d := inner.direct; !d.step || d.backward || d.model || !overOptimizers.MatchString(inner.Header) {
			continue
		}
		for j := k - 1; j >= 0; j-- {
			if outer := &all[j]; outer.at < inner.at && inner.at < outer.end {
				outer.direct.add(inner.direct)
				inner.direct = marks{}
				break
			}
		}
	}
	for k := len(all) - 1; k >= 0; k-- {
		outer := &all[k]
		if !outer.direct.step {
			continue
		}
		for j := k + 1; j < len(all) && all[j].at < outer.end; j++ {
			inner := &all[j]
			if inner.direct.step {
				continue
			}
			outer.direct.add(inner.direct)
			inner.direct = marks{}
		}
	}
}

// judge fills in what a loop is, and says whether it is a candidate.
func (l *Loop) judge(s *script) bool {
	var why []string
	add := func(is bool, score int, text string) {
		if is {
			l.score += score
			why = append(why, text)
		}
	}
	d := l.direct
	add(d.backward, scoreBackward, "calls backward")
	add(d.step, scoreStep, "steps an optimizer")
	add(d.model, scoreModel, "calls a model")
	add(d.generate, scoreGenerate, "generates")
	add(d.helper, scoreHelper, "calls per step")
	header := s.lines[l.at].code
	if c := colon(header); c >= 0 {
		header = header[:c]
	}
	add(len(why) > 0 && iterates.MatchString(header), scoreIterates, "runs over batches or steps")
	l.Kind = "inference"
	if d.trains() {
		l.Kind = "training"
		l.score += 10 // whatever else there is, it is that loop that people mean
	}
	l.Why = strings.Join(why, ", ")
	l.Refused = s.refused(l.at)
	return l.score >= minScore
}

// refused says why a loop cannot be patched by changing its header; "": it can.
func (s *script) refused(i int) string {
	code := s.lines[i].code
	trimmed := strings.TrimSpace(code)
	switch {
	case strings.HasPrefix(trimmed, "async "):
		return "it is an async for"
	case strings.HasPrefix(trimmed, "while") && (strings.Contains(code, ":=") || strings.Contains(code, "super(") ||
		hasWord(code, "await") || hasWord(code, "yield")):
		return "its condition assigns, awaits or calls super"
	case colon(code) < 0:
		return "its header could not be read"
	}
	if from, to := iterable(code); from == to && strings.HasPrefix(trimmed, "for") {
		return "its header could not be read"
	}
	return ""
}

func hasWord(code, word string) bool {
	for at := 0; ; {
		i := strings.Index(code[at:], word)
		if i < 0 {
			return false
		}
		i += at
		at = i + len(word)
		if (i == 0 || !isWord(code[i-1])) && (at == len(code) || !isWord(code[at])) {
			return true
		}
	}
}

// isLoop says whether a logical line is the header of a loop.
func isLoop(code string) bool {
	t := strings.TrimLeft(code, " \t\f")
	t = strings.TrimLeft(strings.TrimPrefix(t, "async "), " \t")
	for _, word := range []string{"for", "while"} {
		if rest, ok := strings.CutPrefix(t, word); ok && rest != "" && !isWord(rest[0]) &&
			strings.IndexByte("=.,:)", rest[0]) < 0 {
			return true
		}
	}
	return false
}

// colon is where the colon that ends a compound statement's header is; -1: there is none.
func colon(code string) int {
	depth := 0
	for i := range len(code) {
		switch code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ':':
			if depth == 0 && !strings.HasPrefix(code[i:], ":=") && !hasWord(lastClause(code[:i]), "lambda") {
				return i
			}
		}
	}
	return -1
}

// lastClause is what stands after the last colon.
func lastClause(code string) string { return code[strings.LastIndexByte(code, ':')+1:] }

// header is a loop's header on one line.
func (s *script) header(i int) string {
	text := s.text(&s.lines[i])
	if c := colon(s.lines[i].code); c >= 0 {
		text = text[:c+1]
	}
	return strings.Join(strings.Fields(text), " ")
}

// blockEnd is the first logical line after the block that line i heads.
func (s *script) blockEnd(i int) int {
	end := i + 1
	for end < len(s.lines) && s.lines[end].indent > s.lines[i].indent {
		end++
	}
	return end
}

// inFunctions is the name of the function around each line; "": none.
func (s *script) inFunctions() []string {
	type open struct {
		indent int
		name   string
	}
	out := make([]string, len(s.lines))
	var around []open
	for i := range s.lines {
		l := &s.lines[i]
		for len(around) > 0 && around[len(around)-1].indent >= l.indent {
			around = around[:len(around)-1]
		}
		if len(around) > 0 {
			out[i] = around[len(around)-1].name
		}
		if found := definition.FindStringSubmatch(l.code); found != nil {
			around = append(around, open{l.indent, found[1]})
		}
	}
	return out
}

// functions is what the functions of a script do, by name: whether they train, and call a model.
func (s *script) functions(own []marks) map[string]marks {
	out := make(map[string]marks)
	for i := range s.lines {
		found := definition.FindStringSubmatch(s.lines[i].code)
		if found == nil {
			continue
		}
		m := out[found[1]]
		for k, end := i+1, s.blockEnd(i); k < end; k++ {
			if isLoop(s.lines[k].code) { // it has a loop of its own, which is then the step
				m = marks{}
				break
			}
			m.add(own[k])
		}
		out[found[1]] = m
	}
	return out
}

// called is what the script's own functions that a line calls do.
func (s *script) called(code string) (m marks) {
	if definition.MatchString(code) {
		return m
	}
	for _, call := range callOf.FindAllStringSubmatch(code, -1) {
		m.add(s.own[call[1]])
	}
	return m
}

package kineto

import (
	"bytes"

	"lacuna/internal/timeline/model"
)

// A piece is a value's place in the parser's bytes, quotes included.
type piece struct{ from, to int32 }

// A parser turns runs of bytes into parts. It is not safe for concurrent use.
type parser struct {
	want  *want
	names *interner
	id    int // tells parsers apart: a part's text IDs are those of one parser

	keys            map[string]*keyNode
	first, firstArg keyNode // before the first key of an event, and of its arguments

	b    []byte // the run
	base int64  // where b begins in the unpacked file
	out  *part

	// the event being read
	kind   kind
	ph     byte
	cat    piece
	hasCat bool
	name   piece
	pid    piece
	tid    piece
	ts     piece
	dur    piece
	flow   piece
	args   piece // of an event whose kind is not known yet
	have   fieldSet
	value  [fieldCount]piece

	corrless bool // the last event was GPU work or a call without correlation ID
}

func newParser(id int, w *want) *parser {
	return &parser{want: w, names: newInterner(), id: id, keys: make(map[string]*keyNode)}
}

// How a run of bytes ended.
type ending struct {
	at    int // what is before b[at] is done with
	state state
}

type state uint8

const (
	between state = iota // after an event, or before the first
	inside               // an event begins at b[at] and does not end in b
	closed               // b[at-1] is the bracket that closes the events
	lost                 // the event at b[at] is broken and no other seems to begin after it
)

// run parses b, which begins between two events, into out.
func (p *parser) run(b []byte, base int64, out *part) ending {
	p.b, p.base, p.out = b, base, out
	out.reset(p.id)
	p.corrless = false
	end := p.elements()
	out.texts = p.names.fresh
	p.names.fresh = nil
	p.b, p.out = nil, nil
	return end
}

const (
	// suspectBytes is how long an event is before it is looked at whether it is one.
	suspectBytes = 64 << 10
	// maxBroken is how many events may be broken before each is looked at first: a broken one
	// can cost a scan of all that follows, a whole one never costs more than itself.
	maxBroken = 16
)

func (p *parser) elements() ending {
	b := p.b
	broken := 0
	var gap []byte // what was between the last two events, up to the bracket
	for i := 0; ; {
		if n := len(gap); n > 0 && len(b)-i > n && string(b[i:i+n]) == string(gap) {
			i += n - 1
		} else {
			from := i
			for i < len(b) && (isSpace[b[i]] || b[i] == ',') {
				i++
			}
			if i < len(b) && b[i] == '{' {
				gap = b[from : i+1]
			}
		}
		if i == len(b) {
			return ending{i, between}
		}
		next := bad
		switch b[i] {
		case '{':
			if broken < maxBroken || strictEnd(b, i) != bad {
				next = p.event(i + 1)
			}
			if next == short && len(b)-i > suspectBytes && strictEnd(b, i) == bad {
				next = bad // a bracket is missing: the event does not go on behind b
			}
		case ']':
			return ending{i + 1, closed}
		case '[':
			if at := skipSpace(b, i+1); at < len(b) && b[at] == '{' {
				next = i + 1 // a stray bracket before an event: the event is worth more than the bracket
				p.out.events++
				p.lose(model.LossBadEvent, i, "a bracket between two events", nil)
				break
			}
			fallthrough
		default:
			if next = skipValue(b, i); next > 0 {
				p.out.events++
				p.lose(model.LossBadEvent, i, "is not an event", b[i:next])
			}
		}
		switch next {
		case short:
			return ending{i, inside}
		case bad:
			broken++
			p.out.events++
			p.lose(model.LossBadEvent, i, "is not JSON", nil)
			if next = nextEvent(b, i+1); next < 0 {
				return ending{i, lost}
			}
		}
		i = next
	}
}

// event reads the event whose first key is at or behind i, and is the index behind its bracket.
func (p *parser) event(i int) int {
	p.kind, p.ph, p.hasCat, p.have = kindUnset, 0, false, 0
	none := piece{}
	p.cat, p.name, p.pid, p.tid, p.ts, p.dur, p.flow, p.args = none, none, none, none, none, none, none, none
	b, last := p.b, &p.first
	for {
		node, at := p.member(i, last)
		if at < 0 {
			return at
		}
		if node.closes {
			p.emit()
			return at
		}
		last, i = node, at
		end := 0
		if node.top == topArgs {
			end = p.arguments(i)
		} else if end = skipValue(b, i); end > 0 {
			p.note(node.top, piece{int32(i), int32(end)})
		}
		if end < 0 {
			return end
		}
		if i = end; p.kind == kindUnwanted {
			p.out.events++
			return skipNested(b, i, 1)
		}
	}
}

// note takes note of one key of an event.
func (p *parser) note(key topKey, v piece) {
	switch key {
	case topPh:
		p.ph = 0
		if text := p.inner(v); len(text) == 1 {
			p.ph = text[0]
		}
		p.classify()
	case topCat:
		p.cat, p.hasCat = v, true
		p.classify()
	case topName:
		p.name = v
		p.judgeName()
	case topPid:
		p.pid = v
	case topTid:
		p.tid = v
	case topTs:
		p.ts = v
	case topDur:
		p.dur = v
	case topID:
		p.flow = v
	}
}

// classify finds the kind of the event as soon as its phase and, where that matters, its category are known.
func (p *parser) classify() {
	switch p.ph {
	case 'X':
		if !p.hasCat {
			return
		}
		p.kind = spanKind(p.inner(p.cat))
	case 'i', 'I', 'n', 'R':
		p.kind = kindInstant
	case 'M':
		p.kind = kindMeta
	case 's', 'f', 't':
		p.kind = kindFlow
	case 'C':
		p.kind = kindCounter
	case 0:
		return
	default:
		p.kind = kindUnknown
	}
	if p.want.skip[p.kind] {
		p.kind = kindUnwanted
	}
	p.judgeName()
}

// judgeName drops what is looked at for the sake of few names only: calls of HIP, which say how
// kernels were launched, and steps that old files give as operators.
func (p *parser) judgeName() {
	if p.name.to == 0 {
		return
	}
	switch p.kind {
	case kindCall, kindDriverCall:
		if !p.want.Wants(model.PartCalls) && !bytes.HasPrefix(p.inner(p.name), []byte("hip")) {
			p.kind = kindUnwanted
		}
	case kindOp:
		if !p.want.Wants(model.PartOps|model.PartOpArgs) && !bytes.HasPrefix(p.inner(p.name), profilerStep) {
			p.kind = kindUnwanted
		}
	}
}

// arguments reads the value of "args" at i.
func (p *parser) arguments(i int) int {
	b := p.b
	wanted := p.want.args[p.kind]
	if b[i] != '{' || wanted == 0 {
		end := skipValue(b, i)
		if end > 0 {
			p.args = piece{int32(i), int32(end)}
		}
		return end
	}
	i++
	for last := &p.firstArg; ; {
		node, at := p.member(i, last)
		if at < 0 || node.closes {
			return at
		}
		end := skipValue(b, at)
		if end < 0 {
			return end
		}
		if f := node.field; wanted.has(f) {
			p.have |= 1 << f
			p.value[f] = piece{int32(at), int32(end)}
		}
		last, i = node, end
	}
}

// raw is the bytes of a piece, and inner those without quotes.
func (p *parser) raw(v piece) []byte { return p.b[v.from:v.to] }

func (p *parser) inner(v piece) []byte {
	if v.to > v.from && p.b[v.from] == '"' {
		return p.b[v.from+1 : v.to-1]
	}
	return nil
}

// lose counts a loss and keeps where the first one is.
func (p *parser) lose(code model.LossCode, at int, what string, value []byte) {
	if p.out.losses.Count(code) > 0 {
		p.out.losses.Add(code, 1, "")
		return
	}
	p.out.losses.Add(code, 1, example(p.base+int64(at), what, value))
}

package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/snappy"
)

// A Lost is what a Scanner met and could not give.
type Lost struct {
	Bytes       int64 // that belong to no whole chunk, without those that the end cut off
	Places      int64 // stretches of such bytes
	First       int64 // where the first of them begins, in bytes from the start
	Chunks      int64 // missing by their streams' count
	Unexplained int64 // whole chunks that their stream's schema does not fit
	Cut         int64 // bytes at the end that begin a chunk which the end cuts off
	Why         error // why the input could not be read to its end; nil: it could
}

// Any says whether anything was lost.
func (l Lost) Any() bool {
	return l.Bytes > 0 || l.Chunks > 0 || l.Unexplained > 0 || l.Cut > 0 || l.Why != nil
}

// A Process is what one process wrote: a stream.
type Process struct {
	Index  int    // from 0, in the order of the input
	Begin  Begin  // zero, with Format 0, if the stream's beginning is damaged
	Schema Schema // until the stream's own is met, that of this package

	next uint32 // the sequence number that is expected
}

// A Chunk is a whole chunk of a stream. What it holds is valid until the next call of Next.
type Chunk struct {
	Process  *Process
	Type     int    // TypeBegin, TypeSchema, TypeTexts, TypeNote, or a table's number
	Sequence uint32 // place in its stream
	Count    int    // rows or texts
	Table    *Table // nil: no table, or one that the schema does not name
	Payload  []byte // unpacked
}

// A Scanner reads the chunks of one spool or several, one after the other. After damage it goes on at the next
// whole chunk. It holds one chunk in memory and no more than a small multiple of the bytes that it was given.
type Scanner struct {
	in    io.Reader
	buf   []byte // what is read and not consumed is buf[at:]
	at    int
	pos   int64 // of buf[at] in the input
	ended bool  // the input has no more

	plain  []byte // the unpacked payload
	chunk  Chunk
	lost   Lost
	from   *Process // whose chunks come; nil: none came yet
	count  int
	passed int64 // bytes passed over since the last whole chunk
	cutAt  int64 // where, among them, a chunk begins that needs more bytes than there are; -1: none does
	wasted int64 // bytes of payloads that were checked in vain
}

// NewScanner reads from in. It buffers by itself.
func NewScanner(in io.Reader) *Scanner {
	return &Scanner{in: in, cutAt: -1}
}

// current is the schema of this package, as text and parsed. Nobody changes it.
var current = sync.OnceValues(func() (string, Schema) {
	text := SchemaText()
	schema, err := ParseSchema(text)
	if err != nil {
		panic(err) // not reached: a test parses it
	}
	return text, schema
})

// schemaOf parses a stream's schema. Most have that of this package.
func schemaOf(text []byte) Schema {
	known, schema := current()
	if string(text) != known {
		schema, _ = ParseSchema(string(text)) // what could not be read is a table that the schema does not name
	}
	return schema
}

// newProcess starts a stream.
func (s *Scanner) newProcess(b Begin) {
	_, schema := current()
	s.from = &Process{Index: s.count, Begin: b, Schema: schema}
	s.count++
}

// Chunk is the chunk that Next found.
func (s *Scanner) Chunk() *Chunk { return &s.chunk }

// Lost is what was lost up to here.
func (s *Scanner) Lost() Lost { return s.lost }

// maxWaste is how many bytes are checked in vain before a chunk that is not whole is passed over at once. A file that
// is merely damaged does not come near it; one made to be slow does.
const maxWaste = 256 << 20

// Next finds the next whole chunk. It says false at the end.
func (s *Scanner) Next() bool {
	for s.fill(headerBytes) {
		h, ok := parseHeader(s.buf[s.at:])
		if !ok {
			s.pass()
			continue
		}
		size := headerBytes + int(h.stored)
		if !s.fill(size) {
			if s.cutAt < 0 {
				s.cutAt = s.pos
			}
			s.pass()
			continue
		}
		payload, ok := s.unpack(h, s.buf[s.at+headerBytes:s.at+size])
		if ok && h.kind == TypeBegin {
			ok = s.begin(payload)
		}
		if !ok {
			if s.wasted += int64(size); s.wasted > maxWaste {
				s.passed += int64(size - 1)
				s.consume(size - 1)
			}
			s.pass()
			continue
		}
		s.endPassed(false)
		s.consume(size)
		if s.place(h, payload) {
			return true
		}
	}
	if rest := len(s.buf) - s.at; rest > 0 {
		if s.cutAt < 0 && bytes.HasPrefix([]byte(Magic), s.buf[s.at:min(len(s.buf), s.at+len(Magic))]) {
			s.cutAt = s.pos
		}
		s.passed += int64(rest)
		s.consume(rest)
	}
	s.endPassed(true)
	return false
}

// unpack checks and unpacks a payload.
func (s *Scanner) unpack(h header, stored []byte) (plain []byte, ok bool) {
	if checksum(stored) != h.payloadCRC {
		return nil, false
	}
	if h.flags&flagSnappy == 0 {
		return stored, true
	}
	if n, err := snappy.DecodedLen(stored); err != nil || n != int(h.plain) || n > maxRatio*len(stored)+64 {
		return nil, false
	}
	plain, err := snappy.Decode(s.plain[:cap(s.plain)], stored)
	if err != nil {
		return nil, false
	}
	s.plain = plain
	return plain, true
}

// maxRatio bounds what a payload can unpack to: Snappy's densest element makes 64 bytes of 3.
const maxRatio = 22

// begin starts a stream. It says false if payload is no beginning of one.
func (s *Scanner) begin(payload []byte) bool {
	var b Begin
	if json.Unmarshal(payload, &b) != nil || b.Format <= 0 {
		return false
	}
	s.newProcess(b)
	return true
}

// place gives a whole chunk to its stream. It says false of a chunk that nothing explains.
func (s *Scanner) place(h header, payload []byte) bool {
	if s.from == nil || h.kind != TypeBegin && h.sequence < s.from.next {
		s.newProcess(Begin{}) // another stream, whose beginning is lost
	}
	p := s.from
	if h.kind != TypeBegin {
		s.lost.Chunks += int64(h.sequence - p.next)
	}
	p.next = h.sequence + 1
	s.chunk = Chunk{Process: p, Type: int(h.kind), Sequence: h.sequence, Count: int(h.rows), Payload: payload}
	switch h.kind {
	case TypeBegin, TypeTexts, TypeNote:
	case TypeSchema:
		p.Schema = schemaOf(payload)
	default:
		t := p.Schema[int(h.kind)]
		if t != nil && (t.Size == 0 || int64(h.rows)*int64(t.Size) != int64(len(payload))) {
			s.lost.Unexplained++
			return false
		}
		s.chunk.Table = t
	}
	return true
}

// pass moves on to the next place at which a chunk may begin.
func (s *Scanner) pass() {
	next := bytes.Index(s.buf[s.at+1:], []byte(Magic))
	n := next + 1
	if next < 0 {
		n = max(1, len(s.buf)-s.at-(len(Magic)-1)) // the last bytes may be the beginning of one
	}
	s.passed += int64(n)
	s.consume(n)
}

// endPassed accounts for the bytes that were passed over, up to here.
func (s *Scanner) endPassed(end bool) {
	n := s.passed
	begin := s.pos - n
	if end && s.cutAt >= 0 {
		s.lost.Cut = s.pos - s.cutAt
		n -= s.lost.Cut
	}
	if n > 0 {
		if s.lost.Places == 0 {
			s.lost.First = begin
		}
		s.lost.Bytes += n
		s.lost.Places++
	}
	s.passed, s.cutAt = 0, -1
}

func (s *Scanner) consume(n int) {
	s.at += n
	s.pos += int64(n)
}

// fill reads until n bytes are there. It says false if there are not that many.
func (s *Scanner) fill(n int) bool {
	for idle := 0; len(s.buf)-s.at < n && !s.ended; {
		if s.at > 0 && (len(s.buf) == cap(s.buf) || s.at == len(s.buf)) {
			s.buf = s.buf[:copy(s.buf, s.buf[s.at:])]
			s.at = 0
		}
		if len(s.buf) == cap(s.buf) {
			s.buf = append(make([]byte, 0, max(64<<10, 2*cap(s.buf))), s.buf...)
		}
		got, err := s.in.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+got]
		if idle++; got > 0 {
			idle = 0
		}
		if err == nil && idle > 100 {
			err = io.ErrNoProgress
		}
		if err != nil {
			s.ended = true
			if !errors.Is(err, io.EOF) {
				s.lost.Why = err
			}
		}
	}
	return len(s.buf)-s.at >= n
}

package spool

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/snappy"
)

// chunkBytes is how much of a table is gathered before it is written: large enough to pack well, small enough that a
// process that is killed loses little.
const chunkBytes = 256 << 10

// A Writer writes one stream. Its methods may be called from several goroutines. The first error stays; every later
// call returns it and writes nothing.
type Writer struct {
	mu       sync.Mutex
	out      chunks
	texts    map[string]Text
	newTexts []byte // not yet written: they go before the next row
	newCount uint32
	tables   map[int]*pending
	closed   bool
}

// pending is the rows of a table that are not yet written.
type pending struct {
	rows  uint32
	bytes []byte
}

// NewWriter begins a stream on w: writes who begins it, and the schema. w gets whole chunks, one a Write.
func NewWriter(w io.Writer, begin Begin) (*Writer, error) {
	begin.Format = Format
	said, err := json.Marshal(begin)
	if err != nil {
		return nil, fmt.Errorf("begin of a spool: %w", err)
	}
	s := &Writer{out: chunks{w: w, pack: true}, texts: map[string]Text{}, tables: map[int]*pending{}}
	s.out.write(TypeBegin, 0, said)
	s.out.write(TypeSchema, 0, []byte(SchemaText()))
	if s.out.err != nil {
		return nil, s.out.err
	}
	return s, nil
}

// Text is the ID of s in this stream. A text over 1 MiB is cut.
func (w *Writer) Text(s string) Text {
	const most = 1 << 20
	if s == "" {
		return 0
	}
	s = s[:min(len(s), most)]
	w.mu.Lock()
	defer w.mu.Unlock()
	if id, ok := w.texts[s]; ok {
		return id
	}
	if len(w.newTexts)+8+len(s) > maxPlain {
		w.flushTexts()
	}
	id := Text(len(w.texts) + 1)
	w.texts[s] = id
	w.newTexts = binary.LittleEndian.AppendUint32(w.newTexts, uint32(id))
	w.newTexts = binary.LittleEndian.AppendUint32(w.newTexts, uint32(len(s)))
	w.newTexts = append(w.newTexts, s...)
	w.newCount++
	return id
}

// Append adds a row to its table. It is written when the table's chunk is full, or by Flush.
func (w *Writer) Append(row Row) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	p := w.tables[row.table()]
	if p == nil {
		p = &pending{}
		w.tables[row.table()] = p
	}
	var err error
	if p.bytes, err = binary.Append(p.bytes, binary.LittleEndian, row); err != nil {
		return fmt.Errorf("row of a spool: %w", err) // a type that is no row: not reached with those of this package
	}
	if p.rows++; len(p.bytes) >= chunkBytes {
		w.flushTexts()
		w.flushTable(row.table(), p)
	}
	return w.out.err
}

// Note writes a note of a kind. fields is a struct or map that JSON writes as an object; nil: none.
func (w *Writer) Note(kind string, fields any) error {
	said := []byte("{}")
	if fields != nil {
		b, err := json.Marshal(fields)
		if err != nil || len(b) < 2 || b[0] != '{' {
			return fmt.Errorf("note %s of a spool: is not a JSON object (%T)", kind, fields)
		}
		said = b
	}
	name, err := json.Marshal(kind)
	if err != nil {
		return fmt.Errorf("note of a spool: %w", err)
	}
	note := slices.Concat([]byte(`{"note":`), name)
	if len(said) > 2 {
		note = append(note, ',')
	}
	note = append(note, said[1:]...)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	w.out.write(TypeNote, 0, note)
	return w.out.err
}

// Flush writes what is pending.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	w.flush()
	return w.out.err
}

// Close flushes. It does not close what the Writer writes to.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.out.err
	}
	w.closed = true
	w.flush()
	return w.out.err
}

// Bytes is how much has been written.
func (w *Writer) Bytes() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.written
}

func (w *Writer) usable() error {
	if w.closed {
		return errors.New("spool: is closed")
	}
	return w.out.err
}

// flush writes texts, then tables in the order of their numbers.
func (w *Writer) flush() {
	w.flushTexts()
	for _, row := range ours() {
		if p := w.tables[row.table()]; p != nil {
			w.flushTable(row.table(), p)
		}
	}
}

func (w *Writer) flushTexts() {
	if w.newCount > 0 {
		w.out.write(TypeTexts, w.newCount, w.newTexts)
		w.newTexts, w.newCount = w.newTexts[:0], 0
	}
}

func (w *Writer) flushTable(number int, p *pending) {
	if p.rows > 0 {
		w.out.write(uint16(number), p.rows, p.bytes)
		p.bytes, p.rows = p.bytes[:0], 0
	}
}

// chunks writes the chunks of one stream.
type chunks struct {
	w        io.Writer
	pack     bool
	sequence uint32
	written  int64
	buf      []byte
	err      error
}

// write writes a chunk, in one Write. A payload that packing does not make smaller stays as it is.
func (c *chunks) write(kind uint16, rows uint32, plain []byte) {
	if c.err != nil {
		return
	}
	if len(plain) > maxPlain {
		c.err = fmt.Errorf("spool: a chunk of %d bytes; at most %d", len(plain), maxPlain)
		return
	}
	h := header{kind: kind, plain: uint32(len(plain)), rows: rows, sequence: c.sequence}
	stored := plain
	if c.pack {
		if packed := snappy.Encode(nil, plain); len(packed) < len(plain) {
			stored, h.flags = packed, flagSnappy
		}
	}
	h.stored, h.payloadCRC = uint32(len(stored)), checksum(stored)
	c.buf = append(h.append(c.buf[:0]), stored...)
	n, err := c.w.Write(c.buf)
	c.written += int64(n)
	if err != nil {
		c.err = err
		return
	}
	c.sequence++
}

package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"unicode/utf16"
)

// A Plan is a scan of some columns of a table, ready to run as a whole or in parts.
type Plan struct {
	Damage Damage // of the inner pages: what lies below them is not in the plan

	db     *DB
	slots  []int16 // by stored column: where its value goes in a Row; -1: not wanted
	absent []value // what a Row's values are before a record is looked at
	rowID  []int   // slots that are the row number
	reals  []int   // slots of REAL columns, whose whole numbers are stored as integers
	last   int     // the last stored column that is wanted
	leaves []leaf
	spare  *atomic.Int64 // overflow pages that may still be read
}

// A node is a page of a tree and the row numbers that can be below it: low < n <= high.
type node struct {
	page      uint32
	low, high int64
}

// A leaf is a page with rows.
type leaf struct {
	page uint32
	rows uint32 // at most so many
}

// maxDepth bounds a tree: SQLite's own is 20 levels.
const maxDepth = 20

// Plan prepares to read columns of t, in that order. A column that t lacks is NULL in every row.
func (db *DB) Plan(t *Table, columns ...string) *Plan {
	p := &Plan{db: db, last: -1, absent: make([]value, len(columns)), spare: new(atomic.Int64)}
	p.spare.Store(int64(db.pages))
	if t == nil || t.Err != nil {
		if t != nil {
			p.Damage = Damage{Pages: 1, First: t.Err}
		}
		return p
	}
	p.slots = make([]int16, len(t.Columns))
	for i := range p.slots {
		p.slots[i] = -1
	}
	for slot, name := range columns {
		c := t.index(name)
		if c < 0 {
			continue
		}
		p.absent[slot] = t.Columns[c].missing
		if t.Columns[c].isReal() {
			p.reals = append(p.reals, slot)
		}
		if t.Columns[c].isRowID {
			p.rowID = append(p.rowID, slot)
			continue
		}
		p.slots[c], p.last = int16(slot), max(p.last, c)
	}
	p.tree(t.root)
	return p
}

// tree lists the leaves below root in order. Trees are balanced: the first readable page of a
// level tells what the level is, so that leaves need not be read here.
func (p *Plan) tree(root uint32) {
	seen := make([]uint64, p.db.pages/64+1)
	level := []node{{root, math.MinInt64, math.MaxInt64}}
	for range maxDepth {
		inner, err := p.isInner(level)
		if err != nil {
			p.Damage.add(root, fmt.Errorf("nothing below it can be read: %w", err))
			return
		}
		if !inner {
			p.leaves = make([]leaf, len(level))
			for i, n := range level {
				p.leaves[i] = leaf{n.page, p.maxRows(n)}
			}
			p.countEnds()
			return
		}
		level = p.children(level, seen)
	}
	p.Damage.add(root, errors.New("its tree is too deep"))
}

// maxRows is how many rows a leaf can hold: no more than there are row numbers for it, and
// each needs a pointer of 2 bytes and a place of its own.
func (p *Plan) maxRows(n node) uint32 {
	most := uint64(p.db.usable-8) / 3
	if n.low < n.high {
		most = min(most, uint64(n.high)-uint64(n.low))
	}
	return uint32(most)
}

// countEnds looks at how many rows the outer leaves hold: no key bounds them on both sides. With
// that, MaxRows is exact for a table whose rows are numbered without gaps.
func (p *Plan) countEnds() {
	buf := make([]byte, p.db.pageSize)
	for _, i := range []int{0, len(p.leaves) - 1} {
		l := &p.leaves[i]
		if p.db.read(l.page, buf) == nil {
			if _, n, err := cells(l.page, buf, leafPage); err == nil {
				l.rows = min(l.rows, uint32(n))
			}
		}
	}
}

// isInner says whether the pages of a level are inner pages, by the first that can be read.
func (p *Plan) isInner(level []node) (bool, error) {
	buf := make([]byte, p.db.pageSize)
	err := errOutside
	for _, n := range level {
		if err = p.db.read(n.page, buf); err != nil {
			continue
		}
		kind := buf[0]
		if n.page == 1 {
			kind = buf[100]
		}
		if kind == interiorPage || kind == leafPage {
			return kind == interiorPage, nil
		}
		err = errKind
	}
	return false, err
}

// children is the level below. seen has a bit for each page that was met.
func (p *Plan) children(level []node, seen []uint64) []node {
	var out []node
	buf := make([]byte, p.db.pageSize)
	add := func(page uint32, low, high int64) {
		switch {
		case page == 0 || page > p.db.pages:
			p.Damage.add(page, errOutside)
		case seen[page/64]>>(page%64)&1 != 0:
			p.Damage.add(page, errTwice)
		default:
			seen[page/64] |= 1 << (page % 64)
			out = append(out, node{page, low, high})
		}
	}
	for _, parent := range level {
		err := p.db.read(parent.page, buf)
		var at, n int
		if err == nil {
			at, n, err = cells(parent.page, buf, interiorPage)
		}
		if err != nil {
			p.Damage.add(parent.page, err)
			continue
		}
		low := parent.low
		for i := range n {
			cell := int(binary.BigEndian.Uint16(buf[at+2*i:]))
			if cell+4 > len(buf) {
				p.Damage.add(parent.page, errCell)
				continue
			}
			key, _ := varint(buf[cell+4:])
			add(binary.BigEndian.Uint32(buf[cell:]), low, int64(key))
			low = int64(key)
		}
		add(binary.BigEndian.Uint32(buf[at-4:]), low, parent.high)
	}
	return out
}

// MaxRows is how many rows the scan can yield at most.
func (p *Plan) MaxRows() int {
	n := 0
	for _, l := range p.leaves {
		n += int(l.rows)
	}
	return n
}

// Pages is how many pages of rows the scan reads.
func (p *Plan) Pages() int { return len(p.leaves) }

// Split cuts p into n or fewer plans of about the same size, in order. The first has p's damage.
func (p *Plan) Split(n int) []*Plan {
	n = max(1, min(n, len(p.leaves)))
	out := make([]*Plan, n)
	for i := range out {
		part := *p
		part.leaves = p.leaves[len(p.leaves)*i/n : len(p.leaves)*(i+1)/n]
		if i > 0 {
			part.Damage = Damage{}
		}
		out[i] = &part
	}
	return out
}

// runBytes is how much is read at once where pages lie side by side.
const runBytes = 1 << 18

// Scan calls f with every row, in order. A page that cannot be read is left out and counted. The error is ctx's.
func (p *Plan) Scan(ctx context.Context, f func(*Row)) (Damage, error) {
	db, damage := p.db, p.Damage
	s := &scan{plan: p, row: Row{vals: make([]value, len(p.absent))}, f: f}
	s.row.utf16 = db.utf16
	buf := make([]byte, max(runBytes, db.pageSize))
	for i := 0; i < len(p.leaves); {
		if err := ctx.Err(); err != nil {
			return damage, err
		}
		n := 1
		for i+n < len(p.leaves) && (n+1)*db.pageSize <= len(buf) && p.leaves[i+n].page == p.leaves[i].page+uint32(n) {
			n++
		}
		err := db.read(p.leaves[i].page, buf[:n*db.pageSize])
		if err != nil && n > 1 { // find the page that fails
			n = 1
			err = db.read(p.leaves[i].page, buf[:db.pageSize])
		}
		if err != nil {
			damage.add(p.leaves[i].page, err)
			i++
			continue
		}
		for k := range n {
			if err := s.page(p.leaves[i+k], buf[k*db.pageSize:(k+1)*db.pageSize]); err != nil {
				damage.add(p.leaves[i+k].page, err)
			}
		}
		i += n
	}
	return damage, nil
}

// A scan is the state of one running Scan.
type scan struct {
	plan *Plan
	row  Row
	f    func(*Row)
	long []byte // a row put together from overflow pages
	over []byte // an overflow page
	next uint32 // the overflow page that goes on where row.data ends
}

// page yields the rows of a leaf. A bad row does not keep the others from being read; the first error is returned.
func (s *scan) page(l leaf, buf []byte) error {
	at, n, err := cells(l.page, buf, leafPage)
	if err != nil {
		return err
	}
	if n > int(l.rows) {
		n, err = int(l.rows), errCount
	}
	for i := range n {
		if e := s.cell(buf, int(binary.BigEndian.Uint16(buf[at+2*i:]))); e != nil {
			if err == nil {
				err = e
			}
			continue
		}
		s.f(&s.row)
	}
	return err
}

// cell decodes the row at a place of a page.
func (s *scan) cell(buf []byte, at int) error {
	usable := s.plan.db.usable
	if at >= usable {
		return errCell
	}
	size, n := varint(buf[at:usable])
	if n == 0 {
		return errCell
	}
	at += n
	id, n := varint(buf[at:usable])
	if n == 0 {
		return errCell
	}
	at += n
	s.row.RowID = int64(id)
	if size > math.MaxInt32 {
		return errRecord
	}
	local := int(size)
	if most := usable - 35; local > most {
		least := (usable-12)*32/255 - 23
		local = least + (int(size)-least)%(usable-4)
		if local > most {
			local = least
		}
		if at+local+4 > usable {
			return errCell
		}
		return s.record(buf[at:at+local], int(size), binary.BigEndian.Uint32(buf[at+local:]))
	}
	if at+local > usable {
		return errCell
	}
	return s.record(buf[at:at+local], local, 0)
}

// intBytes is the size of serial types 0 to 9 in a record's body.
var intBytes = [10]int{0, 1, 2, 3, 4, 6, 8, 8, 0, 0}

// record decodes a record of size bytes, whose first are local and whose rest lies in overflow pages from next on.
func (s *scan) record(local []byte, size int, next uint32) error {
	p, r := s.plan, &s.row
	copy(r.vals, p.absent)
	r.data, s.next = local, next
	head, at := varint(local)
	if at == 0 || head > uint64(len(local)) {
		return errRecord
	}
	end, body := int(head), int(head)
	for c := 0; c <= p.last && at < end; c++ {
		kind := uint64(local[at])
		at++
		if kind >= 0x80 {
			var n int
			if kind, n = varint(local[at-1 : end]); n == 0 {
				return errRecord
			}
			at += n - 1
		}
		n := 0
		if kind < uint64(len(intBytes)) {
			n = intBytes[kind]
		} else if kind < 12 || kind > 2*math.MaxInt32 {
			return errRecord
		} else {
			n = int(kind-12) / 2
		}
		if n > size-body {
			return errRecord
		}
		if slot := p.slots[c]; slot >= 0 {
			if body+n > len(r.data) {
				if err := s.follow(body + n); err != nil {
					return err
				}
			}
			r.vals[slot] = decode(kind, r.data, body, n)
		}
		body += n
	}
	for _, slot := range p.rowID {
		r.vals[slot] = value{kind: Int, bits: r.RowID}
	}
	for _, slot := range p.reals {
		if v := &r.vals[slot]; v.kind == Int {
			*v = value{kind: Float, bits: int64(math.Float64bits(float64(v.bits)))}
		}
	}
	return nil
}

// follow makes row.data at least need bytes long.
func (s *scan) follow(need int) error {
	db := s.plan.db
	if s.over == nil {
		s.over = make([]byte, db.pageSize)
	}
	s.long = append(s.long[:0], s.row.data...) // the same bytes if it was followed before
	for len(s.long) < need {
		if s.plan.spare.Add(-1) < 0 || db.read(s.next, s.over) != nil {
			return errChain
		}
		s.next = binary.BigEndian.Uint32(s.over)
		s.long = append(s.long, s.over[4:db.usable]...)
	}
	s.row.data = s.long
	return nil
}

func decode(kind uint64, data []byte, at, n int) value {
	b := data[at : at+n]
	switch kind {
	case 0:
		return value{}
	case 1:
		return value{kind: Int, bits: int64(int8(b[0]))}
	case 2:
		return value{kind: Int, bits: int64(int16(binary.BigEndian.Uint16(b)))}
	case 3:
		return value{kind: Int, bits: int64(int8(b[0]))<<16 | int64(b[1])<<8 | int64(b[2])}
	case 4:
		return value{kind: Int, bits: int64(int32(binary.BigEndian.Uint32(b)))}
	case 5:
		return value{kind: Int, bits: int64(int16(binary.BigEndian.Uint16(b)))<<32 | int64(binary.BigEndian.Uint32(b[2:]))}
	case 6:
		return value{kind: Int, bits: int64(binary.BigEndian.Uint64(b))}
	case 7:
		return value{kind: Float, bits: int64(binary.BigEndian.Uint64(b))}
	case 8, 9:
		return value{kind: Int, bits: int64(kind - 8)}
	}
	if kind%2 == 0 {
		return value{Blob, uint32(n), int64(at)}
	}
	return value{Text, uint32(n), int64(at)}
}

// Kind is the type of a value; any column can hold any.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Int
	Float
	Text
	Blob
)

func (k Kind) String() string {
	return [...]string{"NULL", "an integer", "a float", "text", "a blob"}[k]
}

// value is an Int, the bits of a Float, or the place in Row.data of a Text or Blob of n bytes.
type value struct {
	kind Kind
	n    uint32
	bits int64
}

// A Row is one row of a scan: valid until the function that was given it returns.
type Row struct {
	RowID int64
	vals  []value
	data  []byte
	utf16 binary.ByteOrder
}

// Kind is the type of a column's value.
func (r *Row) Kind(column int) Kind { return r.vals[column].kind }

// Int is an integer, and whether there is one.
func (r *Row) Int(column int) (int64, bool) {
	v := &r.vals[column]
	return v.bits, v.kind == Int
}

// Float is a float, and whether there is one.
func (r *Row) Float(column int) (float64, bool) {
	v := r.vals[column]
	return math.Float64frombits(uint64(v.bits)), v.kind == Float
}

// Bytes is a text, in UTF-8 as far as the file has it so, or a blob; else nil. It must not be kept.
func (r *Row) Bytes(column int) []byte {
	v := r.vals[column]
	if v.kind < Text {
		return nil
	}
	b := r.data[v.bits : v.bits+int64(v.n)]
	if v.kind == Text && r.utf16 != nil {
		units := make([]uint16, len(b)/2)
		for i := range units {
			units[i] = r.utf16.Uint16(b[2*i:])
		}
		return []byte(string(utf16.Decode(units)))
	}
	return b
}

package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
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

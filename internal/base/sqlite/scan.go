package sqlite

import (
	"context"
	"encoding/binary"
	"math"
)

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

package cpusample

import "encoding/binary"

func (c *cursor) u8() byte {
	if len(c.b) == 0 {
		c.failed = true
		return 0
	}
	v := c.b[0]
	c.b = c.b[1:]
	return v
}

func (c *cursor) u32() uint32 {
	if len(c.b) < 4 {
		c.b, c.failed = nil, true
		return 0
	}
	v := binary.LittleEndian.Uint32(c.b)
	c.b = c.b[4:]
	return v
}

func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.b)) {
		c.b, c.failed = nil, true
		return nil
	}
	out := c.b[:n]
	c.b = c.b[n:]
	return out
}

func (c *cursor) skip(n int) { c.take(uint64(n)) }

// fixed reads a number of n bytes.
func (c *cursor) fixed(n uint64) uint64 {
	var b [8]byte
	copy(b[:], c.take(n))
	return binary.LittleEndian.Uint64(b[:])
}

// uleb and sleb are DWARF's numbers of variable length.
func (c *cursor) uleb() (v uint64) {
	for shift := 0; shift < 70; shift += 7 {
		b := c.u8()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	c.failed = true
	return 0
}

func (c *cursor) sleb() (v int64) {
	for shift := 0; shift < 70; shift += 7 {
		b := c.u8()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	c.failed = true
	return 0
}

// skipPointer passes over a pointer that is written as encoding says.
func (c *cursor) skipPointer(encoding byte) bool {
	switch encoding & 0xf {
	case 0, 4, 12:
		c.skip(8)
	case 3, 11:
		c.skip(4)
	case 2, 10:
		c.skip(2)
	default:
		return false
	}
	return !c.failed
}

// Instructions, DW_CFA_…; the first three have an operand in their lower 6 bits.
const (
	cfaAdvance, cfaOffset, cfaRestore                      = 1 << 6, 2 << 6, 3 << 6
	cfaNop, cfaAdvance1, cfaAdvance2, cfaAdvance4          = 0, 2, 3, 4
	cfaOffsetExt, cfaRestoreExt, cfaUndefined, cfaSame     = 5, 6, 7, 8
	cfaRegister, cfaRemember, cfaRestoreState, cfaDefCFA   = 9, 10, 11, 12
	cfaDefReg, cfaDefOffset, cfaDefExpr, cfaExpr           = 13, 14, 15, 16
	cfaOffsetSF, cfaDefCFASF, cfaDefOffsetSF, cfaValOffset = 17, 18, 19, 20
	cfaValOffsetSF, cfaValExpr, cfaGNUArgs                 = 21, 22, 0x2e
)

// run runs instructions up to an offset in the function. It says whether all of them were understood.
func (p *program) run(code []byte, until uint64) bool {
	c := cursor{b: code}
	at := uint64(0)
	for len(c.b) > 0 && !c.failed {
		op := c.u8()
		low := uint64(op & 0x3f)
		advance := uint64(0)
		switch {
		case op&0xc0 == cfaAdvance:
			advance = low
		case op&0xc0 == cfaOffset:
			p.set(low, rule{kind: ruleAt, offset: int64(c.uleb()) * p.dataAlign})
			continue
		case op&0xc0 == cfaRestore:
			p.restore(low)
			continue
		case op == cfaAdvance1:
			advance = c.fixed(1)
		case op == cfaAdvance2:
			advance = c.fixed(2)
		case op == cfaAdvance4:
			advance = c.fixed(4)
		default:
			if !p.step(op, &c) {
				return false
			}
			continue
		}
		if at += advance * p.codeAlign; at > until {
			return true
		}
	}
	return !c.failed
}

// step runs an instruction that has no operand within itself.
func (p *program) step(op byte, c *cursor) bool {
	r := &p.row
	switch op {
	case cfaNop:
	case cfaOffsetExt:
		p.set(c.uleb(), rule{kind: ruleAt, offset: int64(c.uleb()) * p.dataAlign})
	case cfaOffsetSF:
		p.set(c.uleb(), rule{kind: ruleAt, offset: c.sleb() * p.dataAlign})
	case cfaValOffset:
		p.set(c.uleb(), rule{kind: ruleValue, offset: int64(c.uleb()) * p.dataAlign})
	case cfaValOffsetSF:
		p.set(c.uleb(), rule{kind: ruleValue, offset: c.sleb() * p.dataAlign})
	case cfaExpr:
		p.set(c.uleb(), rule{kind: ruleExprAt, expr: c.take(c.uleb())})
	case cfaValExpr:
		p.set(c.uleb(), rule{kind: ruleExpr, expr: c.take(c.uleb())})
	case cfaRestoreExt:
		p.restore(c.uleb())
	case cfaUndefined:
		p.set(c.uleb(), rule{kind: ruleMissing})
	case cfaSame:
		p.set(c.uleb(), rule{})
	case cfaRegister:
		c.uleb()
		c.uleb()
		return false // no compiler for x86-64 writes it
	case cfaRemember:
		if len(p.remembered) >= maxRemember {
			return false
		}
		p.remembered = append(p.remembered, *r)
	case cfaRestoreState:
		if len(p.remembered) == 0 {
			return false
		}
		*r = p.remembered[len(p.remembered)-1]
		p.remembered = p.remembered[:len(p.remembered)-1]
	case cfaDefCFA:
		r.cfaReg, r.cfaOffset, r.cfaExpr = uint8(min(c.uleb(), regCount)), int64(c.uleb()), nil
	case cfaDefCFASF:
		r.cfaReg, r.cfaOffset, r.cfaExpr = uint8(min(c.uleb(), regCount)), c.sleb()*p.dataAlign, nil
	case cfaDefReg:
		r.cfaReg, r.cfaExpr = uint8(min(c.uleb(), regCount)), nil
	case cfaDefOffset:
		r.cfaOffset = int64(c.uleb())
	case cfaDefOffsetSF:
		r.cfaOffset = c.sleb() * p.dataAlign
	case cfaDefExpr:
		r.cfaExpr = c.take(c.uleb())
	case cfaGNUArgs:
		c.uleb()
	default:
		return false
	}
	return true
}

func (p *program) set(reg uint64, to rule) {
	if reg < regCount { // others are vectors, which nothing here needs
		p.row.regs[reg] = to
	}
}

func (p *program) restore(reg uint64) {
	if reg < regCount {
		p.row.regs[reg] = p.first.regs[reg]
	}
}

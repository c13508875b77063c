package cubin

import "encoding/binary"

// An Instruction is a machine instruction of Volta or later, as far as its 128 bits are understood here. Which
// registers it names was checked against NVIDIA's own text of 48,000 instructions for 7.0 to 9.0 (see ops).
type Instruction struct {
	Offset uint64 // from the function's start
	Name   string // "LDG", "BAR"; "": an opcode that was not in that text
	Kind   Kind
	Guard  uint8 // predicate that it executes under; 7: always
	Dest   Span  // general registers that it writes
	Uses   [3]Span
	Bytes  int // of a load or store by a lane; 0: none or not known

	Sets, Tests Predicates // predicates that it writes and reads, the guard not counted
	Form        uint8      // of the operands: 4, the second is Constant
	Constant    uint32     // operand in the word itself, as far as Form says that there is one
	Selects     uint8      // S2R: which special register; LOP3: its truth table
	Third       Span       // register of the third operand, which IMAD adds

	// The scoreboard. An instruction of variable latency takes one of six counters, and those that need its result
	// wait for that counter: this, not the register names, is what the hardware stalls on.
	Waits  uint8 // bit i: it waits until counter i is 0
	Stall  uint8 // cycles, 0 to 15, that its warp waits before the next instruction
	Writes int8  // counter that says that Dest is there; -1: none
	Reads  int8  // counter that says that its sources were read; -1: none

	Target uint64 // of a branch, offset from the function's start
	Branch bool   // Target is known
	Ends   bool   // nothing behind it is reached from it unless it is guarded
}

// A Span is registers First to First+Count-1. Uniform registers begin at UniformRegisters.
type Span struct{ First, Count uint16 }

// UniformRegisters is the number of the first uniform register in a Span.
const UniformRegisters = 256

// Registers is how many registers Spans can name.
const Registers = UniformRegisters + 64

// A Kind is what an instruction is, where it matters for finding who is waited for.
type Kind uint8

// The kinds.
const (
	Other Kind = iota
	LoadGlobal
	LoadLocal
	LoadShared
	LoadConstant
	StoreGlobal
	StoreLocal
	StoreShared
	Atomic
	CopyToShared // asynchronous, from global memory
	Barrier
	Branch
	Exit
)

// operand places. The register fields of the word: d at bit 16, a at 24, b at 32, c at 64.
type places uint16

const (
	d         places = 1 << iota // written
	dRead                        // the field at 16 is a source
	a                            //
	b                            // a register only in operand form 1
	aForm1                       // a in form 1 only: a call to where a register says
	bAlways                      // a register in every form
	bForm12                      // SHFL: forms 1 and 2
	c                            // in every form
	cForm1                       // form 1 only
	uniform                      // all registers are uniform ones
	uniformD                     // d is uniform
	wide                         // 64-bit result
	widePairs                    // 64-bit sources too
	quad                         // 128-bit result
	addressAB                    // a names 64 bits of address if bit 72 (.E) says so
)

type operation struct {
	name   string
	kind   Kind
	places places
}

// ops is what the low nine bits of the word stand for; the next three are the form of its operands. From the bytes of
// the reports in corpus/kernel and corpus/public/ncu beside the text that Nsight Compute printed of them (7.0, 7.5,
// 8.0,
// 8.6, 9.0): facts of the hardware, all 9-bit codes found there had one name. TestOperations holds both against each
// other. 10.0 has no text in the corpus; the codes that occur there fit.
var ops = [512]operation{
	0x002: {"MOV", Other, d | b}, 0x003: {"P2R", Other, d | a}, 0x004: {"R2P", Other, a},
	0x005: {"CS2R", Other, d | wide}, 0x006: {"VOTE", Other, d},
	0x007: {"SEL", Other, d | a | b}, 0x008: {"FSEL", Other, d | a | b}, 0x009: {"FMNMX", Other, d | a | b},
	0x00b: {"FSETP", Other, a | b}, 0x00c: {"ISETP", Other, a | b},
	0x010: {"IADD3", Other, d | a | b | c}, 0x011: {"LEA", Other, d | a | b | c}, 0x012: {"LOP3", Other, d | a | b | c},
	0x013: {"IABS", Other, d | b}, 0x016: {"PRMT", Other, d | a | b | c}, 0x017: {"IMNMX", Other, d | a | b},
	0x019: {"SHF", Other, d | a | b | c}, 0x01a: {"SGXT", Other, d | a | b}, 0x01b: {"BMSK", Other, d | a | b},
	0x01c: {"PLOP3", Other, 0},
	0x020: {"FMUL", Other, d | a | b}, 0x021: {"FADD", Other, d | a | b}, 0x023: {"FFMA", Other, d | a | b | c},
	0x024: {"IMAD", Other, d | a | b | c}, 0x025: {"IMAD.WIDE", Other, d | a | b | c | wide},
	0x027: {"IMAD.HI", Other, d | a | b | c},
	0x028: {"DMUL", Other, d | a | b | wide | widePairs}, 0x029: {"DADD", Other, d | a | cForm1 | wide | widePairs},
	0x02a: {"DSETP", Other, a | b | widePairs}, 0x02b: {"DFMA", Other, d | a | b | c | wide | widePairs},
	0x030: {"HADD2", Other, d | a | b}, 0x031: {"HFMA2", Other, d | a | b | c}, 0x032: {"HMUL2", Other, d | a | b},
	0x035: {"HFMA2.MMA", Other, d | a | c},
	0x036: {"VIADD", Other, d | a}, 0x03b: {"LDSM", LoadShared, d | a | quad},
	0x03c: {"HMMA", Other, d | a | b | c | quad},
	0x03e: {"F2FP", Other, d | a | b | c}, 0x045: {"I2FP", Other, d | b}, 0x046: {"VIADDMNMX", Other, d | a | c},
	0x048: {"VIMNMX", Other, d | a},
	0x082: {"UMOV", Other, d | b | uniform}, 0x086: {"VOTEU", Other, d | uniform},
	0x087: {"USEL", Other, d | a | b | uniform},
	0x08c: {"UISETP", Other, a | b | uniform}, 0x090: {"UIADD3", Other, d | a | b | c | uniform},
	0x091: {"ULEA", Other, d | a | b | c | uniform},
	0x092: {"ULOP3", Other, d | a | b | c | uniform}, 0x096: {"UPRMT", Other, d | a | b | c | uniform},
	0x099: {"USHF", Other, d | a | b | c | uniform},
	0x09c: {"UPLOP3", Other, 0}, 0x0a4: {"UIMAD", Other, d | a | b | c | uniform},
	0x0a5: {"UIMAD.WIDE", Other, d | a | b | c | uniform | wide},
	0x0b9: {"ULDC", Other, d | uniform | wide}, 0x0bf: {"UPOPC", Other, d | b | uniform},
	0x100: {"FLO", Other, d | b}, 0x102: {"FCHK", Other, a | b}, 0x105: {"F2I", Other, d | b},
	0x106: {"I2F", Other, d | b}, 0x107: {"FRND", Other, d | b},
	0x108: {"MUFU", Other, d | b}, 0x109: {"POPC", Other, d | b}, 0x110: {"F2F", Other, d | b},
	0x111: {"F2I", Other, d | b | wide}, 0x112: {"I2F", Other, d | b | wide},
	0x118: {"NOP", Other, 0}, 0x119: {"S2R", Other, d}, 0x11a: {"DEPBAR", Other, 0},
	0x11b: {"ENDCOLLECTIVE", Other, 0}, 0x11c: {"B2R", Other, d},
	0x11d: {"BAR", Barrier, 0}, 0x141: {"BSYNC", Other, 0}, 0x142: {"BREAK", Other, 0}, 0x143: {"CALL", Other, aForm1},
	0x144: {"CALL", Other, 0},
	0x145: {"BSSY", Other, 0}, 0x146: {"YIELD", Other, 0}, 0x147: {"BRA", Branch, 0},
	0x148: {"WARPSYNC", Other, aForm1}, 0x149: {"BRX", Exit, a},
	0x14d: {"EXIT", Exit, 0}, 0x14e: {"LEPC", Other, d}, 0x150: {"RET", Exit, a}, 0x155: {"BMOV", Other, 0},
	0x181: {"LDG", LoadGlobal, d | a | addressAB}, 0x182: {"LDC", LoadConstant, d | a},
	0x183: {"LDL", LoadLocal, d | a}, 0x184: {"LDS", LoadShared, d | a},
	0x185: {"ST", StoreGlobal, a | bAlways | addressAB}, 0x186: {"STG", StoreGlobal, a | bAlways | addressAB},
	0x187: {"STL", StoreLocal, a | bAlways},
	0x188: {"STS", StoreShared, a | bAlways}, 0x189: {"SHFL", Other, d | a | bForm12 | cForm1},
	0x18e: {"REDG", Atomic, a | bAlways | addressAB}, // of integers; counted as REDG in the mix of instructions
	0x18f: {"CCTL", Other, 0}, 0x192: {"MEMBAR", Other, 0},
	0x1a6: {"REDG", Atomic, a | bAlways | addressAB}, 0x1a8: {"ATOMG", Atomic, d | a | bAlways | cForm1 | addressAB},
	0x1ab: {"ERRBAR", Other, 0},
	0x1ae: {"LDGSTS", CopyToShared, dRead | a | addressAB}, 0x1af: {"LDGDEPBAR", Other, 0},
	0x1c2: {"R2UR", Other, d | a | uniformD}, 0x1c3: {"S2UR", Other, d | uniform},
}

// Instructions are the function's own and those of what follows it in its section, in the order of the code.
func (fn *Function) Instructions() []Instruction {
	list := make([]Instruction, 0, len(fn.Code)/InstructionBytes)
	for at := 0; at+InstructionBytes <= len(fn.Code); at += InstructionBytes {
		list = append(list, decode(fn.Code[at:], uint64(at), fn.sm))
	}
	return list
}

// decode reads one instruction.
func decode(code []byte, at uint64, sm int) Instruction {
	low, high := binary.LittleEndian.Uint64(code), binary.LittleEndian.Uint64(code[8:])
	i := Instruction{Offset: at, Guard: uint8(low >> 12 & 7), Writes: -1, Reads: -1}
	if low>>15&1 == 1 && i.Guard == 7 { // @!PT: never
		i.Guard = 6
	}
	control := high >> 41 // stall cycles 4 bits, yield 1, counters 3 + 3, waits 6, reuse 4
	if n := int8(control >> 5 & 7); n < 6 {
		i.Writes = n
	}
	if n := int8(control >> 8 & 7); n < 6 {
		i.Reads = n
	}
	i.Waits, i.Stall = uint8(control>>11&0x3f), uint8(control&15)
	op := ops[low&0x1ff]
	if op.name == "" || sm != 0 && sm < 70 { // before Volta an instruction had 64 bits
		return i
	}
	i.Name, i.Kind = op.name, op.kind
	i.registers(op.places, low, high)
	i.predicates(low, high)
	i.Form, i.Constant, i.Selects = uint8(low>>9&7), uint32(low>>32), uint8(high>>8)
	switch op.kind {
	case Branch:
		i.Branch, i.Target = true, at+InstructionBytes+branch(low, high, sm)
		i.Ends = i.Guard == 7 && high>>23&7 == 7 // the predicate operand of BRA, PT if there is none
	case Exit:
		i.Ends = i.Guard == 7
	}
	return i
}

// branch is how far a relative branch goes from the instruction behind it, in bytes; it wraps for a branch back. The
// distance is in units of four bytes from bit 34 on; since 9.0 its low eight bits are at 16.
func branch(low, high uint64, sm int) uint64 {
	distance := int64(low>>34|high<<30) << 16 >> 16 // 48 bits, signed
	if sm >= 90 {
		return uint64(distance<<8|int64(low>>16&0xff)) * 4
	}
	return uint64(distance) * 4
}

// registers fills in what is written and read.
func (i *Instruction) registers(p places, low, high uint64) {
	form := low >> 9 & 7
	width := uint16(1)
	switch {
	case i.Kind >= LoadGlobal && i.Kind <= CopyToShared && i.Name != "LDSM":
		i.Bytes = accessBytes(high)
		width = uint16(max(i.Bytes/4, 1))
	case p&quad != 0:
		width = 4
	case p&wide != 0:
		width = 2
	}
	if i.Name == "LDSM" {
		width = 1 << (high >> 8 & 3)
	}
	source := uint16(1)
	if p&widePairs != 0 {
		source = 2
	}
	address := source
	if p&addressAB != 0 && high>>8&1 == 1 {
		address = 2
	}
	if p&d != 0 {
		i.Dest = span(low>>16, width, p&(uniform|uniformD) != 0)
	}
	n := 0
	use := func(field uint64, count uint16) {
		if s := span(field, count, p&uniform != 0); s.Count > 0 && n < len(i.Uses) {
			i.Uses[n] = s
			n++
		}
	}
	if p&dRead != 0 {
		use(low>>16, 1)
	}
	if p&a != 0 || p&aForm1 != 0 && form == 1 {
		use(low>>24, max(source, address))
	}
	switch {
	case p&bAlways != 0:
		use(low>>32, width)
	case p&b != 0 && (form == 1), p&bForm12 != 0 && (form == 1 || form == 2):
		use(low>>32, source)
	}
	if p&c != 0 || p&cForm1 != 0 && form == 1 {
		use(high, source)
		i.Third = span(high, source, p&uniform != 0)
	}
}

// span is a register field; the last register of each file is the constant zero.
func span(field uint64, count uint16, isUniform bool) Span {
	if isUniform {
		first := uint16(field & 63)
		if first == 63 {
			return Span{}
		}
		return Span{UniformRegisters + first, min(count, 63-first)}
	}
	first := uint16(field & 255)
	if first == 255 {
		return Span{}
	}
	return Span{first, min(count, 255-first)}
}

// accessBytes is what a lane of a load or store moves: bits 73 to 75, as .U8 .S8 .U16 .S16 .32 .64 .128.
func accessBytes(high uint64) int {
	return [8]int{1, 1, 2, 2, 4, 8, 16, 0}[high>>9&7]
}

// Has says whether a register is in the span.
func (s Span) Has(register uint16) bool { return register >= s.First && register-s.First < s.Count }

// Overlaps says whether two spans share a register.
func (s Span) Overlaps(o Span) bool {
	return s.Count > 0 && o.Count > 0 && s.First < o.First+o.Count && o.First < s.First+s.Count
}

package cubin

// Predicates is a set of predicate registers: bit n is Pn, bit 8+n is UPn. P7 and UP7 are the constant true and in no
// set.
type Predicates uint16

// uniformPredicates is how far UP0 is behind P0.
const uniformPredicates = 8

// The fields of the word that name predicates, by their lowest bit in its second half. Checked against NVIDIA's text
// as the registers are.
const (
	setsFirst, setsSecond = 17, 20 // as in ISETP P0, P1, ...
	testsLast             = 23     // the last operand, which SEL, ISETP and BRA have
	testsSecond           = 13     // the carry of IADD3.X, the second of PLOP3
	testsThird            = 4      // of PLOP3, and ISETP.EX
	thirdIsUniform        = 3      // of PLOP3: a flag
)

// predicateFields is which of the fields instructions have.
var predicateFields = map[string]struct{ sets, tests []uint }{
	"ISETP":  {[]uint{setsFirst, setsSecond}, []uint{testsLast, testsThird}},
	"FSETP":  {[]uint{setsFirst, setsSecond}, []uint{testsLast}},
	"DSETP":  {[]uint{setsFirst, setsSecond}, []uint{testsLast}},
	"UISETP": {[]uint{setsFirst, setsSecond}, []uint{testsLast, testsThird}},
	"PLOP3":  {[]uint{setsFirst, setsSecond}, []uint{testsLast, testsSecond, testsThird}},
	"UPLOP3": {[]uint{setsFirst, setsSecond}, []uint{testsLast, testsSecond, testsThird}},
	"IADD3":  {[]uint{setsFirst, setsSecond}, []uint{testsLast, testsSecond}},
	"UIADD3": {[]uint{setsFirst, setsSecond}, []uint{testsLast, testsSecond}},
	"LOP3":   {[]uint{setsFirst}, []uint{testsLast}}, "ULOP3": {[]uint{setsFirst}, []uint{testsLast}},
	"LEA": {[]uint{setsFirst}, []uint{testsLast}}, "ULEA": {[]uint{setsFirst}, []uint{testsLast}},
	"IMAD": {nil, []uint{testsLast}}, "IMAD.WIDE": {[]uint{setsFirst}, []uint{testsLast}},
	"IMAD.HI": {[]uint{setsFirst}, nil}, "FCHK": {[]uint{setsFirst}, nil}, "SHFL": {[]uint{setsFirst}, nil},
	"B2R": {[]uint{setsFirst}, nil}, "LDGSTS": {nil, []uint{testsLast}},
	"VOTE": {[]uint{setsFirst}, []uint{testsLast}}, "VOTEU": {[]uint{setsFirst}, []uint{testsLast}},
	"SEL": {nil, []uint{testsLast}}, "FSEL": {nil, []uint{testsLast}}, "USEL": {nil, []uint{testsLast}},
	"FMNMX": {nil, []uint{testsLast}}, "IMNMX": {nil, []uint{testsLast}}, "VIMNMX": {nil, []uint{testsLast}},
	"BRA": {nil, []uint{testsLast}}, "BREAK": {nil, []uint{testsLast}}, "EXIT": {nil, []uint{testsLast}},
	"BSYNC": {nil, []uint{testsLast}}, "CALL": {nil, []uint{testsLast}},
}

// predicates fills in which predicates are written and read. Those of uniform instructions are uniform ones.
func (i *Instruction) predicates(low, high uint64) {
	fields := predicateFields[i.Name]
	base := uint(0)
	if i.Name[0] == 'U' || i.Name == "VOTEU" {
		base = uniformPredicates
	}
	for _, at := range fields.sets {
		if n := uint(high>>at) & 7; n < 7 {
			i.Sets |= 1 << (base + n)
		}
	}
	for _, at := range fields.tests {
		if n := uint(high>>at) & 7; n < 7 && at == testsThird && i.Name == "PLOP3" && high>>thirdIsUniform&1 == 1 {
			i.Tests |= 1 << (uniformPredicates + n)
		} else if n < 7 {
			i.Tests |= 1 << (base + n)
		}
	}
}

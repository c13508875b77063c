package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mix is what instructions a kernel executes, and how many of a warp's lanes work in them.
type Mix struct {
	Instructions Measure    // executed by warps
	Replayed     Measure    // share of issued instructions that were issued again
	Pipes        []Load     // compute pipes and issue, the busiest first
	Classes      []MixClass // of executed instructions, the largest first; nil: no opcodes (a CSV, a basic set)
	FP32, FP64   *Fusion    // nil: not collected
	// Lanes is how many of 32 lanes work on average, predicated-off ones left out; Branched counts
	// those that are in the branch.
	Lanes, Branched Measure
	// Divergent is the share of branches whose lanes part, by executed branch instructions.
	Divergent Measure
	// Wide is the share of global loads and stores that move 16 bytes a lane, Narrow at most 2.
	Wide, Narrow Measure
}

// A MixClass is instructions of one kind.
type MixClass struct {
	Name  string
	Share float64
}

// Fusion is the arithmetic of one precision in thread instructions.
type Fusion struct {
	Fused, Adds, Products float64 // shares of the three together
	// Fusable is the share that would go away if each product met an add: at most the smaller of both.
	Fusable float64
}

// Mix is the instruction mix; nil: nothing of it was collected.
func (k *Kernel) Mix() *Mix {
	m := &Mix{
		Instructions: measure(k.Instructions()),
		Lanes:        measure(k.Lanes()),
		Branched:     measure(k.LanesBranched()),
		FP32:         k.fusion("ffma", "fadd", "fmul"),
		FP64:         k.fusion("dfma", "dadd", "dmul"),
		Classes:      k.classes(),
	}
	for _, l := range k.Loads() {
		if l.Resource.Level() == "compute" {
			m.Pipes = append(m.Pipes, l)
		}
	}
	executed, ok1 := k.number("smsp__inst_executed.sum")
	issued, ok2 := k.number("smsp__inst_issued.sum")
	m.Replayed = share01(over(issued-executed, ok1, issued, ok2))
	branches, ok1 := k.number("smsp__inst_executed_op_branch.sum")
	parted, ok2 := k.number("smsp__sass_branch_targets_threads_divergent.sum",
		"smsp__branch_targets_threads_divergent", "smsp__branch_targets_threads_divergent.sum")
	m.Divergent = share01(over(parted, ok2, branches, ok1))
	m.Wide, m.Narrow = k.widths()
	if !m.Instructions.Known && !m.Lanes.Known && m.Classes == nil && m.FP32 == nil && len(m.Pipes) == 0 {
		return nil
	}
	return m
}

func (k *Kernel) fusion(fma, add, mul string) *Fusion {
	f, ok1 := k.ThreadOps(fma)
	a, ok2 := k.ThreadOps(add)
	p, ok3 := k.ThreadOps(mul)
	all := f + a + p
	if !ok1 || !ok2 || !ok3 || all <= 0 {
		return nil
	}
	return &Fusion{Fused: f / all, Adds: a / all, Products: p / all, Fusable: min(a, p) / all}
}

// Classes of instructions.
const (
	ClassFP32       = "FP32 arithmetic"
	ClassFP64       = "FP64 arithmetic"
	ClassFP16       = "FP16 arithmetic"
	ClassMatrix     = "matrix products"
	ClassInteger    = "integers and logic"
	ClassConversion = "conversions"
	ClassSpecial    = "special functions"
	ClassGlobal     = "global memory"
	ClassShared     = "shared memory"
	ClassLocal      = "local memory"
	ClassConstant   = "constants"
	ClassTexture    = "textures and surfaces"
	ClassAsync      = "bulk copies"
	ClassControl    = "branches and control"
	ClassSync       = "barriers and fences"
	ClassMove       = "moves and exchange between lanes"
	ClassElse       = "other"
)

// ClassOf is what kind of work an opcode with its modifiers does: by the instruction set reference of
// the CUDA binary utilities, Volta to Blackwell.
func ClassOf(opcode string) string {
	base, modifiers, _ := strings.Cut(opcode, ".")
	if base == "HADD2" && strings.HasPrefix(modifiers, "F32") { // how the compiler widens a half
		return ClassConversion
	}
	if class, ok := opcodeClasses[base]; ok {
		return class
	}
	for _, p := range opcodePrefixes {
		if strings.HasPrefix(base, p.prefix) {
			return p.class
		}
	}
	if strings.HasSuffix(base, "MMA") {
		return ClassMatrix
	}
	return ClassElse
}

// opcodeClasses is opcodes whose class their beginning does not say.
var opcodeClasses = listed(map[string]string{
	ClassFP32: "FFMA FFMA32I FFMA2 FADD FADD32I FADD2 FMUL FMUL32I FMUL2 FMNMX FMNMX3 FSETP FSET FSEL FCHK " +
		"FSWZADD FCMP",
	ClassFP64: "DFMA DADD DMUL DSETP DMNMX DSET",
	ClassFP16: "HFMA2 HFMA2_32I HADD2 HADD2_32I HMUL2 HMUL2_32I HSETP2 HSET2 HMNMX2",
	ClassInteger: "BMSK BREV FLO IABS IADD IADD3 IADD32I IDP IDP4A IMAD IMNMX IMUL IMUL32I ISCADD ISCADD32I " +
		"ISETP LEA LOP LOP3 LOP32I POPC SHF SHL SHR SGXT VABSDIFF VABSDIFF4 VIADD VIADDMNMX VIMNMX VIMNMX3 VHMNMX " +
		"VIMNMX16x2 UBMSK UBREV UFLO UIADD3 UIMAD UISETP ULEA ULOP ULOP3 ULOP32I UPOPC USHF USHL USHR USGXT UIMNMX " +
		"UVIADD UVIMNMX UIABS",
	ClassConversion: "F2F F2I F2FP F2IP FRND I2F I2FP I2I I2IP",
	ClassSpecial:    "MUFU",
	ClassGlobal:     "LDG STG LD ST ATOM ATOMG RED REDG LDGSTS QSPC CCTL CCTLT LDGDEPBAR",
	ClassShared:     "LDS STS LDSM STSM ATOMS LDTM STTM MOVM STAS REDAS",
	ClassLocal:      "LDL STL CCTLL",
	ClassConstant:   "LDC LDCU ULDC",
	ClassTexture:    "TEX TLD TLD4 TMML TXD TXQ SULD SUST SUATOM SURED SUQUERY FOOTPRINT",
	ClassControl: "BRA BRX BRXU BREAK BSSY BSYNC BMOV CALL EXIT JMP JMX JMXU KILL NANOSLEEP NOP RET RPCMOV RTT " +
		"WARPSYNC YIELD BPT ACQBULK ELECT PREEXIT ENDCOLLECTIVE BMOVE",
	ClassSync: "BAR MEMBAR DEPBAR ERRBAR FENCE SYNCS ARRIVES WARPGROUP UCGABAR_ARV UCGABAR_WAIT CGAERRBAR B2R",
	ClassMove: "MOV MOV32I UMOV SEL USEL PRMT UPRMT SHFL VOTE VOTEU MATCH REDUX CREDUX R2P P2R UP2UR UR2UP " +
		"PLOP3 UPLOP3 PSETP UPSETP PSET CS2R CS2UR S2R S2UR R2UR R2B SETCTAID SETLMEMBASE GETLMEMBASE VOTE_VTG " +
		"LEPC PMTRIG",
})

// opcodePrefixes is families that are too many to list.
var opcodePrefixes = []struct{ prefix, class string }{
	{"UTCBAR", ClassSync},
	{"UTCCP", ClassAsync},
	{"UTMA", ClassAsync},
	{"UBLK", ClassAsync},
	{"UTC", ClassMatrix},
}

func listed(byClass map[string]string) map[string]string {
	out := make(map[string]string)
	for class, opcodes := range byClass {
		for name := range strings.FieldsSeq(opcodes) {
			out[name] = class
		}
	}
	return out
}

// classes is the executed instructions by class.
func (k *Kernel) classes() []MixClass {
	all := k.OpcodesModified()
	if all == nil {
		all = k.Opcodes()
	}
	moves := k.halfMoves(all)
	var out []MixClass
	total := 0.0
	for _, o := range all {
		total += o.Executed
		class := ClassOf(o.Name)
		if class == ClassFP16 && moves && strings.HasPrefix(o.Name, "HFMA2") {
			class = ClassMove
		}
		i := slices.IndexFunc(out, func(c MixClass) bool { return c.Name == class })
		if i < 0 {
			i = len(out)
			out = append(out, MixClass{Name: class})
		}
		out[i].Share += o.Executed
	}
	for i := range out {
		out[i].Share /= total
	}
	slices.SortStableFunc(out, func(a, b MixClass) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

// halfMoves says that HFMA2 only sets registers: since 8.0 compilers write a constant as HFMA2 R, -RZ, RZ, hi, lo, on a
// pipe that is otherwise idle. By the machine code, where it names no register that most of them read; else if nothing
// else computes with halves.
func (k *Kernel) halfMoves(all []Opcode) bool {
	if c := k.Code(); c != nil {
		var set, some float64
		executed := c.Counts("inst_executed")
		for i := range c.Instructions {
			if in := &c.Instructions[i]; strings.HasPrefix(in.Name, "HFMA2") && executed != nil {
				some += executed[i]
				if in.Uses[0].Count == 0 {
					set += executed[i]
				}
			}
		}
		if some > 0 {
			return set > some/2
		}
	}
	return !slices.ContainsFunc(all, func(o Opcode) bool {
		name, _, _ := strings.Cut(o.Name, ".")
		return ClassOf(o.Name) == ClassFP16 && !strings.HasPrefix(name, "HFMA2") || name == "HMMA" || name == "HADD2"
	})
}

// widths is the shares of global loads and stores that move 16 bytes a lane, and at most 2.
func (k *Kernel) widths() (wide, narrow Measure) {
	var all, wides, narrows float64
	modified := k.OpcodesModified()
	for _, o := range modified {
		parts := strings.Split(o.Name, ".")
		if parts[0] != "LDG" && parts[0] != "STG" {
			continue
		}
		all += o.Executed
		for _, p := range parts[1:] {
			switch p {
			case "128", "256":
				wides += o.Executed
			case "U8", "S8", "U16", "S16", "8", "16":
				narrows += o.Executed
			}
		}
	}
	wide = measure(over(wides, modified != nil, all, modified != nil))
	narrow = measure(over(narrows, modified != nil, all, modified != nil))
	return wide, narrow
}

// Share is a class's share; unknown without opcodes.
func (m *Mix) Share(class string) Measure {
	for _, c := range m.Classes {
		if c.Name == class {
			return Measure{c.Share, true}
		}
	}
	return Measure{0, m.Classes != nil}
}

// Notes says in sentences what of the mix stands out.
func (m *Mix) Notes() []string {
	var out []string
	for _, f := range []struct {
		name string
		*Fusion
	}{{"FP32", m.FP32}, {"FP64", m.FP64}} {
		if f.Fusion != nil {
			text := fmt.Sprintf("of the %s arithmetic, %s are fused multiply-adds, %s sums, %s products", f.name,
				percentText(f.Fused), percentText(f.Adds), percentText(f.Products))
			if f.Fusable >= fusable {
				text += fmt.Sprintf(": fused, up to %s less", percentText(f.Fusable))
			}
			out = append(out, text)
		}
	}
	if m.Lanes.Known {
		text := fmt.Sprintf("%.1f of 32 lanes are active on average", m.Lanes.Value)
		if m.Branched.Known && m.Branched.Value-m.Lanes.Value >= 1 {
			text += fmt.Sprintf(" (%.1f are in the branch; the others of those are predicated off)", m.Branched.Value)
		}
		out = append(out, text)
	}
	if m.Divergent.Known && m.Divergent.Value >= 0.01 {
		out = append(out, percentText(m.Divergent.Value)+" of the branches diverge")
	}
	if c := m.Share(ClassConversion); c.Known && c.Value >= 0.05 {
		out = append(out, percentText(c.Value)+" of the instructions convert between types")
	}
	if m.Narrow.Known && m.Narrow.Value >= 0.1 {
		out = append(out, percentText(m.Narrow.Value)+" of the global loads and stores move at most 2 bytes per lane")
	}
	if m.Wide.Known && m.Wide.Value >= 0.1 {
		out = append(out, percentText(m.Wide.Value)+" of the global loads and stores move 16 bytes per lane or more")
	}
	return out
}

package kernel

import (
	"cmp"
	"slices"
	"strings"
)

// An Opcode is how often an instruction was executed by warps, without its modifiers: "FFMA".
type Opcode struct {
	Name     string
	Executed float64
}

// Opcodes is the executed instructions by opcode, the most frequent first; nil: not collected, or a
// CSV, which has only the sum.
func (k *Kernel) Opcodes() []Opcode { return k.opcodes("sass__inst_executed_per_opcode") }

// OpcodesModified is the executed instructions by opcode with all modifiers: "LDG.E.128.CONSTANT".
func (k *Kernel) OpcodesModified() []Opcode {
	return k.opcodes("sass__inst_executed_per_opcode_with_modifier_all")
}

// OpcodeLanes is like Opcodes, but counts threads rather than warps, predicated-off ones left out.
func (k *Kernel) OpcodeLanes() []Opcode {
	return k.opcodes("sass__thread_inst_executed_true_per_opcode")
}

func (k *Kernel) opcodes(metric string) []Opcode {
	var out []Opcode
	for name, v := range k.Launch.ByOpcode(metric) {
		if v > 0 {
			out = append(out, Opcode{name, v})
		}
	}
	slices.SortFunc(out, func(a, b Opcode) int {
		if c := cmp.Compare(b.Executed, a.Executed); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// OpcodeShare is the share of executed instructions that match; unknown without opcodes.
func (k *Kernel) OpcodeShare(match func(name string) bool) (float64, bool) {
	return share(k.Opcodes(), match)
}

// ModifiedShare is the share of executed instructions that match by opcode with all modifiers.
func (k *Kernel) ModifiedShare(match func(name string) bool) (float64, bool) {
	return share(k.OpcodesModified(), match)
}

func share(all []Opcode, match func(string) bool) (float64, bool) {
	var matched, total float64
	for _, o := range all {
		total += o.Executed
		if match(o.Name) {
			matched += o.Executed
		}
	}
	return over(matched, true, total, len(all) > 0)
}

// ThreadOps is thread instructions of one arithmetic operation a second: "ffma", "fadd", "fmul", and
// the same with d (FP64) and h (FP16, where one instruction does two: a half2). From the rate a cycle
// and the measured clock; from the sum and the time; or from opcodes.
func (k *Kernel) ThreadOps(op string) (float64, bool) {
	base := "smsp__sass_thread_inst_executed_op_" + op + "_pred_on"
	if v, ok := k.number(base + ".sum.per_cycle_elapsed"); ok {
		if hz, ok := k.number("smsp__cycles_elapsed.avg.per_second"); ok {
			return v * hz, true
		}
		if hz, ok := k.Rate("sm"); ok {
			return v * hz, true
		}
	}
	us, timed := k.Microseconds()
	if !timed || us <= 0 {
		return 0, false
	}
	if v, ok := k.number(base+".sum", "sm__sass_thread_inst_executed_op_"+op+"_pred_on.sum"); ok {
		return v / (us * 1e-6), true
	}
	lanes := k.OpcodeLanes()
	var total float64
	for _, o := range lanes {
		if isOp(o.Name, op) {
			total += o.Executed
		}
	}
	return total / (us * 1e-6), lanes != nil
}

// isOp says whether an opcode does an operation: FFMA and FFMAI do ffma, HFMA2 does hfma.
func isOp(opcode, op string) bool {
	o := strings.ToLower(strings.TrimRight(opcode, "23"))
	return o == op || o == op+"i" || o == op+"32i"
}

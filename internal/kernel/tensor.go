package kernel

import (
	"math"
	"slices"
	"strings"

	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/peaks"
)

// tensorPeaks is matrix arithmetic by the type of its factors. Since 2024 the profiler counts the
// operations of each path; before, they follow from the opcodes; without opcodes nothing is said.
func (k *Kernel) tensorPeaks() []Peak {
	us, timed := k.Microseconds()
	if !timed || us <= 0 {
		return nil
	}
	if paths := k.tensorPaths(); paths != nil {
		return k.pathPeaks(paths, us*1e-6)
	}
	return k.opcodePeaks(us * 1e-6)
}

const tensorPrefix = "sm__ops_path_tensor_"

// A tensorPath is one kind of matrix instruction with its types.
type tensorPath struct {
	op     string // "hgmma", "hmma", "utchmma"; "": of all together
	source string // type of the factors: "fp16"
	sparse bool
	ops    float64 // done: for floating types FLOP
	peak   float64 // a clock, over all SMs; 0: not known
}

func (k *Kernel) tensorPaths() []tensorPath {
	var out []tensorPath
	for i := range k.Launch.Metrics {
		m := &k.Launch.Metrics[i]
		name, ok := strings.CutPrefix(k.Launch.Report.Names.Text(m.Name), tensorPrefix)
		if !ok {
			continue
		}
		name, ok = strings.CutSuffix(name, ".sum")
		ops, number := m.Value.Number()
		if !ok || !number {
			continue
		}
		p := parsePath(name)
		p.ops = ops
		p.peak, _ = k.number(tensorPrefix + name + ".sum.peak_sustained")
		out = append(out, p)
	}
	return out
}

// parsePath reads "op_hmma_src_fp16_dst_fp32_sparsity_off" and "src_fp16".
func parsePath(name string) tensorPath {
	var p tensorPath
	if rest, ok := strings.CutPrefix(name, "op_"); ok {
		p.op, name, _ = strings.Cut(rest, "_")
	}
	name = strings.TrimPrefix(name, "src_")
	name, p.sparse = strings.CutSuffix(name, "_sparsity_on")
	name = strings.TrimSuffix(name, "_sparsity_off")
	p.source, _, _ = strings.Cut(name, "_dst_")
	return p
}

// pathPeaks sums paths by type. The peak is the fastest dense path that the chip has for the type, even
// if the kernel used a slower one (mma.sync on Hopper reaches two thirds of wgmma): the distance to it
// is what another instruction would gain. Names without a path count the same work again, and their
// peak is that of sparse matrices: they count only where a type has no other.
func (k *Kernel) pathPeaks(paths []tensorPath, seconds float64) []Peak {
	hz, ok := k.Rate("sm")
	if !ok {
		return nil
	}
	byType := make(map[string]*Peak)
	var order []string
	detailed := func(source string) bool {
		return slices.ContainsFunc(paths, func(p tensorPath) bool { return p.op != "" && p.source == source })
	}
	for _, p := range paths {
		if p.op == "" && detailed(p.source) {
			continue
		}
		t := byType[p.source]
		if t == nil {
			t = &Peak{Precision: "tensor " + strings.ReplaceAll(p.source, "_", "/"), From: fromCounters}
			byType[p.source], order = t, append(order, p.source)
		}
		t.Flops += p.ops / seconds
		if !p.sparse || p.ops > 0 {
			t.Most = max(t.Most, p.peak*hz)
		}
	}
	slices.Sort(order)
	out := make([]Peak, 0, len(order))
	for _, source := range order {
		out = append(out, *byType[source])
	}
	return out
}

// opcodePeaks is matrix arithmetic from opcodes with their shapes, which say how much each does.
func (k *Kernel) opcodePeaks(seconds float64) []Peak {
	var out []Peak
	for _, o := range k.OpcodesModified() {
		source, flops := matrixWork(o.Name)
		if flops == 0 {
			continue
		}
		i := slices.IndexFunc(out, func(p Peak) bool { return p.Precision == "tensor "+source })
		if i < 0 {
			i = len(out)
			most, _ := k.tensorMost(source)
			out = append(out, Peak{Precision: "tensor " + source, Most: most, From: fromDesign})
		}
		out[i].Flops += o.Executed * flops / seconds
	}
	return out
}

// matrixWork is the factors' type and the FLOP of one matrix instruction of a warp; 0: it is none, or its
// shape is not said. The shape is m, n and k without a separator: 16816 is 16x8x16. On Volta
// HMMA.884 takes four steps for 8x8x4 of four groups: 512 FLOP each.
func matrixWork(opcode string) (source string, flops float64) {
	parts := strings.Split(opcode, ".")
	switch parts[0] {
	case "HMMA":
		source = "fp16"
	case "DMMA":
		source = "fp64"
	case "QMMA":
		source = "fp8"
	default:
		return "", 0
	}
	for _, p := range parts[1:] {
		switch p {
		case "BF16":
			source = "bf16"
		case "TF32":
			source = "tf32"
		}
		if n, ok := shapes[p]; ok {
			flops = n
		}
	}
	return source, flops
}

var shapes = map[string]float64{
	"884":   2 * 8 * 8 * 4,
	"8x8x4": 2 * 8 * 8 * 4,
	"1684":  2 * 16 * 8 * 4,
	"1688":  2 * 16 * 8 * 8,
	"16816": 2 * 16 * 8 * 16,
	"16832": 2 * 16 * 8 * 32,
	"16864": 2 * 16 * 8 * 64,
}

// tensorMost is the FLOP a second that matrix instructions could do with factors of a type, at the clock
// of the measurement: from the architecture, where all of its devices are alike, else from the data sheet
// of the device (a GeForce or A10G sums in FP32 at half the rate of an A40). False: there is no such
// unit, or it is not known.
func (k *Kernel) tensorMost(source string) (float64, bool) {
	hz, ok1 := k.Rate("sm")
	sms, ok2 := k.SMs()
	if !ok1 || !ok2 {
		return 0, false
	}
	cc, _ := k.Capability()
	if rates, ok := matrixPerClock[cc]; ok {
		v := rates[source] * sms * hz
		return v, v > 0
	}
	unit, ok1 := matrixUnits[source]
	p, ok2 := peaks.Find(k.DeviceName(), model.Device{SMs: int32(min(sms, math.MaxInt32))})
	// of these, the table has the vector rate
	if !ok1 || !ok2 || p.BoostMHz <= 0 || strings.Contains(p.Name, "GTX 16") {
		return 0, false
	}
	v, ok := p.TFLOPs(unit)
	return v * 1e12 * hz / (p.BoostMHz * 1e6), ok && v > 0
}

// matrixPerClock is dense FLOP of an SM per clock by compute capability and type of the factors: as
// reports of 8.0, 9.0 and 10.0 say, and NVIDIA's paper on 7.0.
var matrixPerClock = map[int]map[string]float64{
	70:  {"fp16": 1024},
	80:  {"fp16": 2048, "bf16": 2048, "tf32": 1024, "fp64": 128},
	90:  {"fp16": 4096, "bf16": 4096, "tf32": 2048, "fp8": 8192, "fp64": 256},
	100: {"fp16": 8192, "bf16": 8192, "tf32": 4096, "fp8": 16384},
}

var matrixUnits = map[string]peaks.Unit{
	"fp16": peaks.MatrixFP16, "bf16": peaks.MatrixBF16, "tf32": peaks.MatrixTF32, "fp8": peaks.MatrixFP8,
	"fp64": peaks.MatrixFP64,
}

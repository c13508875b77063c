package kernel

import (
	"math"
	"strings"
	"testing"
)

// Achieved never exceeds what is possible, in every launch; 5 % is what passes of a measurement differ by.
func TestNothingIsAboveItsRoof(t *testing.T) {
	const slack = 1.05
	reports := corpusReports(t)
	points, highest := 0, map[string]float64{}
	for _, name := range names(reports) {
		for _, k := range reports[name] {
			r := k.Roofline()
			if r == nil {
				continue
			}
			for _, p := range r.Peaks {
				if p.Flops > slack*p.Most {
					t.Errorf("%s %s: %s %.4g of %.4g FLOP/s (%s)", name, k.Launch.Base, p.Precision, p.Flops, p.Most,
						p.From)
				}
				highest[p.Precision] = max(highest[p.Precision], p.Flops/p.Most)
			}
			for _, b := range r.Bandwidths {
				if b.Most > 0 && b.Bytes > slack*b.Most {
					t.Errorf("%s %s: %s %.4g of %.4g B/s (%s)", name, k.Launch.Base, b.Level, b.Bytes, b.Most, b.From)
				}
				if b.Most > 0 {
					highest[b.Level] = max(highest[b.Level], b.Bytes/b.Most)
				}
			}
			for _, p := range r.Points {
				points++
				if !(p.Reached > 0 && p.Reached <= slack) || !(p.Intensity > 0) || p.ByEfficiency() < 1/slack ||
					p.ByIntensity() < 1-1e-9 {
					t.Errorf("%s %s: %+v", name, k.Launch.Base, p)
				}
			}
		}
	}
	if points < 200 {
		t.Errorf("%d points", points)
	}
	for _, level := range []string{"dram", "l2", "l1", "fp32", "fp64"} {
		if highest[level] < 0.3 {
			t.Errorf("%s: no kernel of the corpus comes above %.2f of the roof, so that the roof is wrong", level,
				highest[level])
		}
	}
	t.Logf("%d points; highest %.3v", points, highest)
}

func TestRooflineOfKnownWork(t *testing.T) {
	reports := corpusReports(t)
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if math.Abs(got/want-1) > tolerance {
			t.Errorf("%s: %.5g, want %.5g", what, got, want)
		}
	}
	peak := func(k *Kernel, precision string) Peak {
		t.Helper()
		for _, p := range k.Roofline().Peaks {
			if p.Precision == precision {
				return p
			}
		}
		t.Errorf("no %s", precision)
		return Peak{}
	}
	flop := func(k *Kernel, p Peak) float64 {
		us, _ := k.Microseconds()
		return p.Flops * us * 1e-6
	}
	const product = 2 * 2048 * 2048 * 2048 // of two matrices of 2048
	tiled := reports["gemm"][1]
	near("sgemm, with an inner size of 1,024", flop(tiled, peak(tiled, "fp32")), product/2, 0.02)
	wmma := reports["tensor_cores_idle"][1]
	tensor := peak(wmma, "tensor fp16")
	near("wmma", flop(wmma, tensor), product, 0.001)
	hz, _ := wmma.Rate("sm")
	near("dense wgmma peak of an H200", tensor.Most, 4096*132*hz, 0.001)

	// The roofs of data sheets.
	for _, c := range []struct {
		report string
		at     int
		gbs    float64
	}{
		{"dram_bound_at_peak", 0, 4814}, {"cs599k-a100-2025.1-silu", 0, 1555}, {"cs599k-h100-2025.1-silu", 0, 2039},
		{"cudacode-gtx1660s-2024.1-gemm", 0, 336}, {"esmm-a10g-2023.1-roofline", 0, 600},
		{"ncar-v100-2022.2-baseline", 0, 898}, // 11 us: the measured clock would say 545
		{"jaxtoolbox-gb200-2025.3-graph", 0, 7936},
	} {
		most, _ := reports[c.report][c.at].DRAMPeak()
		near(c.report, most/1e9, c.gbs, 0.015)
	}
}

func TestTriadIsUnderTheSlope(t *testing.T) {
	r := corpusReports(t)["dram_bound_at_peak"][0].Roofline()
	p := r.Points[0]
	// a[i] = b[i] + s*c[i]: 2 FLOP for 12 bytes.
	if p.Precision != "fp32" || p.Level != "dram" || !p.Slope() || math.Abs(p.Intensity-2.0/12) > 0.01 ||
		p.Reached < 0.85 {
		t.Errorf("%+v", p)
	}
}

// Where the profiler states the peak of matrix instructions, the architecture's is the same; where it does
// not, cards of one architecture are told apart.
func TestTensorPeaksAreThoseOfTheProfiler(t *testing.T) {
	reports := corpusReports(t)
	for _, name := range []string{"gemm", "cs599k-h100-2025.1-silu", "cs599k-a100-2025.1-silu",
		"jaxtoolbox-gb200-2025.3-graph"} {
		k := reports[name][0]
		for _, p := range k.tensorPeaks() {
			source, _ := strings.CutPrefix(p.Precision, "tensor ")
			if want, ok := k.tensorMost(source); ok && math.Abs(p.Most/want-1) > 0.03 {
				t.Errorf("%s %s: the profiler says %.4g, the architecture %.4g", name, p.Precision, p.Most, want)
			}
		}
	}
	perClock := func(name string) float64 {
		k := reports[name][0]
		v, _ := k.tensorMost("fp16")
		hz, _ := k.Rate("sm")
		sms, _ := k.SMs()
		return v / hz / sms
	}
	if a10g, a40, gtx := perClock("esmm-a10g-2023.1-roofline"), perClock("indexspaces-a40-2022.4"),
		perClock("cudacode-gtx1660s-2024.1-gemm"); math.Abs(a10g/512-1) > 0.03 || math.Abs(a40/1024-1) > 0.03 ||
		gtx != 0 {
		t.Errorf("A10G %g, A40 %g, GTX 1660 SUPER %g FLOP a clock of an SM", a10g, a40, gtx)
	}
}

func TestMatrixWork(t *testing.T) {
	for _, c := range []struct {
		opcode, source string
		flops          float64
	}{
		{"HMMA.16816.F32", "fp16", 4096}, {"HMMA.16816.F32.BF16", "bf16", 4096}, {"HMMA.1688.F32.TF32", "tf32", 2048},
		{"HMMA.884.F32.F32.STEP0", "fp16", 512}, {"DMMA.884", "fp64", 512}, {"FFMA", "", 0}, {"HMMA.F32", "fp16", 0},
	} {
		if source, flops := matrixWork(c.opcode); flops != c.flops || (flops > 0 && source != c.source) {
			t.Errorf("%s: %s %g", c.opcode, source, flops)
		}
	}
}

func TestParsePath(t *testing.T) {
	for name, want := range map[string]tensorPath{
		"op_hmma_src_fp16_dst_fp32_sparsity_off": {op: "hmma", source: "fp16"},
		"op_hgmma_src_fp16_sparsity_on":          {op: "hgmma", source: "fp16", sparse: true},
		"src_fp4_fp6_fp8_dst_fp16":               {source: "fp4_fp6_fp8"},
		"src_int8_sparsity_off":                  {source: "int8"},
		"src_fp64":                               {source: "fp64"},
	} {
		if got := parsePath(name); got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

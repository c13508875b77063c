package peaks

import (
	"math"
	"testing"

	"lacuna/internal/timeline/model"
)

// seen is devices as captures of the corpus state them: nsys TARGET_INFO_GPU, Kineto deviceProperties,
// attributes in Nsight Compute's reports. want "": the table must not know it.
var seen = []struct {
	name         string
	sms          int32
	mhz          float64 // 0: not stated
	gbs          float64
	memory       int64
	want         string
	overclocked  bool // the board's maximum clock lies above the reference card's boost
	lockedClocks bool // the clock is not the boost clock
}{
	{name: "NVIDIA GeForce RTX 4060 Ti", sms: 34, mhz: 2565, gbs: 288.032, memory: 8585216000,
		want: "RTX 4060 Ti 8 GB"},
	{name: "NVIDIA GeForce RTX 3080 Ti", sms: 80, mhz: 1770, gbs: 912.096, memory: 12621774848, want: "RTX 3080 Ti",
		overclocked: true},
	{name: "Tesla V100-SXM2-16GB", sms: 80, mhz: 1530, gbs: 898.048, memory: 16911433728, want: "V100 SXM2 16 GB"},
	{name: "NVIDIA TITAN RTX", sms: 72, mhz: 1770, gbs: 672.096, memory: 25388515328, want: "TITAN RTX"},
	{name: "NVIDIA GeForce RTX 3060", sms: 28, mhz: 1777, gbs: 360.048, memory: 12488343552, want: "RTX 3060 12 GB"},
	{name: "NVIDIA H100 80GB HBM3", sms: 132, mhz: 1980, gbs: 3352.32, memory: 84942979072, want: "H100 SXM 80 GB"},
	{name: "NVIDIA H200", sms: 132, mhz: 1980, gbs: 4916.736, memory: 150121545728, want: "H200 SXM"},
	{name: "NVIDIA H20", sms: 78, mhz: 1980, gbs: 4022.784, memory: 101502222336, want: "H20"},
	{name: "Quadro RTX 6000", sms: 72, mhz: 1770, gbs: 672.096, memory: 25365381120, want: "Quadro RTX 6000"},
	{name: "Quadro GP100", sms: 56, mhz: 1442.5, gbs: 732.16, memory: 17069375488, want: "Quadro GP100"},
	{name: "Tesla V100-SXM2-32GB", sms: 80, mhz: 1530, gbs: 898.048, memory: 34089730048, want: "V100 SXM2 32 GB"},
	{name: "Tesla T4", sms: 40, mhz: 1590, gbs: 320.064, memory: 15828320256, want: "T4"},
	{name: "NVIDIA GeForce RTX 3080", sms: 68, mhz: 1710, gbs: 760.08, memory: 10736893952, want: "RTX 3080 10 GB"},
	{name: "NVIDIA A100-SXM4-80GB", sms: 108, mhz: 1410, gbs: 2039.04, memory: 84990623744, want: "A100 SXM 80 GB"},
	{name: "NVIDIA A100-SXM4-40GB", sms: 108, mhz: 1410, gbs: 1555.2, memory: 42297524224, want: "A100 SXM 40 GB"},
	{name: "NVIDIA A100-PCIE-40GB", sms: 108, mhz: 1410, gbs: 1555.2, want: "A100 PCIe 40 GB"},
	{name: "NVIDIA H100 PCIe", sms: 114, mhz: 1755, gbs: 2039.04, want: "H100 PCIe 80 GB"},
	{name: "NVIDIA GH200 480GB", sms: 132, mhz: 1980, gbs: 4022.784, want: "GH200 96 GB"},
	{name: "NVIDIA A10G", sms: 80, mhz: 1710, gbs: 600.096, want: "A10G"},
	{name: "NVIDIA A40", sms: 84, mhz: 1740, gbs: 696.096, want: "A40"},
	{name: "NVIDIA GeForce GTX 1660 SUPER", sms: 22, mhz: 1815, gbs: 336.048, want: "GTX 1660 SUPER"},
	{name: "NVIDIA GB200", sms: 152, mhz: 1200, gbs: 7936, want: "GB200 (one GPU)", lockedClocks: true},

	{name: "AMD Instinct MI210", sms: 104, memory: 68702699520, want: "MI210"},
	{name: "AMD Instinct MI300X", sms: 304, memory: 206141652992, want: "MI300X"},
	{name: "AMD Instinct MI300X VF", sms: 304, memory: 206141652992, want: "MI300X"},
	{name: "NVIDIA A100-PG509-200", sms: 108, memory: 42297524224, want: "A100-PG509-200"},
	{name: "NVIDIA GeForce RTX 2080 Ti", sms: 68, memory: 11554586624, want: "RTX 2080 Ti"},
	{name: "Tesla V100-DGXS-32GB", sms: 80, memory: 34084028416, want: "V100 DGX Station 32 GB"},

	// of captures of strangers, names as drivers print them: laptop, Ti, SUPER and D are other parts
	{name: "NVIDIA RTX 500 Ada Generation Laptop GPU", sms: 16, memory: 4292345856, want: "RTX 500 Ada Laptop"},
	{name: "NVIDIA RTX A1000 6GB Laptop GPU", sms: 20, memory: 6441926656, want: "RTX A1000 Laptop 6 GB"},
	{name: "NVIDIA GeForce RTX 4090 D", sms: 114, memory: 25377767424, want: "RTX 4090 D"},
	{name: "NVIDIA RTX A4000", sms: 48, memory: 16782262272, want: "RTX A4000"},
	{name: "NVIDIA GeForce RTX 4090 Laptop GPU", sms: 76, memory: 17170956288, want: "RTX 4090 Laptop"},
	{name: "NVIDIA GeForce RTX 3060 Laptop GPU", sms: 30, memory: 6441926656, want: "RTX 3060 Laptop"},
	{name: "NVIDIA GeForce RTX 3080 Laptop GPU", sms: 48, memory: 17179344896, want: "RTX 3080 Laptop 16 GB"},
	{name: "NVIDIA GeForce RTX 5080", sms: 84, want: "RTX 5080"},
	{name: "NVIDIA GeForce RTX 5090", sms: 170, want: "RTX 5090"},
	{name: "NVIDIA GeForce RTX 4070 Ti SUPER", sms: 66, want: "RTX 4070 Ti SUPER"},
	{name: "NVIDIA GeForce RTX 4070 Ti", sms: 60, want: "RTX 4070 Ti"},
	{name: "NVIDIA GeForce RTX 4070 SUPER", sms: 56, want: "RTX 4070 SUPER"},
	{name: "NVIDIA RTX PRO 6000 Blackwell Server Edition", sms: 188, want: "RTX PRO 6000 Blackwell Server"},
	{name: "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", want: "RTX PRO 6000 Blackwell Max-Q"},
	{name: "NVIDIA GB300", want: "GB300 (one GPU)"},
	{name: "AMD Instinct MI355X", sms: 256, want: "MI355X"},
	{name: "Orin", sms: 16, want: "Jetson AGX Orin 64 GB"},
	{name: "GeForce GTX 1080 Ti", sms: 28, want: "GTX 1080 Ti"},
	{name: "NVIDIA GeForce RTX 3060 Ti", sms: 38}, // GDDR6 or GDDR6X

	{name: "NVIDIA H100", sms: 132, memory: 102085492736},          // 96 GB: neither the SXM nor the NVL part
	{name: "NVIDIA GeForce GTX 1650", sms: 16, memory: 4294705152}, // a mobile one; GDDR5 or 6 is not said
	{name: "AMD Radeon Graphics", sms: 104, memory: 68702699520},   // what a driver without names calls an MI250
	{name: "", sms: 304, memory: 206141652992},                     // no name at all
	{name: "ARTEMIS"}, // another accelerator
	{name: "NVIDIA H100 80GB HBM3", sms: 16, memory: 10468982784},              // a MIG slice 1g.10gb
	{name: "NVIDIA GeForce RTX 3080 Laptop GPU", sms: 68, memory: 10736893952}, // no laptop part
	{name: "NVIDIA GeForce RTX 3080"},                                          // 10 or 12 GB
}

func device(i int) model.Device {
	s := seen[i]
	return model.Device{Name: s.name, SMs: s.sms, ClockHz: int64(s.mhz * 1e6), BandwidthBps: int64(s.gbs * 1e9),
		MemoryBytes: s.memory}
}

func TestFind(t *testing.T) {
	for i, s := range seen {
		p, ok := Find(s.name, device(i))
		switch {
		case s.want == "" && ok:
			t.Errorf("%s with %d SMs and %d bytes is %s, want unknown", s.name, s.sms, s.memory, p.Name)
		case s.want != "" && !ok:
			t.Errorf("%s is unknown, want %s", s.name, s.want)
		case ok && p.Name != s.want:
			t.Errorf("%s is %s, want %s", s.name, p.Name, s.want)
		}
	}
}

// Several cards of a name are told apart by bandwidth, where the capture states it.
func TestFindByBandwidth(t *testing.T) {
	p, ok := Find("GeForce GTX 1650", model.Device{SMs: 14, BandwidthBps: 192e9})
	if !ok || p.Name != "GTX 1650 (GDDR6)" {
		t.Errorf("a GTX 1650 with 192 GB/s is %v", p)
	}
}

// The peak must follow from the clock that captures state: SMs x lanes x 2 x clock.
func TestFP32FollowsFromCaptures(t *testing.T) {
	for i, s := range seen {
		p, ok := Find(s.name, device(i))
		if !ok || s.mhz == 0 || s.lockedClocks {
			continue
		}
		limit := 0.05
		if s.overclocked {
			limit = 0.10
		}
		got := float64(s.sms) * float64(p.CoresPerSM) * 2 * s.mhz / 1e6
		if off := math.Abs(got/p.FP32 - 1); off > limit {
			t.Errorf("%s: %.1f TFLOP/s by the capture's clock, the table has %.1f (%.1f%% off)", s.name, got, p.FP32,
				100*off)
		}
	}
}

// The same within each row, and the rates of a row must stand to one another as the hardware's do.
func TestRowsAreConsistent(t *testing.T) {
	names := make(map[string]string)
	for _, p := range All() {
		if p.Source == "" || p.MemoryGiB == 0 || p.MemoryGBs == 0 || p.FP32 == 0 || p.HostLink == "" || p.L2MiB == 0 ||
			len(p.names) == 0 {
			t.Errorf("%s lacks something", p.Name)
		}
		for _, n := range p.names {
			if normal(n) != n {
				t.Errorf("%s: the name %q can never be found", p.Name, n)
			}
		}
		if names[p.Name] != "" {
			t.Errorf("two rows are called %s", p.Name)
		}
		names[p.Name] = p.Name
		if p.SMs > 0 {
			got := float64(p.SMs) * float64(p.CoresPerSM) * 2 * p.BoostMHz / 1e6
			if off := math.Abs(got/p.FP32 - 1); off > 0.05 {
				t.Errorf("%s: SMs x lanes x 2 x clock is %.1f, the row has %.1f", p.Name, got, p.FP32)
			}
		}
		// A sparse figure in a dense column is the usual mistake: it is off by two.
		for _, r := range []struct {
			what      string
			has, want float64
		}{{"BF16", p.BF16, p.FP16}, {"TF32", p.TF32, p.FP16 / 2}, {"FP8", p.FP8, p.FP16 * 2}} {
			mi100 := p.Name == "MI100" && r.what == "BF16" // at half the rate there
			if r.has != 0 && !mi100 && math.Abs(r.has/r.want-1) > 0.03 {
				t.Errorf("%s: %s is %.1f, want %.1f by FP16", p.Name, r.what, r.has, r.want)
			}
		}
	}
}

// Matrix FLOP a clock and SM as Nsight Compute's reports state them (dense, FP16 to FP32).
func TestMatrixRatesFollowFromTheHardware(t *testing.T) {
	perClock := map[string]float64{
		"V100 SXM2 32 GB": 1024, "T4": 1024, "RTX 2080 Ti": 512, "A100 SXM 40 GB": 2048, "A40": 1024, "A10G": 512,
		"RTX 3080 10 GB": 512, "L40S": 1024, "H100 PCIe 80 GB": 4096, "H100 SXM 80 GB": 4096, "B200": 8192,
	}
	for _, p := range All() {
		flop, known := perClock[p.Name]
		if !known {
			continue
		}
		got := float64(p.SMs) * flop * p.BoostMHz / 1e6
		if off := math.Abs(got/p.FP16 - 1); off > 0.09 { // the matrix clock of SXM Hopper is 1830, not 1980
			t.Errorf("%s: %.0f TFLOP/s by SMs and clock, the row has %.0f", p.Name, got, p.FP16)
		}
	}
}

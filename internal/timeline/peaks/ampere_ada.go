package peaks

const (
	sourceA100 = "NVIDIA A100 data sheet; Ampere architecture white paper (GA100)"
	sourceGA10 = "NVIDIA Ampere GA102 architecture white paper"
	sourceAda  = "NVIDIA Ada GPU architecture white paper"
)

// ampereAndAda is compute capability 8.0 to 8.9.
func ampereAndAda() []*Peak {
	return []*Peak{
		a100("A100 SXM 40 GB", 40, 1555, "", "a100 sxm4 40gb", "a100 sxm 40gb"),
		a100("A100 SXM 80 GB", 80, 2039, "", "a100 sxm4 80gb", "a100 sxm 80gb"),
		a100("A100 PCIe 40 GB", 40, 1555, "", "a100 pcie 40gb"),
		a100("A100 PCIe 80 GB", 80, 1935, "", "a100 80gb pcie", "a100 pcie 80gb"),
		a100("A100-PG509-200", 40, 1555, "; a board of one customer without a data sheet: captures state 108 SMs "+
			"and 40 GB, taken as the SXM module", "a100 pg509 200"),
		ga10x(Peak{Name: "A40", names: []string{"a40"}, SMs: 84, BoostMHz: 1740, MemoryGiB: 48, MemoryGBs: 696,
			L2MiB: 6, Source: "NVIDIA A40 data sheet"}, 1024),
		ga10x(Peak{Name: "A10", names: []string{"a10"}, SMs: 72, BoostMHz: 1695, MemoryGiB: 24, MemoryGBs: 600,
			L2MiB: 6, Source: "NVIDIA A10 data sheet"}, 1024),
		ga10x(Peak{Name: "A10G", names: []string{"a10g"}, SMs: 80, BoostMHz: 1710, MemoryGiB: 24, MemoryGBs: 600,
			L2MiB:  6,
			Source: "NVIDIA A10G data sheet (35 FP32, 35 TF32, 70 BF16, 140 INT8)"}, 512),
		ga10x(Peak{Name: "RTX 3060 12 GB", names: []string{"rtx 3060"}, SMs: 28, BoostMHz: 1777, MemoryGiB: 12,
			MemoryGBs: 360, L2MiB: 2.25, Source: sourceGA10 + "; GeForce RTX 3060 specifications"}, 512),
		ga10x(Peak{Name: "RTX 3060 8 GB", names: []string{"rtx 3060"}, SMs: 28, BoostMHz: 1777, MemoryGiB: 8,
			MemoryGBs: 240, L2MiB: 2, Source: "GeForce RTX 3060 specifications"}, 512),
		ga10x(Peak{Name: "RTX 3080 10 GB", names: []string{"rtx 3080"}, SMs: 68, BoostMHz: 1710, MemoryGiB: 10,
			MemoryGBs: 760, L2MiB: 5, Source: sourceGA10}, 512),
		ga10x(Peak{Name: "RTX 3080 12 GB", names: []string{"rtx 3080"}, SMs: 70, BoostMHz: 1710, MemoryGiB: 12,
			MemoryGBs: 912, L2MiB: 6, Source: "GeForce RTX 3080 specifications"}, 512),
		ga10x(Peak{Name: "RTX 3080 Ti", names: []string{"rtx 3080 ti"}, SMs: 80, BoostMHz: 1665, MemoryGiB: 12,
			MemoryGBs: 912, L2MiB: 6, Source: "GeForce RTX 3080 Ti specifications"}, 512),
		ga10x(Peak{Name: "RTX 3090", names: []string{"rtx 3090"}, SMs: 82, BoostMHz: 1695, MemoryGiB: 24,
			MemoryGBs: 936, L2MiB: 6, Source: sourceGA10}, 512),
		ada(Peak{Name: "RTX 4060 Ti 8 GB", names: []string{"rtx 4060 ti"}, SMs: 34, BoostMHz: 2535, MemoryGiB: 8,
			MemoryGBs: 288, L2MiB: 32,
			HostLink: "PCIe 4.0 x8", HostGBs: pcie4GBs / 2, Source: sourceAda}, 512),
		ada(Peak{Name: "RTX 4060 Ti 16 GB", names: []string{"rtx 4060 ti"}, SMs: 34, BoostMHz: 2535, MemoryGiB: 16,
			MemoryGBs: 288, L2MiB: 32,
			HostLink: "PCIe 4.0 x8", HostGBs: pcie4GBs / 2, Source: sourceAda}, 512),
		ada(Peak{Name: "RTX 4090", names: []string{"rtx 4090"}, SMs: 128, BoostMHz: 2520, MemoryGiB: 24,
			MemoryGBs: 1008, L2MiB: 72,
			HostLink: pcie4, HostGBs: pcie4GBs, Source: sourceAda}, 512),
		ada(Peak{Name: "L4", names: []string{"l4"}, SMs: 58, BoostMHz: 2040, MemoryGiB: 24, MemoryGBs: 300, L2MiB: 48,
			HostLink: pcie4, HostGBs: pcie4GBs,
			Source: "NVIDIA L4 data sheet (its tensor figures are sparse: halved)"}, 1024),
		ada(Peak{Name: "L40S", names: []string{"l40s"}, SMs: 142, BoostMHz: 2520, MemoryGiB: 48, MemoryGBs: 864,
			L2MiB:    96,
			HostLink: pcie4, HostGBs: pcie4GBs, Source: "NVIDIA L40S data sheet; " + sourceAda}, 1024),
	}
}

func a100(name string, memoryGiB, memoryGBs float64, note string, names ...string) *Peak {
	return &Peak{
		Name: name, names: names, SMs: 108, CoresPerSM: 64, BoostMHz: 1410,
		FP64: 9.7, FP64Matrix: 19.5, FP32: 19.5, TF32: 156, FP16: 312, BF16: 312, INT8: 624,
		MemoryGiB: memoryGiB, MemoryGBs: memoryGBs, HostLink: pcie4, HostGBs: pcie4GBs, L2MiB: 40, SharedKiB: 164,
		Source: sourceA100 + note,
	}
}

// ga10x fills in the rates of compute capability 8.6 from SMs and clock: 128 FP32 lanes an SM, FP64 at 1/64,
// and matrixFLOP half-precision FLOP with FP32 accumulation a clock and SM, 1024 on professional
// cards and half of it on GeForce and A10G. TF32 is half of that, INT8 2048 a clock. They equal the
// data sheets' figures to the digits given there.
func ga10x(p Peak, matrixFLOP float64) *Peak {
	perClock := float64(p.SMs) * p.BoostMHz / 1e6
	p.CoresPerSM = 128
	p.FP32 = perClock * 256
	p.FP64 = p.FP32 / 64
	p.FP16, p.BF16, p.TF32 = perClock*matrixFLOP, perClock*matrixFLOP, perClock*matrixFLOP/2
	p.INT8 = perClock * 2048
	if p.names[0] == "a10g" {
		p.INT8 /= 2 // its data sheet: 140
	}
	if p.HostLink == "" {
		p.HostLink, p.HostGBs = pcie4, pcie4GBs
	}
	p.SharedKiB = 100
	return &p
}

// ada is compute capability 8.9: as ga10x, and FP8 at twice the rate of FP16.
func ada(p Peak, matrixFLOP float64) *Peak {
	q := ga10x(p, matrixFLOP)
	q.FP8 = 2 * q.FP16
	return q
}

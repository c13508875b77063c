package peaks

// cdna is AMD's compute GPUs. Cards with two dies are two devices to software: a row is one die.
// "AMD Radeon Graphics", which drivers call any of them without a name, is not listed.
func cdna() []*Peak {
	const lds = 64 // KiB of local data share of a compute unit
	return []*Peak{
		{
			Name: "MI100", names: []string{"mi100"}, SMs: 120, CoresPerSM: 64, BoostMHz: 1502,
			FP64: 11.5, FP32: 23.1, FP32Matrix: 46.1, FP16: 184.6, BF16: 92.3, INT8: 184.6,
			MemoryGiB: 32, MemoryGBs: 1228.8, HostLink: pcie4, HostGBs: pcie4GBs, L2MiB: 8, SharedKiB: lds,
			Source: "AMD Instinct MI100 data sheet",
		},
		{
			Name: "MI210", names: []string{"mi210"}, SMs: 104, CoresPerSM: 64, BoostMHz: 1700,
			FP64: 22.6, FP64Matrix: 45.3, FP32: 22.6, FP32Matrix: 45.3, FP16: 181, BF16: 181, INT8: 181,
			MemoryGiB: 64, MemoryGBs: 1638.4, HostLink: pcie4, HostGBs: pcie4GBs, L2MiB: 8, SharedKiB: lds,
			Source: "AMD Instinct MI210 data sheet",
		},
		{
			Name: "MI250 (one die)", names: []string{"mi250"}, SMs: 104, CoresPerSM: 64, BoostMHz: 1700,
			FP64: 22.6, FP64Matrix: 45.3, FP32: 22.6, FP32Matrix: 45.3, FP16: 181, BF16: 181, INT8: 181,
			MemoryGiB: 64, MemoryGBs: 1638.4, HostLink: pcie4, HostGBs: pcie4GBs, L2MiB: 8, SharedKiB: lds,
			Source: "AMD Instinct MI250 data sheet, halved: two dies",
		},
		{
			Name: "MI250X (one die)", names: []string{"mi250x"}, SMs: 110, CoresPerSM: 64, BoostMHz: 1700,
			FP64: 23.95, FP64Matrix: 47.85, FP32: 23.95, FP32Matrix: 47.85, FP16: 191.5, BF16: 191.5, INT8: 191.5,
			MemoryGiB: 64, MemoryGBs: 1638.4, HostLink: pcie4, HostGBs: pcie4GBs, L2MiB: 8, SharedKiB: lds,
			Source: "AMD Instinct MI250X data sheet, halved: two dies",
		},
		mi300("MI300X", 192, 5300, "AMD Instinct MI300X data sheet; CDNA 3 white paper", "mi300x", "mi300x vf",
			"mi300x oam"),
		mi300("MI325X", 256, 6000, "AMD Instinct MI325X data sheet", "mi325x", "mi325x vf", "mi325x oam"),
	}
}

// mi300 is CDNA 3 with all eight dies as one device. The lanes issue two FP32 operations a clock.
func mi300(name string, memoryGiB, memoryGBs float64, source string, names ...string) *Peak {
	return &Peak{
		Name: name, names: names, SMs: 304, CoresPerSM: 128, BoostMHz: 2100,
		FP64: 81.7, FP64Matrix: 163.4, FP32: 163.4, FP32Matrix: 163.4, TF32: 653.7, FP16: 1307.4, BF16: 1307.4,
		FP8: 2614.9, INT8: 2614.9,
		MemoryGiB: memoryGiB, MemoryGBs: memoryGBs, HostLink: pcie5, HostGBs: pcie5GBs, L2MiB: 32, SharedKiB: 64,
		Source: source,
	}
}

package peaks

const (
	sourceH100 = "NVIDIA H100 data sheet (its tensor figures are sparse: halved); Hopper architecture white paper"
	c2c        = "NVLink-C2C"
)

// hopperAndBlackwell is compute capability 9.0 and 10.0. Matrix rates of the SXM parts are stated at a
// lower boost clock (1830 MHz on H100) than the vector rates (1980).
func hopperAndBlackwell() []*Peak {
	return []*Peak{
		hopper("H100 SXM 80 GB", 80, 3350, pcie5, sourceH100, "h100 80gb hbm3", "h100 sxm5 80gb"),
		hopperPCIe(),
		hopperNVL("H100 NVL", 94, 3938, sourceH100, "h100 nvl"),
		hopper("H200 SXM", 141, 4800, pcie5, "NVIDIA H200 data sheet (tensor figures halved; a capture states "+
			"4917 GB/s)", "h200"),
		hopperNVL("H200 NVL", 141, 4800, "NVIDIA H200 data sheet (tensor figures halved)", "h200 nvl"),
		hopper("GH200 96 GB", 96, 4000, c2c, "NVIDIA GH200 Grace Hopper data sheet (tensor figures halved)",
			"gh200 480gb"),
		hopper("GH200 144 GB", 144, 4900, c2c, "NVIDIA GH200 Grace Hopper data sheet (tensor figures halved)",
			"gh200 144g hbm3e"),
		{
			Name: "H20", names: []string{"h20"}, SMs: 78, CoresPerSM: 128, BoostMHz: 1980,
			FP64: 1, FP64Matrix: 1, FP32: 39.5, TF32: 74, FP16: 148, BF16: 148, FP8: 296, INT8: 296,
			MemoryGiB: 96, MemoryGBs: 4000, HostLink: pcie5, HostGBs: pcie5GBs, L2MiB: 60, SharedKiB: 228,
			Source: "figures given to the press, no public data sheet; FP32 from 78 SMs at 1980 MHz as a capture " +
				"states them (the press has 44)",
		},
		{
			Name: "B100", names: []string{"b100"}, CoresPerSM: 128,
			FP64: 30, FP64Matrix: 30, FP32: 60, TF32: 875, FP16: 1750, BF16: 1750, FP8: 3500, INT8: 3500,
			MemoryGiB: 180, MemoryGBs: 8000, HostLink: pcie5, HostGBs: pcie5GBs, L2MiB: 126, SharedKiB: 228,
			Source: "NVIDIA Blackwell architecture technical brief (tensor figures halved); SMs not published",
		},
		{
			Name: "B200", names: []string{"b200"}, SMs: 148, CoresPerSM: 128, BoostMHz: 1965,
			FP64: 37, FP64Matrix: 37, FP32: 75, TF32: 1125, FP16: 2250, BF16: 2250, FP8: 4500, INT8: 4500,
			MemoryGiB: 180, MemoryGBs: 7700, HostLink: pcie5, HostGBs: pcie5GBs, L2MiB: 126, SharedKiB: 228,
			Source: "NVIDIA HGX B200 data sheet, one of eight GPUs (tensor figures halved)",
		},
		{
			Name: "GB200 (one GPU)", names: []string{"gb200"}, SMs: 152, CoresPerSM: 128, BoostMHz: 2062,
			FP64: 40, FP64Matrix: 40, FP32: 80, TF32: 1250, FP16: 2500, BF16: 2500, FP8: 5000, INT8: 5000,
			MemoryGiB: 186, MemoryGBs: 8000, HostLink: c2c + ", 450 GB/s one way for two GPUs", L2MiB: 129.25,
			SharedKiB: 228,
			Source: "NVIDIA GB200 NVL72 data sheet, one of 72 GPUs (tensor figures halved); SMs and L2 from a " +
				"capture",
		},
	}
}

// hopper is the full-power module: 132 SMs.
func hopper(name string, memoryGiB, memoryGBs float64, link, source string, names ...string) *Peak {
	p := &Peak{
		Name: name, names: names, SMs: 132, CoresPerSM: 128, BoostMHz: 1980,
		FP64: 33.5, FP64Matrix: 66.9, FP32: 66.9, TF32: 494.7, FP16: 989.4, BF16: 989.4, FP8: 1978.9, INT8: 1978.9,
		MemoryGiB: memoryGiB, MemoryGBs: memoryGBs, HostLink: link, HostGBs: pcie5GBs, L2MiB: 50, SharedKiB: 228,
		Source: source,
	}
	if link == c2c {
		p.HostGBs = 450
	}
	if memoryGiB > 80 {
		p.L2MiB = 60 // as captures of H200 and GH200 state
	}
	return p
}

// hopperNVL is the pair of PCIe cards: 132 SMs at a lower clock.
func hopperNVL(name string, memoryGiB, memoryGBs float64, source string, names ...string) *Peak {
	p := hopper(name, memoryGiB, memoryGBs, pcie5, source, names...)
	p.BoostMHz = 1785
	p.FP64, p.FP64Matrix, p.FP32, p.TF32, p.FP16, p.BF16, p.FP8, p.INT8 = 30, 60, 60, 417.5, 835.5, 835.5, 1670.5,
		1670.5
	return p
}

func hopperPCIe() *Peak {
	p := hopper("H100 PCIe 80 GB", 80, 2039, pcie5, sourceH100, "h100 pcie")
	p.SMs, p.BoostMHz = 114, 1755
	p.FP64, p.FP64Matrix, p.FP32, p.TF32, p.FP16, p.BF16, p.FP8, p.INT8 = 25.6, 51.2, 51.2, 378, 756, 756, 1513, 1513
	return p
}

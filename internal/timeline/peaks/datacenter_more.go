package peaks

// dataCenterMore is cards of data centers and modules beside the common ones.
func dataCenterMore() []*Peak {
	v100s := v100("V100S PCIe 32 GB", 1597, 32, "v100s pcie 32gb")
	v100s.FP64, v100s.FP32, v100s.FP16, v100s.MemoryGBs = 8.2, 16.4, 130, 1134
	v100s.Source = "NVIDIA V100 data sheet (V100S)"
	out := []*Peak{
		v100s,
		a100("A800 PCIe 80 GB", 80, 1935, "; NVIDIA A800 data sheet: as A100, with slower NVLink", "a800 80gb pcie"),
		a100("A800 SXM 80 GB", 80, 2039, "; NVIDIA A800 data sheet: as A100, with slower NVLink", "a800 sxm4 80gb"),
		{
			Name: "A30", names: []string{"a30"}, SMs: 56, CoresPerSM: 64, BoostMHz: 1440,
			FP64: 5.2, FP64Matrix: 10.3, FP32: 10.3, TF32: 82, FP16: 165, BF16: 165, INT8: 330,
			MemoryGiB: 24, MemoryGBs: 933, HostLink: pcie4, HostGBs: pcie4GBs, L2MiB: 24, SharedKiB: 164,
			Source: "NVIDIA A30 data sheet; L2: TechPowerUp",
		},
		{
			Name: "GB300 (one GPU)", names: []string{"gb300"}, SMs: 152, CoresPerSM: 128, BoostMHz: 2062,
			FP64: 1.4, FP64Matrix: 1.4, FP32: 83.3, TF32: 1250, FP16: 2500, BF16: 2500, FP8: 5000, INT8: 167,
			MemoryGiB: 277, MemoryGBs: 8000, HostLink: c2c + ", 450 GB/s one way for two GPUs", L2MiB: 126,
			SharedKiB: 228,
			Source: "NVIDIA GB300 NVL72 data sheet, one of 72 GPUs (tensor figures halved); L2 and clock as " +
				"GB200; SMs and memory from a capture",
		},
		{
			Name: "B300", names: []string{"b300", "b300 sxm6 ac"}, SMs: 148, CoresPerSM: 128, BoostMHz: 2032,
			FP64: 1.3, FP64Matrix: 1.3, FP32: 75, TF32: 1125, FP16: 2250, BF16: 2250, FP8: 4500, INT8: 150,
			MemoryGiB: 268, MemoryGBs: 8000, HostLink: pcie5, HostGBs: pcie5GBs, L2MiB: 126, SharedKiB: 228,
			Source: "NVIDIA HGX B300 data sheet, one of eight GPUs (tensor figures halved); L2 as B200; clock: " +
				"TechPowerUp",
		},
		orin("Jetson AGX Orin 64 GB", 16, 1300, 64, 204.8),
		orin("Jetson AGX Orin 32 GB", 14, 930, 32, 204.8),
		orin("Jetson Orin NX 16 GB", 8, 918, 16, 102.4),
	}
	return append(out, cdnaMore()...)
}

// orin is a Jetson: compute capability 8.7, 2048 half-precision matrix FLOP a clock and SM. Memory is the host's.
func orin(name string, sms int32, mhz, gib, gbs float64) *Peak {
	perClock := float64(sms) * mhz / 1e6
	return &Peak{
		Name: name, names: []string{"orin", "orin nvgpu"}, SMs: sms, CoresPerSM: 128, BoostMHz: mhz,
		FP64: perClock * 4, FP32: perClock * 256, TF32: perClock * 1024, FP16: perClock * 2048, BF16: perClock * 2048,
		INT8: perClock * 4096, MemoryGiB: gib, MemoryGBs: gbs, HostLink: "none: memory is shared", L2MiB: 4,
		SharedKiB: 164,
		Source:    "NVIDIA Jetson AGX Orin series technical brief (tensor figures halved); Jetson Orin NX data sheet",
	}
}

// cdnaMore is AMD's GPUs of CDNA 3 with a host processor in them, and of CDNA 4. The latter have no TF32.
func cdnaMore() []*Peak {
	return []*Peak{
		{
			Name: "MI300A", names: []string{"mi300a"}, SMs: 228, CoresPerSM: 128, BoostMHz: 2100,
			FP64: 61.3, FP64Matrix: 122.6, FP32: 122.6, FP32Matrix: 122.6, TF32: 490.3, FP16: 980.6, BF16: 980.6,
			FP8: 1961.2, INT8: 1961.2,
			MemoryGiB: 128, MemoryGBs: 5300, HostLink: "none: memory is shared", L2MiB: 24, SharedKiB: 64,
			Source: "AMD Instinct MI300A data sheet",
		},
		mi350("MI350X", 2200, 72.1, 144.2, 2306.9, "AMD Instinct MI350X data sheet", "mi350x"),
		mi350("MI355X", 2400, 78.6, 157.3, 2516.6, "AMD Instinct MI355X data sheet", "mi355x"),
	}
}

// mi350 is CDNA 4 with all eight dies as one device.
func mi350(name string, mhz, fp64, fp32, fp16 float64, source string, names ...string) *Peak {
	return &Peak{
		Name: name, names: names, SMs: 256, CoresPerSM: 128, BoostMHz: mhz,
		FP64: fp64, FP64Matrix: fp64, FP32: fp32, FP32Matrix: fp32, FP16: fp16, BF16: fp16, FP8: 2 * fp16,
		INT8:      2 * fp16,
		MemoryGiB: 288, MemoryGBs: 8000, HostLink: pcie5, HostGBs: pcie5GBs, L2MiB: 32, SharedKiB: 160,
		Source: source,
	}
}

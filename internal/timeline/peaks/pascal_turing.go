package peaks

const (
	sourceP100   = "NVIDIA Tesla P100 data sheet; Pascal architecture white paper (GP100)"
	sourceV100   = "NVIDIA V100 data sheet; Volta architecture white paper"
	sourceTuring = "NVIDIA Turing architecture white paper (TU102, appendix A)"
)

// pascalToTuring is compute capability 6.0 to 7.5.
func pascalToTuring() []*Peak {
	return []*Peak{
		{
			Name: "P100 SXM2 16 GB", names: []string{"p100 sxm2 16gb"}, SMs: 56, CoresPerSM: 64, BoostMHz: 1480,
			FP64: 5.3, FP32: 10.6, FP16: 21.2,
			MemoryGiB: 16, MemoryGBs: 732, HostLink: pcie3, HostGBs: pcie3GBs, L2MiB: 4, SharedKiB: 64,
			Source: sourceP100,
		},
		{
			Name: "P100 PCIe 16 GB", names: []string{"p100 pcie 16gb"}, SMs: 56, CoresPerSM: 64, BoostMHz: 1303,
			FP64: 4.7, FP32: 9.3, FP16: 18.7,
			MemoryGiB: 16, MemoryGBs: 732, HostLink: pcie3, HostGBs: pcie3GBs, L2MiB: 4, SharedKiB: 64,
			Source: sourceP100,
		},
		{
			Name: "P100 PCIe 12 GB", names: []string{"p100 pcie 12gb"}, SMs: 56, CoresPerSM: 64, BoostMHz: 1303,
			FP64: 4.7, FP32: 9.3, FP16: 18.7,
			MemoryGiB: 12, MemoryGBs: 549, HostLink: pcie3, HostGBs: pcie3GBs, L2MiB: 3, SharedKiB: 64,
			Source: sourceP100,
		},
		{
			Name: "Quadro GP100", names: []string{"quadro gp100"}, SMs: 56, CoresPerSM: 64, BoostMHz: 1442,
			FP64: 5.2, FP32: 10.3, FP16: 20.7,
			MemoryGiB: 16, MemoryGBs: 717, HostLink: pcie3, HostGBs: pcie3GBs, L2MiB: 4, SharedKiB: 64,
			Source: "NVIDIA Quadro GP100 data sheet (a capture states 732 GB/s)",
		},
		v100("V100 SXM2 16 GB", 1530, 16, "v100 sxm2 16gb"),
		v100("V100 SXM2 32 GB", 1530, 32, "v100 sxm2 32gb"),
		v100("V100 DGX Station 16 GB", 1530, 16, "v100 dgxs 16gb"),
		v100("V100 DGX Station 32 GB", 1530, 32, "v100 dgxs 32gb"),
		v100("V100 PCIe 16 GB", 1380, 16, "v100 pcie 16gb"),
		v100("V100 PCIe 32 GB", 1380, 32, "v100 pcie 32gb"),
		{
			Name: "T4", names: []string{"t4"}, SMs: 40, CoresPerSM: 64, BoostMHz: 1590,
			FP64: 0.254, FP32: 8.1, FP16: 65, INT8: 130,
			MemoryGiB: 16, MemoryGBs: 320, HostLink: pcie3, HostGBs: pcie3GBs, L2MiB: 4, SharedKiB: 64,
			Source: "NVIDIA T4 data sheet; Turing architecture white paper (320 GB/s; the data sheet rounds to 300)",
		},
		{
			Name: "RTX 2080 Ti", names: []string{"rtx 2080 ti"}, SMs: 68, CoresPerSM: 64, BoostMHz: 1545,
			FP64: 0.42, FP32: 13.4, FP16: 53.8, INT8: 215.2,
			MemoryGiB: 11, MemoryGBs: 616, HostLink: pcie3, HostGBs: pcie3GBs, L2MiB: 5.5, SharedKiB: 64,
			Source: sourceTuring + ", reference card; FP16 with FP32 accumulation",
		},
		{
			Name: "TITAN RTX", names: []string{"titan rtx"}, SMs: 72, CoresPerSM: 64, BoostMHz: 1770,
			FP64: 0.51, FP32: 16.3, FP16: 130.5, INT8: 261,
			MemoryGiB: 24, MemoryGBs: 672, HostLink: pcie3, HostGBs: pcie3GBs, L2MiB: 6, SharedKiB: 64,
			Source: "NVIDIA TITAN RTX data sheet; " + sourceTuring,
		},
		{
			Name: "Quadro RTX 6000", names: []string{"quadro rtx 6000"}, SMs: 72, CoresPerSM: 64, BoostMHz: 1770,
			FP64: 0.51, FP32: 16.3, FP16: 130.5, INT8: 261,
			MemoryGiB: 24, MemoryGBs: 672, HostLink: pcie3, HostGBs: pcie3GBs, L2MiB: 6, SharedKiB: 64,
			Source: sourceTuring,
		},
		{
			Name: "GTX 1660 SUPER", names: []string{"gtx 1660 super"}, SMs: 22, CoresPerSM: 64, BoostMHz: 1785,
			FP64: 0.157, FP32: 5.03, FP16: 10.05,
			MemoryGiB: 6, MemoryGBs: 336, HostLink: pcie3, HostGBs: pcie3GBs, L2MiB: 1.5, SharedKiB: 64,
			Source: "NVIDIA GeForce GTX 1660 SUPER specifications; no tensor cores, FP16 at twice FP32",
		},
		gtx1650("GTX 1650 (GDDR5)", 14, 1665, 128),
		gtx1650("GTX 1650 (GDDR6)", 14, 1590, 192),
		gtx1650("GTX 1650 mobile (GDDR5)", 16, 1560, 128),
		gtx1650("GTX 1650 mobile (GDDR6)", 16, 1515, 192),
	}
}

// PCI Express, one way after 128b/130b coding: 8, 16 and 32 GT/s a lane.
const (
	pcie3, pcie4, pcie5 = "PCIe 3.0 x16", "PCIe 4.0 x16", "PCIe 5.0 x16"

	pcie3GBs, pcie4GBs, pcie5GBs = 15.75, 31.51, 63.02
)

// v100 is a Tesla V100. 80 SMs do 1024 half-precision matrix FLOP a clock each.
// On POWER9 the host link is NVLink, which the device's name does not tell.
func v100(name string, boostMHz, memoryGiB float64, names ...string) *Peak {
	p := &Peak{
		Name: name, names: names, SMs: 80, CoresPerSM: 64, BoostMHz: boostMHz,
		FP64: 7.8, FP32: 15.7, FP16: 125,
		MemoryGiB: memoryGiB, MemoryGBs: 900, HostLink: pcie3, HostGBs: pcie3GBs, L2MiB: 6, SharedKiB: 96,
		Source: sourceV100,
	}
	if boostMHz < 1500 {
		p.FP64, p.FP32, p.FP16 = 7, 14, 112
	}
	return p
}

// gtx1650 is one of several cards of one name: only SMs and bandwidth tell them apart, and a capture that
// states no bandwidth leaves the device unknown.
func gtx1650(name string, sms int32, boostMHz, memoryGBs float64) *Peak {
	fp32 := float64(sms) * 64 * 2 * boostMHz / 1e6
	return &Peak{
		Name: name, names: []string{"gtx 1650"}, SMs: sms, CoresPerSM: 64, BoostMHz: boostMHz,
		FP64: fp32 / 32, FP32: fp32, FP16: 2 * fp32,
		MemoryGiB: 4, MemoryGBs: memoryGBs, HostLink: pcie3, HostGBs: pcie3GBs, L2MiB: 1, SharedKiB: 64,
		Source: "NVIDIA GeForce GTX 1650 specifications; rates are cores x 2 x boost clock; no tensor cores",
	}
}

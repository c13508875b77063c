package peaks

// Older cards without a data sheet of their own for compute. On Pascal's GeForce cards FP16 runs at 1/64 of FP32.
const (
	sourcePascalCards = "GeForce GTX 10 specifications; L2: TechPowerUp; FP16 at 1/64 of FP32"
	sourceTuringCards = sourceTuring + "; GeForce RTX 20 specifications, reference clock; laptop parts of the same name " +
		"have a lower one"
	sourceGTX16      = "GeForce GTX 16 specifications; no tensor cores, FP16 at twice FP32"
	sourceQuadroRTX  = sourceTuring + "; Quadro RTX data sheets"
	sourcePascalData = "NVIDIA Tesla P40 and P4 data sheets"
)

// pascalCard is compute capability 6.1: 128 lanes an SM, INT8 at four times FP32.
func pascalCard(name, driver string, sms int32, mhz, gib, gbs, l2 float64, source string) *Peak {
	fp32 := float64(sms) * 256 * mhz / 1e6
	return &Peak{Name: name, names: []string{driver}, SMs: sms, CoresPerSM: 128, BoostMHz: mhz, FP32: fp32,
		FP64: fp32 / 32, FP16: fp32 / 64, INT8: 4 * fp32, MemoryGiB: gib, MemoryGBs: gbs, HostLink: pcie3,
		HostGBs: pcie3GBs, L2MiB: l2, SharedKiB: 96, Source: source}
}

// turingCard is compute capability 7.5: 64 lanes an SM, and matrixFLOP half-precision FLOP a clock and SM with FP32
// accumulation (512 on GeForce, 1024 on Quadro); 0: without tensor cores, FP16 at twice FP32.
func turingCard(name, driver string, sms int32, mhz, gib, gbs, l2, matrixFLOP float64, source string) *Peak {
	perClock := float64(sms) * mhz / 1e6
	p := &Peak{Name: name, names: []string{driver}, SMs: sms, CoresPerSM: 64, BoostMHz: mhz, FP32: perClock * 128,
		FP64: perClock * 4, FP16: perClock * 256, MemoryGiB: gib, MemoryGBs: gbs, HostLink: pcie3, HostGBs: pcie3GBs,
		L2MiB: l2, SharedKiB: 64, Source: source}
	if matrixFLOP > 0 {
		p.FP16, p.INT8 = perClock*matrixFLOP, perClock*2048
	}
	return p
}

func pascalAndTuringCards() []*Peak {
	return []*Peak{
		pascalCard("P40", "p40", 30, 1531, 24, 346, 3, sourcePascalData),
		pascalCard("P4", "p4", 20, 1063, 8, 192, 2, sourcePascalData),
		pascalCard("GTX 1060 3 GB", "gtx 1060 3gb", 9, 1708, 3, 192, 1.5, sourcePascalCards),
		pascalCard("GTX 1060 6 GB", "gtx 1060 6gb", 10, 1708, 6, 192, 1.5, sourcePascalCards),
		pascalCard("GTX 1070", "gtx 1070", 15, 1683, 8, 256, 2, sourcePascalCards),
		pascalCard("GTX 1070 Ti", "gtx 1070 ti", 19, 1683, 8, 256, 2, sourcePascalCards),
		pascalCard("GTX 1080", "gtx 1080", 20, 1733, 8, 320, 2, sourcePascalCards),
		pascalCard("GTX 1080 Ti", "gtx 1080 ti", 28, 1582, 11, 484, 2.75, sourcePascalCards),
		pascalCard("TITAN X (Pascal)", "titan x pascal", 28, 1531, 12, 480, 3, sourcePascalCards),
		pascalCard("TITAN Xp", "titan xp", 30, 1582, 12, 548, 3, sourcePascalCards),
		turingCard("RTX 2060", "rtx 2060", 30, 1680, 6, 336, 3, geForce, sourceTuringCards),
		turingCard("RTX 2060 12 GB", "rtx 2060", 34, 1650, 12, 336, 3, geForce, sourceTuringCards),
		turingCard("RTX 2060 SUPER", "rtx 2060 super", 34, 1650, 8, 448, 4, geForce, sourceTuringCards),
		turingCard("RTX 2070", "rtx 2070", 36, 1620, 8, 448, 4, geForce, sourceTuringCards),
		turingCard("RTX 2070 SUPER", "rtx 2070 super", 40, 1770, 8, 448, 4, geForce, sourceTuringCards),
		turingCard("RTX 2080", "rtx 2080", 46, 1710, 8, 448, 4, geForce, sourceTuringCards),
		turingCard("RTX 2080 SUPER", "rtx 2080 super", 48, 1815, 8, 496, 4, geForce, sourceTuringCards),
		turingCard("Quadro RTX 4000", "quadro rtx 4000", 36, 1545, 8, 416, 4, professional, sourceQuadroRTX),
		turingCard("Quadro RTX 5000", "quadro rtx 5000", 48, 1815, 16, 448, 4, professional, sourceQuadroRTX),
		turingCard("Quadro RTX 8000", "quadro rtx 8000", 72, 1770, 48, 672, 6, professional, sourceQuadroRTX),
		turingCard("GTX 1650 SUPER", "gtx 1650 super", 20, 1725, 4, 192, 1, 0, sourceGTX16),
		turingCard("GTX 1650 Ti", "gtx 1650 ti", 16, 1485, 4, 192, 1, 0, sourceGTX16),
		turingCard("GTX 1660", "gtx 1660", 22, 1785, 6, 192, 1.5, 0, sourceGTX16),
		turingCard("GTX 1660 Ti", "gtx 1660 ti", 24, 1770, 6, 288, 1.5, 0, sourceGTX16),
	}
}

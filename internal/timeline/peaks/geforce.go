package peaks

// What GeForce cards and their laptop parts have. SMs are the CUDA cores of NVIDIA's specifications over 128;
// rates follow from SMs and boost clock, as those of the white papers do. Sizes of L2 that no white paper states are
// those of the TechPowerUp GPU database.
const (
	sourceAmpereCards    = sourceGA10 + "; GeForce RTX 30 specifications; L2: TechPowerUp"
	sourceAdaCards       = sourceAda + "; GeForce RTX 40 specifications; L2: TechPowerUp"
	sourceBlackwellCards = "NVIDIA RTX Blackwell architecture white paper; GeForce RTX 50 specifications; L2: TechPowerUp"
	sourceAmpereLaptops  = "GeForce RTX 30 laptop specifications, upper end of the range of boost clocks; L2: TechPowerUp"
	sourceAdaLaptops     = "nvidia.com, GeForce gaming laptops compared, upper end of the range of boost clocks; " +
		"bandwidth and L2: TechPowerUp"
)

// link is a host link of x16 or x8 lanes.
func link(generation, lanes int) (name string, gbs float64) {
	names := map[int]string{3: pcie3, 4: pcie4, 5: pcie5}
	rates := map[int]float64{3: pcie3GBs, 4: pcie4GBs, 5: pcie5GBs}
	if lanes == 8 {
		return names[generation][:len("PCIe 4.0 ")] + "x8", rates[generation] / 2
	}
	return names[generation], rates[generation]
}

// card is what a row of a list of cards states; the rest follows.
type card struct {
	name, driver    string // as people and as drivers call it
	sms             int32
	mhz, gib, gbs   float64
	l2              float64
	lanes           int // of the host link; 0: 16
	matrixFLOPPerSM float64
	generation      int // of the host link
	source          string
	withoutFP8      bool
}

// peak fills in the rates: of compute capability 8.6 if withoutFP8, else of 8.9 and 12.0, which have the same a clock
// and SM.
func (c card) peak() *Peak {
	p := Peak{Name: c.name, names: []string{c.driver}, SMs: c.sms, BoostMHz: c.mhz, MemoryGiB: c.gib, MemoryGBs: c.gbs,
		L2MiB: c.l2, Source: c.source}
	p.HostLink, p.HostGBs = link(c.generation, c.lanes)
	if c.withoutFP8 {
		return ga10x(p, c.matrixFLOPPerSM)
	}
	return ada(p, c.matrixFLOPPerSM)
}

// geForce is 512 half-precision matrix FLOP a clock and SM, with FP32 accumulation.
const geForce = 512

func cardsOf(generation int, withoutFP8 bool, matrix float64, source string, list []card) (out []*Peak) {
	for _, c := range list {
		c.generation, c.withoutFP8, c.matrixFLOPPerSM, c.source = generation, withoutFP8, matrix, source
		out = append(out, c.peak())
	}
	return out
}

func geForceCards() (out []*Peak) {
	out = append(out, cardsOf(4, true, geForce, sourceAmpereCards, []card{
		{name: "RTX 3050 8 GB", driver: "rtx 3050", sms: 20, mhz: 1777, gib: 8, gbs: 224, l2: 2, lanes: 8},
		{name: "RTX 3050 6 GB", driver: "rtx 3050", sms: 18, mhz: 1470, gib: 6, gbs: 168, l2: 2, lanes: 8},
		{name: "RTX 3060 Ti (GDDR6)", driver: "rtx 3060 ti", sms: 38, mhz: 1665, gib: 8, gbs: 448, l2: 4},
		{name: "RTX 3060 Ti (GDDR6X)", driver: "rtx 3060 ti", sms: 38, mhz: 1665, gib: 8, gbs: 608, l2: 4},
		{name: "RTX 3070", driver: "rtx 3070", sms: 46, mhz: 1725, gib: 8, gbs: 448, l2: 4},
		{name: "RTX 3070 Ti", driver: "rtx 3070 ti", sms: 48, mhz: 1770, gib: 8, gbs: 608, l2: 4},
		{name: "RTX 3090 Ti", driver: "rtx 3090 ti", sms: 84, mhz: 1860, gib: 24, gbs: 1008, l2: 6},
	})...)
	out = append(out, cardsOf(4, true, geForce, sourceAmpereLaptops, []card{
		{name: "RTX 3050 Laptop 4 GB", driver: "rtx 3050 laptop", sms: 16, mhz: 1740, gib: 4, gbs: 192, l2: 2,
			lanes: 8},
		{name: "RTX 3050 Ti Laptop", driver: "rtx 3050 ti laptop", sms: 20, mhz: 1695, gib: 4, gbs: 192, l2: 2,
			lanes: 8},
		{name: "RTX 3060 Laptop", driver: "rtx 3060 laptop", sms: 30, mhz: 1703, gib: 6, gbs: 336, l2: 3},
		{name: "RTX 3070 Laptop", driver: "rtx 3070 laptop", sms: 40, mhz: 1620, gib: 8, gbs: 448, l2: 4},
		{name: "RTX 3070 Ti Laptop", driver: "rtx 3070 ti laptop", sms: 46, mhz: 1485, gib: 8, gbs: 448, l2: 4},
		{name: "RTX 3080 Laptop 8 GB", driver: "rtx 3080 laptop", sms: 48, mhz: 1710, gib: 8, gbs: 448, l2: 4},
		{name: "RTX 3080 Laptop 16 GB", driver: "rtx 3080 laptop", sms: 48, mhz: 1710, gib: 16, gbs: 448, l2: 4},
		{name: "RTX 3080 Ti Laptop", driver: "rtx 3080 ti laptop", sms: 58, mhz: 1590, gib: 16, gbs: 512, l2: 4},
	})...)
	out = append(out, cardsOf(4, false, geForce, sourceAdaCards, []card{
		{name: "RTX 4060", driver: "rtx 4060", sms: 24, mhz: 2460, gib: 8, gbs: 272, l2: 24, lanes: 8},
		{name: "RTX 4070", driver: "rtx 4070", sms: 46, mhz: 2475, gib: 12, gbs: 504, l2: 36},
		{name: "RTX 4070 SUPER", driver: "rtx 4070 super", sms: 56, mhz: 2475, gib: 12, gbs: 504, l2: 48},
		{name: "RTX 4070 Ti", driver: "rtx 4070 ti", sms: 60, mhz: 2610, gib: 12, gbs: 504, l2: 48},
		{name: "RTX 4070 Ti SUPER", driver: "rtx 4070 ti super", sms: 66, mhz: 2610, gib: 16, gbs: 672, l2: 48},
		{name: "RTX 4080", driver: "rtx 4080", sms: 76, mhz: 2505, gib: 16, gbs: 717, l2: 64},
		{name: "RTX 4080 SUPER", driver: "rtx 4080 super", sms: 80, mhz: 2550, gib: 16, gbs: 736, l2: 64},
		{name: "RTX 4090 D", driver: "rtx 4090 d", sms: 114, mhz: 2520, gib: 24, gbs: 1008, l2: 72},
	})...)
	out = append(out, cardsOf(4, false, geForce, sourceAdaLaptops, []card{
		{name: "RTX 4050 Laptop", driver: "rtx 4050 laptop", sms: 20, mhz: 2370, gib: 6, gbs: 192, l2: 12, lanes: 8},
		{name: "RTX 4060 Laptop", driver: "rtx 4060 laptop", sms: 24, mhz: 2370, gib: 8, gbs: 256, l2: 32, lanes: 8},
		{name: "RTX 4070 Laptop", driver: "rtx 4070 laptop", sms: 36, mhz: 2175, gib: 8, gbs: 256, l2: 32, lanes: 8},
		{name: "RTX 4080 Laptop", driver: "rtx 4080 laptop", sms: 58, mhz: 2280, gib: 12, gbs: 432, l2: 48},
		{name: "RTX 4090 Laptop", driver: "rtx 4090 laptop", sms: 76, mhz: 2040, gib: 16, gbs: 576, l2: 64},
	})...)
	return append(out, cardsOf(5, false, geForce, sourceBlackwellCards, []card{
		{name: "RTX 5060", driver: "rtx 5060", sms: 30, mhz: 2497, gib: 8, gbs: 448, l2: 32, lanes: 8},
		{name: "RTX 5060 Ti 8 GB", driver: "rtx 5060 ti", sms: 36, mhz: 2572, gib: 8, gbs: 448, l2: 32, lanes: 8},
		{name: "RTX 5060 Ti 16 GB", driver: "rtx 5060 ti", sms: 36, mhz: 2572, gib: 16, gbs: 448, l2: 32, lanes: 8},
		{name: "RTX 5070", driver: "rtx 5070", sms: 48, mhz: 2512, gib: 12, gbs: 672, l2: 48},
		{name: "RTX 5070 Ti", driver: "rtx 5070 ti", sms: 70, mhz: 2452, gib: 16, gbs: 896, l2: 48},
		{name: "RTX 5080", driver: "rtx 5080", sms: 84, mhz: 2617, gib: 16, gbs: 960, l2: 64},
		{name: "RTX 5090", driver: "rtx 5090", sms: 170, mhz: 2407, gib: 32, gbs: 1792, l2: 96},
		{name: "RTX 5090 D", driver: "rtx 5090 d", sms: 170, mhz: 2407, gib: 32, gbs: 1792, l2: 96},
	})...)
}

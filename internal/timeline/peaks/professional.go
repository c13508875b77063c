package peaks

// What professional cards have: as those of geforce.go, with tensor cores of twice the rate.
const (
	sourceRTXA       = "data sheet of the NVIDIA RTX A series; clock and L2: TechPowerUp"
	sourceRTXAda     = "data sheet of the NVIDIA RTX Ada generation; clock and L2: TechPowerUp"
	sourceRTXPRO     = "NVIDIA RTX Blackwell PRO architecture white paper; clock and L2: TechPowerUp"
	sourceRTXLaptops = "TechPowerUp GPU database: NVIDIA states a range of clocks for laptop parts"
	sourceDataCenter = "data sheet of the card; clock and L2: TechPowerUp"
)

// professional is 1024 half-precision matrix FLOP a clock and SM, with FP32 accumulation.
const professional = 1024

func professionalCards() (out []*Peak) {
	out = append(out, cardsOf(4, true, professional, sourceDataCenter, []card{
		{name: "A2", driver: "a2", sms: 10, mhz: 1770, gib: 16, gbs: 200, l2: 2, lanes: 8},
		{name: "A16 (one GPU)", driver: "a16", sms: 10, mhz: 1755, gib: 16, gbs: 200, l2: 2, lanes: 8},
	})...)
	out = append(out, cardsOf(4, false, geForce, "NVIDIA L40 data sheet (181 FP16, half of the L40S's)", []card{
		{name: "L40", driver: "l40", sms: 142, mhz: 2490, gib: 48, gbs: 864, l2: 96},
	})...)
	out = append(out, cardsOf(4, true, professional, sourceRTXA, []card{
		{name: "RTX A2000 6 GB", driver: "rtx a2000", sms: 26, mhz: 1200, gib: 6, gbs: 288, l2: 3},
		{name: "RTX A2000 12 GB", driver: "rtx a2000 12gb", sms: 26, mhz: 1200, gib: 12, gbs: 288, l2: 3},
		{name: "RTX A4000", driver: "rtx a4000", sms: 48, mhz: 1560, gib: 16, gbs: 448, l2: 4},
		{name: "RTX A4500", driver: "rtx a4500", sms: 56, mhz: 1650, gib: 20, gbs: 640, l2: 6},
		{name: "RTX A5000", driver: "rtx a5000", sms: 64, mhz: 1695, gib: 24, gbs: 768, l2: 6},
		{name: "RTX A5500", driver: "rtx a5500", sms: 80, mhz: 1665, gib: 24, gbs: 768, l2: 6},
		{name: "RTX A6000", driver: "rtx a6000", sms: 84, mhz: 1800, gib: 48, gbs: 768, l2: 6},
	})...)
	out = append(out, cardsOf(4, true, professional, sourceRTXLaptops, []card{
		{name: "RTX A1000 Laptop 4 GB", driver: "rtx a1000 laptop", sms: 16, mhz: 1140, gib: 4, gbs: 176, l2: 2,
			lanes: 8},
		{name: "RTX A1000 Laptop 6 GB", driver: "rtx a1000 6gb laptop", sms: 20, mhz: 1140, gib: 6, gbs: 132, l2: 2,
			lanes: 8},
		{name: "RTX A2000 Laptop 4 GB", driver: "rtx a2000 laptop", sms: 20, mhz: 1687, gib: 4, gbs: 192, l2: 2},
		{name: "RTX A2000 Laptop 8 GB", driver: "rtx a2000 8gb laptop", sms: 20, mhz: 1612, gib: 8, gbs: 224, l2: 2},
		{name: "RTX A3000 Laptop 6 GB", driver: "rtx a3000 laptop", sms: 32, mhz: 1230, gib: 6, gbs: 264, l2: 4},
		{name: "RTX A3000 Laptop 12 GB", driver: "rtx a3000 12gb laptop", sms: 32, mhz: 1440, gib: 12, gbs: 336, l2: 4},
		{name: "RTX A4000 Laptop", driver: "rtx a4000 laptop", sms: 40, mhz: 1680, gib: 8, gbs: 384, l2: 4},
		{name: "RTX A5000 Laptop", driver: "rtx a5000 laptop", sms: 48, mhz: 1575, gib: 16, gbs: 448, l2: 4},
		{name: "RTX A5500 Laptop", driver: "rtx a5500 laptop", sms: 58, mhz: 1500, gib: 16, gbs: 512, l2: 4},
	})...)
	out = append(out, cardsOf(4, false, professional, sourceRTXAda, []card{
		{name: "RTX 2000 Ada", driver: "rtx 2000 ada generation", sms: 22, mhz: 2130, gib: 16, gbs: 256, l2: 12,
			lanes: 8},
		{name: "RTX 4000 SFF Ada", driver: "rtx 4000 sff ada generation", sms: 48, mhz: 1560, gib: 20, gbs: 280,
			l2: 48},
		{name: "RTX 4000 Ada", driver: "rtx 4000 ada generation", sms: 48, mhz: 2175, gib: 20, gbs: 360, l2: 48},
		{name: "RTX 5000 Ada", driver: "rtx 5000 ada generation", sms: 100, mhz: 2550, gib: 32, gbs: 576, l2: 72},
		{name: "RTX 6000 Ada", driver: "rtx 6000 ada generation", sms: 142, mhz: 2505, gib: 48, gbs: 960, l2: 96},
	})...)
	out = append(out, cardsOf(4, false, professional, sourceRTXLaptops, []card{
		{name: "RTX 500 Ada Laptop", driver: "rtx 500 ada generation laptop", sms: 16, mhz: 2025, gib: 4, gbs: 128,
			l2: 12, lanes: 8},
		{name: "RTX 1000 Ada Laptop", driver: "rtx 1000 ada generation laptop", sms: 20, mhz: 2025, gib: 6, gbs: 192,
			l2: 12, lanes: 8},
		{name: "RTX 2000 Ada Laptop", driver: "rtx 2000 ada generation laptop", sms: 24, mhz: 2115, gib: 8, gbs: 256,
			l2: 12},
		{name: "RTX 3000 Ada Laptop", driver: "rtx 3000 ada generation laptop", sms: 36, mhz: 1695, gib: 8, gbs: 256,
			l2: 32},
		{name: "RTX 3500 Ada Laptop", driver: "rtx 3500 ada generation laptop", sms: 40, mhz: 1545, gib: 12, gbs: 432,
			l2: 48},
		{name: "RTX 4000 Ada Laptop", driver: "rtx 4000 ada generation laptop", sms: 58, mhz: 1665, gib: 12, gbs: 432,
			l2: 48},
		{name: "RTX 5000 Ada Laptop", driver: "rtx 5000 ada generation laptop", sms: 76, mhz: 2115, gib: 16, gbs: 576,
			l2: 64},
	})...)
	return append(out, cardsOf(5, false, professional, sourceRTXPRO, []card{
		{name: "RTX PRO 4000 Blackwell", driver: "rtx pro 4000 blackwell", sms: 70, mhz: 2055, gib: 24, gbs: 672,
			l2: 48},
		{name: "RTX PRO 4500 Blackwell", driver: "rtx pro 4500 blackwell", sms: 82, mhz: 2407, gib: 32, gbs: 896,
			l2: 64},
		{name: "RTX PRO 5000 Blackwell", driver: "rtx pro 5000 blackwell", sms: 110, mhz: 2377, gib: 48, gbs: 1344,
			l2: 96},
		{name: "RTX PRO 6000 Blackwell Workstation", driver: "rtx pro 6000 blackwell workstation edition", sms: 188,
			mhz: 2617, gib: 96, gbs: 1792, l2: 128},
		{name: "RTX PRO 6000 Blackwell Max-Q", driver: "rtx pro 6000 blackwell max q workstation edition", sms: 188,
			mhz: 2280, gib: 96, gbs: 1792, l2: 128},
		{name: "RTX PRO 6000 Blackwell Server", driver: "rtx pro 6000 blackwell server edition", sms: 188, mhz: 2617,
			gib: 96, gbs: 1597, l2: 128},
	})...)
}

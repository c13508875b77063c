package kernel

import "testing"

func TestFew(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", 1.556: "1.56", 4: "4", 9.999: "10", 16.04: "16",
		31.96: "32", 100: "100", 280.44: "280", 12345: "12345"} {
		if got := few(v); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
}

func TestPercentText(t *testing.T) {
	for v, want := range map[float64]string{0: "0 %", 0.004: "0.4 %", 0.5: "50 %", 0.996: "100 %", 1: "100 %"} {
		if got := percentText(v); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
}

package changepoint

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"lacuna/internal/base/golden"
)

// corpusSeries is the values of a file of the corpus beside the checkout.
func corpusSeries(t testing.TB, name string) []float64 {
	t.Helper()
	f, err := os.Open(filepath.Join(golden.Corpus(t), "series", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for _, row := range rows[1:] {
		x, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			x = math.NaN()
		}
		out = append(out, x)
	}
	return out
}

// The numbers are those of Otava's own tests (tests/tigerbeetle_test.py at 0db0fb569789).
func TestOtavaNumbers(t *testing.T) {
	series := corpusSeries(t, "otava_tigerbeetle.csv")
	for _, test := range []struct {
		p, magnitude float64
		want         string
	}{
		{0.01, 0.05, "[15 71]"},
		{0.05, 0.05, "[15 71]"},
		{0.1, 0.05, "[10 11 15 71 363]"},
		{0.2, 0.05, "[10 11 15 71]"},
		{0.1, 0.01, "[10 11 15 28 29 35 37 48 49 61 71 95 117 131 142 148 165 169 192 206 212 260 265 268 278 " +
			"282 363]"},
		{0.1, 0, "[3 6 10 11 15 16 28 29 35 37 39 41 44 48 49 61 71 95 117 131 142 148 165 169 192 206 212 260 265 " +
			"268 278 282 288 305 363]"},
		{0.01, 0, "[15 26 61 71 95 117 131 142 148 165 169 192 212 260]"},
		{0.001, 0, "[15 61 71 95 117 131 142 148 192 212 260]"},
		{0.0001, 0, "[71 95 117 131 142 148 192 212]"},
		{0.00001, 0, "[71 95 131 192 212]"},
	} {
		if got := fmt.Sprint(Otava(series, 30, test.p, test.magnitude)); got != test.want {
			t.Errorf("p %g, magnitude %g: %s, want %s", test.p, test.magnitude, got, test.want)
		}
	}
}

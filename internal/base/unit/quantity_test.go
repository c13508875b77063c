package unit

import (
	"math"
	"testing"
)

func TestQuantity(t *testing.T) {
	for _, test := range []struct {
		text, in string
		want     float64
		ok       bool
	}{
		{"20us", "ms", 0.02, true}, {"1.5 s", "ms", 1500, true}, {"12ms", "us", 12000, true}, {"3µs", "us", 3, true},
		{"1.5GB", "bytes", 1.5e9, true}, {"2MiB", "bytes", 2 << 20, true}, {"2097152", "bytes", 2 << 20, true},
		{"2%", "share", 0.02, true}, {"0.9", "share", 0.9, true}, {"1%", "%", 1, true}, {"300", "count", 300, true},
		{"300 tokens/s", "tokens/s", 300, true}, {"1e3us", "ms", 1, true}, {"2e-3ms", "us", 2, true},
		{"-1ms", "ms", -1, true},
		{"3 elephants", "elephants", 3, true}, {"1E", "E", 1, true},
		{"12", "ms", 0, false}, {"12ms", "bytes", 0, false}, {"300", "tokens/s", 0, false},
	} {
		q, err := ParseQuantity(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		got, ok := q.In(test.in)
		if ok != test.ok || math.Abs(got-test.want) > 1e-9*math.Abs(test.want) {
			t.Errorf("%s in %s is %v, %v; want %v, %v", test.text, test.in, got, ok, test.want, test.ok)
		}
		if again, err := ParseQuantity(q.String()); err != nil || again != q {
			t.Errorf("%v is read back as %v, %v", q, again, err)
		}
	}
	for _, bad := range []string{"", "ms", "x2", "1.2.3ms", "--3", "1e999ms", "%"} {
		if q, err := ParseQuantity(bad); err == nil {
			t.Errorf("%q is taken as %v", bad, q)
		}
	}
}

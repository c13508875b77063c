package unit

import (
	"math"
	"strconv"
	"strings"
)

// A Scale is how a column of one unit is written for people: one power of ten for all its
// values, chosen from the largest one.
type Scale struct {
	unit   Unit
	symbol string  // of what is printed: "ms"
	div    float64 // what is held over what is printed
	digits int     // decimals
}

// steps of a scale, smallest first.
type step struct {
	symbol string
	div    float64
}

var (
	timeSteps = []step{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}
	byteSteps = []step{{"bytes", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}
	// of memories and caches, which the field counts in powers of two
	binarySteps = []step{{"bytes", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}}
)

// ScaleOf is the scale for a column whose largest value, signs aside, is largest.
func ScaleOf(u Unit, largest float64) Scale {
	s := Scale{unit: u, symbol: u.Symbol(), div: 1}
	switch {
	case u == Ms: // columns that add up: all on one scale
		s.div, s.digits = 1e6, 3
	case u.IsTime():
		return s.among(timeSteps, largest)
	case u == Bytes:
		return s.among(byteSteps, largest)
	case u == Percent1, u == Number1:
		s.digits = 1
	case u == Percent2:
		s.digits = 2
	case u == Number, u == Ratio, u == MB, u == MBps, u == GBps:
		s.digits = 3
	}
	return s
}

// among picks the first step on which largest prints with at most three digits before the point.
// It is judged as printed: 999.9996 µs would be 1000.000, so it is 1.000 ms.
func (s Scale) among(steps []step, largest float64) Scale {
	for _, step := range steps {
		s.symbol, s.div, s.digits = step.symbol, step.div, 3
		if step.div == 1 {
			s.digits = 0
			if s.unit == NsFloat {
				s.digits = 1
			}
		}
		power := math.Pow10(s.digits)
		if math.Round(math.Abs(largest)/s.div*power)/power < 1000 {
			break
		}
	}
	return s
}

// Header is the head of the column: "Total Time (ms)".
func (s Scale) Header(name string) string { return s.unit.header(name, s.symbol) }

// Int is an integer for people.
func (s Scale) Int(v int64) string {
	switch {
	case s.unit == ID || s.unit == Text:
		return strconv.FormatInt(v, 10)
	case s.div == 1 && (s.digits == 0 || s.unit == Number):
		return group(strconv.FormatInt(v, 10))
	}
	return s.Float(float64(v))
}

// Float is a float for people; what is not a number is a dash. A value that is not zero never prints as zero.
func (s Scale) Float(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	rounded := v / s.div
	if s.digits == 1 {
		rounded = Round1(rounded)
	}
	if s.unit == Number && v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return group(strconv.FormatFloat(v, 'f', 0, 64))
	}
	if s.unit == Text || s.unit == ID {
		return string(appendFull(nil, v))
	}
	text := string(appendFixed(nil, rounded, s.digits))
	if v != 0 && isZero([]byte(text)) {
		least := "0." + strings.Repeat("0", max(0, s.digits-1)) + "1"
		if s.digits == 0 {
			least = "1"
		}
		if v < 0 {
			return ">-" + least
		}
		return "<" + least
	}
	return group(text)
}

// group puts commas between thousands.
func group(digits string) string {
	start := strings.IndexAny(digits, "0123456789")
	end := strings.IndexByte(digits, '.')
	if end < 0 {
		end = len(digits)
	}
	if start < 0 || end-start <= 3 {
		return digits
	}
	var b strings.Builder
	b.WriteString(digits[:start])
	for i := start; i < end; i++ {
		if i > start && (end-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(digits[i])
	}
	b.WriteString(digits[end:])
	return b.String()
}

// FormatNs is one duration by itself: 999ns, 1.500µs, 999.999ms. Seconds do not become minutes.
func FormatNs(ns int64) string {
	s := ScaleOf(Ns, float64(ns))
	return s.Int(ns) + s.symbol
}

// FormatCount is an integer with commas between thousands.
func FormatCount(n int64) string { return group(strconv.FormatInt(n, 10)) }

// FormatBinary is the size of a memory or a cache by itself: 512 bytes, 48 KiB, 139.8 GiB.
func FormatBinary(n int64) string {
	i := 0
	for i+1 < len(binarySteps) && math.Abs(float64(n)) >= binarySteps[i+1].div {
		i++
	}
	text := strings.TrimSuffix(Fixed(float64(n)/binarySteps[i].div, 1), ".0")
	return text + " " + binarySteps[i].symbol
}

// FormatBytes is one amount of traffic or of data by itself: 512 bytes, 1.500 MB; decimal, as GPU tools count.
func FormatBytes(n int64) string {
	s := ScaleOf(Bytes, float64(n))
	return s.Int(n) + " " + s.symbol
}

// FormatMemory is the size of a memory: 512 bytes, 48 KiB, 60 MiB, 140 GiB; binary, as memories are built.
// Three digits are enough: an H200's 150,110,011,392 bytes are 140 GiB.
func FormatMemory(n int64) string {
	v, symbol := float64(n), ""
	for _, s := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v < 1024 {
			break
		}
		v, symbol = v/1024, s
	}
	if symbol == "" {
		return group(strconv.FormatInt(n, 10)) + " bytes"
	}
	digits := 0
	switch {
	case v < 10:
		digits = 2
	case v < 100:
		digits = 1
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if digits > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return group(text) + " " + symbol
}

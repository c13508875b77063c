package unit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Quantity is a number with the unit that a person wrote behind it: 20us, 1.5 GB, 2%, 300.
type Quantity struct {
	Value  float64
	Symbol string // as written; "" a bare number
}

// ParseQuantity reads a number and whatever stands behind it. Any symbol will do: In knows the units.
func ParseQuantity(text string) (Quantity, error) {
	text = strings.TrimSpace(text)
	end := 0
	for end < len(text) && strings.IndexByte("0123456789.+-", text[end]) >= 0 {
		end++
	}
	if end < len(text)-1 && (text[end] == 'e' || text[end] == 'E') { // an exponent, not the beginning of a unit
		if k := end + 1 + strings.IndexAny(text[end+1:], "0123456789"); k == end+1 || k == end+2 &&
			strings.IndexByte("+-", text[end+1]) >= 0 {
			for end = k; end < len(text) && text[end] >= '0' && text[end] <= '9'; {
				end++
			}
		}
	}
	x, err := strconv.ParseFloat(text[:end], 64)
	if err != nil || math.IsInf(x, 0) {
		return Quantity{}, fmt.Errorf("%.40q is not a number with a unit, such as 20us, 1.5GB, 2%% or 300", text)
	}
	return Quantity{x, strings.TrimSpace(text[end:])}, nil
}

// scales is what symbols of one dimension hold of its smallest unit.
var scales = []map[string]float64{
	{"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9},
	{"bytes": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20,
		"GiB": 1 << 30, "TiB": 1 << 40},
	{"%": 1, "share": 100},
	{"": 1, "count": 1},
}

// In is the quantity in another unit; false: it measures something else. Bytes and shares may be written bare.
func (q Quantity) In(symbol string) (float64, bool) {
	if q.Symbol == symbol {
		return q.Value, true
	}
	if q.Symbol == "" && (symbol == "bytes" || symbol == "share" || symbol == "%") {
		return q.Value, true
	}
	for _, of := range scales {
		from, ok := of[q.Symbol]
		to, ok2 := of[symbol]
		if ok && ok2 {
			return q.Value * from / to, true
		}
	}
	return 0, false
}

// Known says whether the symbol is a unit that is known here, not one of a program's own.
func (q Quantity) Known() bool {
	for _, of := range scales {
		if _, ok := of[q.Symbol]; ok {
			return true
		}
	}
	return false
}

// String is the quantity as ParseQuantity reads it.
func (q Quantity) String() string { return strconv.FormatFloat(q.Value, 'g', -1, 64) + q.Symbol }

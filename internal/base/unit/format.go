package unit

import (
	"math"
	"math/big"
	"strconv"
)

// AppendInt writes an integer for programs: no grouping, no unit, the same digits everywhere.
func (u Unit) AppendInt(b []byte, v int64) []byte {
	switch u {
	case Us:
		return appendScaled(b, v, 3)
	case Ms:
		return appendScaled(b, v, 6)
	case NsFloat, Number1, Percent1, Percent2, MB, MBps:
		return u.AppendFloat(b, float64(v))
	}
	return strconv.AppendInt(b, v, 10)
}

// AppendFloat writes a float for programs. What is not a number (NaN, infinite) is written as nothing.
func (u Unit) AppendFloat(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return b
	}
	switch u {
	case NsFloat, Number1, Percent1:
		return appendFixed(b, Round1(v), 1)
	case Ns, Count, ID, Bytes:
		if v == math.Trunc(v) {
			return appendFixed(b, v, 0)
		}
	case Us:
		return appendFixed(b, v/1e3, 3)
	case Ms:
		return appendFixed(b, v/1e6, 6)
	case Percent2:
		return appendFixed(b, v, 2)
	case MB, MBps:
		return appendFixed(b, v, 3)
	}
	return appendFull(b, v)
}

// appendScaled writes v / 10^digits with all its digits.
func appendScaled(b []byte, v int64, digits int) []byte {
	n := uint64(v)
	if v < 0 {
		b, n = append(b, '-'), -n
	}
	var scale uint64 = 1
	for range digits {
		scale *= 10
	}
	b = append(strconv.AppendUint(b, n/scale, 10), '.')
	frac := strconv.AppendUint(nil, n%scale+scale, 10) // a leading 1 keeps the zeros
	return append(b, frac[1:]...)
}

// appendFixed writes v with a number of decimals, and never as -0.
func appendFixed(b []byte, v float64, digits int) []byte {
	start := len(b)
	b = strconv.AppendFloat(b, v, 'f', digits, 64)
	if b[start] == '-' && isZero(b[start+1:]) {
		b = append(b[:start], b[start+1:]...)
	}
	return b
}

func isZero(digits []byte) bool {
	for _, c := range digits {
		if c != '0' && c != '.' {
			return false
		}
	}
	return true
}

// appendFull writes v with as many digits as tell it from its neighbours.
func appendFull(b []byte, v float64) []byte {
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-5 || a >= 1e17) {
		format = 'e'
	}
	if v == 0 {
		v = 0 // not -0
	}
	return strconv.AppendFloat(b, v, format, -1, 64)
}

// Round1 is SQLite 3.42's round(x, 1), with which nsys prints averages and percentages. It adds 0.05
// and, below 2^42, 3e-16 of x, in 80-bit floats, and cuts after one digit: 0.15 becomes 0.2, which
// is 0.1 with correct rounding, since 0.15 is a little less than its name.
func Round1(x float64) float64 {
	if x < 0 {
		return -Round1(-x)
	}
	if !(x <= 1<<52) {
		return x // has no digits after the point
	}
	// Away from ties every way of rounding agrees.
	tenths := x * 10
	if whole := math.Floor(tenths); tenths < 1<<40 {
		if frac := tenths - whole; frac < 0.499 {
			return whole / 10
		} else if frac > 0.501 {
			return (whole + 1) / 10
		}
	}
	return roundDigits(x)
}

// roundDigits is Round1 digit by digit, as SQLite's printf does it in floats of 64 bits of mantissa.
func roundDigits(x float64) float64 {
	float := func(v float64) *big.Float { return new(big.Float).SetPrec(64).SetFloat64(v) }
	v, ten := float(x), float(10)
	rounder := float(0.05)
	if _, exp := math.Frexp(x); 1+(exp-1)/3 < 15 {
		sum, _ := rounder.Add(rounder, float(0).Mul(v, float(3e-16))).Float64()
		rounder = float(sum) // it is a double
	}
	v.Add(v, rounder)
	whole := 1 // digits before the point
	scale := float(1)
	for next := float(10); v.Cmp(next) >= 0; next.Mul(next, ten) {
		scale.Set(next)
		whole++
	}
	v.Quo(v, scale)
	var digits []byte
	for range whole + 1 {
		if len(digits) == 16 { // it writes no more than these
			digits = append(digits, '0')
			continue
		}
		digit, _ := v.Int64() // 0 to 9
		digits = append(digits, '0'+byte(digit))
		v.Mul(v.Sub(v, float(float64(digit))), ten)
	}
	out, _ := strconv.ParseFloat(string(digits[:whole])+"."+string(digits[whole:]), 64)
	return out
}

package kineto

import (
	"math"
	"strconv"
)

// maxNs bounds stamps, so that the difference of any two fits an int64: 146 years on either side of 0.
const maxNs = 1 << 62

// bare is a value without the quotes that some writers put around numbers.
func bare(raw []byte) []byte {
	if len(raw) >= 2 && raw[0] == '"' {
		return raw[1 : len(raw)-1]
	}
	return raw
}

// parseMicros reads decimal microseconds as ns, digit by digit: a float64 near 1.7e15 µs has
// steps of 0.25 µs. Digits beyond the third are cut; exponents go through a float64 and are rounded.
func parseMicros(raw []byte) (ns int64, ok bool) {
	raw = bare(raw)
	i, negative := 0, false
	if len(raw) > 0 && raw[0] == '-' {
		i, negative = 1, true
	}
	first := i
	for ; i < len(raw) && raw[i]-'0' <= 9; i++ {
		if i-first >= 18 {
			return slowMicros(raw)
		}
		ns = ns*10 + int64(raw[i]-'0')
	}
	if i == first {
		return 0, false
	}
	if ns > maxNs/1000 {
		return slowMicros(raw)
	}
	ns *= 1000
	if i < len(raw) && raw[i] == '.' {
		i++
		for unit := int64(100); i < len(raw) && raw[i]-'0' <= 9; i++ {
			ns += int64(raw[i]-'0') * unit
			unit /= 10
		}
	}
	if i < len(raw) {
		return slowMicros(raw)
	}
	if negative {
		ns = -ns
	}
	return ns, ns <= maxNs && ns >= -maxNs
}

// slowMicros reads what has an exponent or too many digits.
func slowMicros(raw []byte) (int64, bool) {
	if !isNumber(raw) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return 0, false
	}
	f = math.RoundToEven(f * 1000)
	if !(math.Abs(f) <= maxNs) {
		return 0, false
	}
	return int64(f), true
}

// isNumber keeps what strconv knows and JSON does not away from it: inf, nan, 0x1p4, 1_000.
func isNumber(raw []byte) bool {
	for _, c := range raw {
		if c-'0' > 9 && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			return false
		}
	}
	return len(raw) > 0
}

// parseInt reads an integer, quoted or not. A number with a fraction is cut; what does not fit is not ok.
func parseInt(raw []byte) (n int64, ok bool) {
	raw = bare(raw)
	i, negative := 0, false
	if len(raw) > 0 && raw[0] == '-' {
		i, negative = 1, true
	}
	if len(raw) == i || len(raw)-i > 18 {
		return slowInt(raw)
	}
	for ; i < len(raw); i++ {
		d := raw[i] - '0'
		if d > 9 {
			return slowInt(raw)
		}
		n = n*10 + int64(d)
	}
	if negative {
		n = -n
	}
	return n, true
}

func slowInt(raw []byte) (int64, bool) {
	if !isNumber(raw) {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(math.Abs(f) < 1<<63) {
		return 0, false
	}
	return int64(f), true
}

// parseUint reads an unsigned integer of up to 64 bits: addresses.
func parseUint(raw []byte) (uint64, bool) {
	raw = bare(raw)
	if len(raw) > 2 && raw[0] == '0' && raw[1]|0x20 == 'x' {
		n, err := strconv.ParseUint(string(raw[2:]), 16, 64)
		return n, err == nil
	}
	if len(raw) < 19 {
		n, ok := parseInt(raw)
		return uint64(n), ok && n >= 0
	}
	n, err := strconv.ParseUint(string(raw), 10, 64)
	return n, err == nil
}

// parseFloat reads a number, quoted or not.
func parseFloat(raw []byte) (float64, bool) {
	raw = bare(raw)
	if !isNumber(raw) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return f, err == nil
}

// parseDims reads [x, y, z]; what is missing is 1, as in a launch. ok is false if there is no first number.
func parseDims(raw []byte) (dims [3]int32, ok bool) {
	dims = [3]int32{1, 1, 1}
	k, n, digits := 0, int64(0), 0
	for _, c := range raw {
		switch {
		case c-'0' <= 9:
			if n = n*10 + int64(c-'0'); n > math.MaxInt32 {
				return dims, false
			}
			digits++
		case digits > 0:
			if k < 3 {
				dims[k] = int32(n)
			}
			k, n, digits = k+1, 0, 0
		case c == '-' || c == '"':
			return dims, false
		}
	}
	return dims, k > 0
}

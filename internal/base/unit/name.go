package unit

import (
	"strings"
	"unicode"
)

// IsTime says whether values are nanoseconds.
func (u Unit) IsTime() bool { return u == Ns || u == NsFloat || u == Us || u == Ms }

// IsNumber says whether values are numbers: aligned to the right.
func (u Unit) IsNumber() bool { return u != Text }

// Symbol is how the unit of a printed value is written; "" if it has none.
func (u Unit) Symbol() string {
	switch u {
	case Ns, NsFloat:
		return "ns"
	case Us:
		return "us"
	case Ms:
		return "ms"
	case Percent1, Percent2:
		return "%"
	case MB:
		return "MB"
	case MBps:
		return "MB/s"
	case GBps:
		return "GB/s"
	case Bytes:
		return "bytes"
	}
	return ""
}

// word is the symbol as the end of a key.
func (u Unit) word() string {
	switch u {
	case Percent1, Percent2:
		return "pct"
	case MBps:
		return "mb_per_s"
	case GBps:
		return "gb_per_s"
	}
	return strings.ToLower(u.Symbol())
}

// saysIt says whether a column's name has its unit in it already, as some tools name their columns.
func (u Unit) saysIt(name string) bool {
	name = strings.ToLower(name)
	for _, word := range map[Unit][]string{
		Percent1: {"percent", "pct"}, Percent2: {"percent", "pct"},
		MBps: {"mbps"}, GBps: {"gbps"}, Bytes: {"bytes"},
	}[u] {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// Header is the head of a column for programs: "Total Time (ns)".
func (u Unit) Header(name string) string { return u.header(name, u.Symbol()) }

func (u Unit) header(name, symbol string) string {
	if symbol == "" || u.saysIt(name) {
		return name
	}
	return name + " (" + symbol + ")"
}

// Key is a column's name as a JSON key: snake case, with the unit at its end: "total_time_ns".
func (u Unit) Key(name string) string {
	key := snake(name)
	word := u.word()
	if word == "" || u.saysIt(name) || key == word || strings.HasSuffix(key, "_"+word) {
		return key
	}
	return key + "_" + word
}

// snake is "Total Time", "NumGPUOps", "queue.25%" as total_time, num_gpu_ops, queue_25pct.
func snake(name string) string {
	runes := []rune(strings.ReplaceAll(name, "%", "pct"))
	var b strings.Builder
	gap := false
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			gap = true
			continue
		}
		if unicode.IsUpper(r) && i > 0 {
			before := runes[i-1]
			ends := i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(before) // the O of GPUOps
			gap = gap || unicode.IsLower(before) || unicode.IsDigit(before) || ends
		}
		if gap && b.Len() > 0 {
			b.WriteByte('_')
		}
		gap = false
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

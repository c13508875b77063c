package writers

import (
	"fmt"
	"math"
	"strings"

	"lacuna/internal/kernelreport"
	"lacuna/internal/unit"
)

// classWords is a class as the end of "it is ...".
func classWords(class string) string {
	switch class {
	case "compute":
		return "bound by compute"
	case "memory:dram":
		return "bound by DRAM"
	case "memory:l2":
		return "bound by the L2 cache"
	case "memory:l1":
		return "bound by L1 and shared memory"
	case "latency":
		return "bound by latency"
	case "launch":
		return "too small to fill the GPU"
	case "near_limit":
		return "near its limit"
	}
	return ""
}

// shortClass is a class for a column.
func shortClass(class string) string {
	switch class {
	case "":
		return "-"
	case "near_limit":
		return "near limit"
	}
	return strings.Replace(class, "memory:", "", 1)
}

// timesWords is how many times as fast: "3.9 times as fast", or how much shorter.
func timesWords(now, then float64) string {
	ratio := now / then
	switch {
	case !(ratio > 0) || math.IsInf(ratio, 0):
		return ""
	case ratio >= 9.95:
		return fmt.Sprintf("%.0f times as fast", ratio)
	case ratio >= 1.95:
		return fmt.Sprintf("%.1f times as fast", ratio)
	case ratio >= 1:
		return fmt.Sprintf("%s %% less", unit.Percent(1-1/ratio))
	}
	return fmt.Sprintf("%s %% more", unit.Percent(1/ratio-1))
}

// capital begins a text with a capital letter.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// levelWords is a level of memory.
func levelWords(level string) string {
	switch level {
	case "dram":
		return "DRAM"
	case "l2":
		return "L2"
	case "l1":
		return "L1"
	}
	return level
}

// precisionWords is a precision.
func precisionWords(precision string) string {
	if rest, ok := strings.CutPrefix(precision, "tensor"); ok {
		return strings.TrimSpace("tensor cores " + strings.ToUpper(strings.TrimSpace(rest)))
	}
	return strings.ToUpper(precision)
}

// firstFinding is the finding that matters most, or nil.
func firstFinding(k *kernelreport.Kernel) *kernelreport.Finding {
	if len(k.Findings) == 0 {
		return nil
	}
	return &k.Findings[0]
}

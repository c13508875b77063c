package pages

import (
	"fmt"
	"math"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/kernel/kernelreport"
)

// classWords is a class as the end of "it is ...".
func classWords(class string) string {
	switch class {
	case "compute":
		return "compute-bound"
	case "memory:dram":
		return "memory-bound (DRAM)"
	case "memory:l2":
		return "memory-bound (L2)"
	case "memory:l1":
		return "memory-bound (L1, shared memory)"
	case "latency":
		return "latency-bound"
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

// dimsWords is a grid or block: "64 x 64", trailing ones left out.
func dimsWords(d [3]uint32) string {
	switch {
	case d[2] > 1:
		return fmt.Sprintf("%d x %d x %d", d[0], d[1], d[2])
	case d[1] > 1:
		return fmt.Sprintf("%d x %d", d[0], d[1])
	}
	return fmt.Sprint(d[0])
}

// deviceSays describes a GPU in a few words.
func deviceSays(d kernelreport.Device) string {
	if d.Name == "" {
		return ""
	}
	var about []string
	if d.ComputeCapability != "" {
		about = append(about, "compute capability "+d.ComputeCapability)
	}
	if d.SMs > 0 {
		about = append(about, fmt.Sprintf("%d SMs", d.SMs))
	}
	if d.MemoryGBs > 0 {
		about = append(about, unit.SI(d.MemoryGBs*1e9)+"B/s of DRAM")
	}
	if len(about) == 0 {
		return d.Name
	}
	return d.Name + " (" + strings.Join(about, ", ") + ")"
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

// placeWords is where a line is: "kernels.cu:42", or the function and the offset of the instruction.
func placeWords(l *kernelreport.Line) string {
	if l.Line > 0 {
		file := l.File
		if i := strings.LastIndexAny(file, `/\`); i >= 0 {
			file = file[i+1:]
		}
		return fmt.Sprintf("%s:%d", file, l.Line)
	}
	if l.Function != "" {
		return fmt.Sprintf("%s+0x%x", kernelname.Base(l.Function), l.Offset)
	}
	return fmt.Sprintf("+0x%x", l.Offset)
}

// lineText is what stands there.
func lineText(l *kernelreport.Line) string {
	if text := strings.TrimSpace(strings.ReplaceAll(l.Text, "\t", "    ")); text != "" {
		return text
	}
	return l.SASS
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

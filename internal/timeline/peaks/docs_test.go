package peaks

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
)

// docs/peaks.md is the table as a page; -update rewrites it.
func TestPageIsCurrent(t *testing.T) {
	golden.File(t, filepath.Join(golden.Root(t), "docs/peaks.md"), page())
}

func page() string {
	var b strings.Builder
	b.WriteString("# Peaks of devices\n\n" +
		"Written by `go test ./internal/timeline/peaks -update` from `internal/timeline/peaks`. TFLOP/s (of int8: " +
		"TOP/s), dense, at the boost clock; 16-bit\n" +
		"types with FP32 accumulation. Memory in GB/s; link one way in GB/s. An empty cell: no such unit, or not " +
		"stated. A device\n" +
		"that is not here, or whose SMs, memory or bandwidth a capture states otherwise, is unknown to " +
		"`op_roofline`.\n\n" +
		"| device | SMs | MHz | fp64 | fp64 matrix | fp32 | fp32 matrix | tf32 | fp16 | bf16 | fp8 | int8 | GiB | " +
		"memory | link | link GB/s | L2 MiB | shared KiB/SM | source |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, p := range All() {
		cells := []string{p.Name}
		for _, v := range []float64{float64(p.SMs), p.BoostMHz, p.FP64, p.FP64Matrix, p.FP32, p.FP32Matrix, p.TF32,
			p.FP16, p.BF16, p.FP8, p.INT8, p.MemoryGiB, p.MemoryGBs} {
			cells = append(cells, number(v))
		}
		cells = append(cells, p.HostLink, number(p.HostGBs), number(p.L2MiB), number(p.SharedKiB), p.Source)
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}

func number(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.4g", v)
}

package writers

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"lacuna/internal/kernel/kernelreport"
)

// kernelColumns is the summary's columns; docs/kernel.md explains them.
var kernelColumns = []struct {
	name string
	cell func(r *kernelreport.Report, k *kernelreport.Kernel) string
}{
	{"Input", func(r *kernelreport.Report, k *kernelreport.Kernel) string { return r.Inputs[k.Input].Path }},
	{"Kernel", func(_ *kernelreport.Report, k *kernelreport.Kernel) string { return k.Name }},
	{"Launch", func(_ *kernelreport.Report, k *kernelreport.Kernel) string { return strconv.Itoa(k.Launch) }},
	{"Launches", func(_ *kernelreport.Report, k *kernelreport.Kernel) string { return strconv.Itoa(k.Count) }},
	{"Grid", func(_ *kernelreport.Report, k *kernelreport.Kernel) string { return csvDims(k.Grid) }},
	{"Block", func(_ *kernelreport.Report, k *kernelreport.Kernel) string { return csvDims(k.Block) }},
	{"Time (us)", func(_ *kernelreport.Report, k *kernelreport.Kernel) string { return csvNumber(k.DurationUs) }},
	{"Min (us)", func(_ *kernelreport.Report, k *kernelreport.Kernel) string { return csvSpread(k, false) }},
	{"Max (us)", func(_ *kernelreport.Report, k *kernelreport.Kernel) string { return csvSpread(k, true) }},
	{"Total (us)", func(_ *kernelreport.Report, k *kernelreport.Kernel) string { return csvKnown(k.TotalUs) }},
	{"Class", func(_ *kernelreport.Report, k *kernelreport.Kernel) string { return k.Class }},
	{"Compute (%)", func(_ *kernelreport.Report, k *kernelreport.Kernel) string {
		if k.SOL == nil {
			return ""
		}
		return csvNumber(k.SOL.SMPct)
	}},
	{"Memory (%)", func(_ *kernelreport.Report, k *kernelreport.Kernel) string {
		if k.SOL == nil {
			return ""
		}
		return csvNumber(k.SOL.MemoryPct)
	}},
	{"Theoretical occupancy (%)", func(_ *kernelreport.Report, k *kernelreport.Kernel) string {
		if k.Occupancy == nil {
			return ""
		}
		return csvNumber(k.Occupancy.TheoreticalPct)
	}},
	{"Achieved occupancy (%)", func(_ *kernelreport.Report, k *kernelreport.Kernel) string {
		if k.Occupancy == nil {
			return ""
		}
		return csvNumber(k.Occupancy.AchievedPct)
	}},
	{"Waits mostly for", func(_ *kernelreport.Report, k *kernelreport.Kernel) string {
		if len(k.StallParts) == 0 {
			return ""
		}
		return k.StallParts[0].Name
	}},
	{"Finding", func(_ *kernelreport.Report, k *kernelreport.Kernel) string {
		if f := firstFinding(k); f != nil {
			return f.Rule
		}
		return ""
	}},
	{"Predicted (us)", func(_ *kernelreport.Report, k *kernelreport.Kernel) string {
		return csvPrediction(k, func(f *kernelreport.Finding) float64 { return f.PredictedUs })
	}},
	{"Low (us)", func(_ *kernelreport.Report, k *kernelreport.Kernel) string {
		return csvPrediction(k, func(f *kernelreport.Finding) float64 { return f.LowUs })
	}},
	{"High (us)", func(_ *kernelreport.Report, k *kernelreport.Kernel) string {
		return csvPrediction(k, func(f *kernelreport.Finding) float64 { return f.HighUs })
	}},
}

// KernelCSV writes a row for each kernel: plain numbers, nothing for what is not known.
func KernelCSV(w io.Writer, r *kernelreport.Report, top int) error {
	return flushed(w, func(out *bufio.Writer) {
		var line []byte
		for i, c := range kernelColumns {
			line = appendField(line, i, []byte(c.name))
		}
		_, err := out.Write(append(line, '\n'))
		kernels := topKernels(r, top)
		for j := range kernels {
			if err != nil {
				return
			}
			line = line[:0]
			for i, c := range kernelColumns {
				line = appendField(line, i, []byte(c.cell(r, &kernels[j])))
			}
			_, err = out.Write(append(line, '\n'))
		}
	})
}

func csvNumber(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

// csvKnown is a number of which 0 says that it is not known.
func csvKnown(v float64) string {
	if v == 0 {
		return ""
	}
	return csvNumber(&v)
}

func csvDims(d [3]uint32) string {
	if d[0] == 0 {
		return ""
	}
	var parts []string
	for _, v := range d {
		parts = append(parts, strconv.FormatUint(uint64(v), 10))
	}
	return strings.Join(parts, "x")
}

func csvSpread(k *kernelreport.Kernel, high bool) string {
	switch {
	case k.Spread == nil:
		return csvNumber(k.DurationUs)
	case high:
		return csvNumber(&k.Spread.MaxUs)
	}
	return csvNumber(&k.Spread.MinUs)
}

// csvPrediction is a number of the first finding, if it predicts.
func csvPrediction(k *kernelreport.Kernel, of func(f *kernelreport.Finding) float64) string {
	if f := firstFinding(k); f != nil && f.PredictedUs > 0 && !f.Healthy {
		return csvKnown(of(f))
	}
	return ""
}

// firstFinding is the finding that matters most, or nil.
func firstFinding(k *kernelreport.Kernel) *kernelreport.Finding {
	if len(k.Findings) == 0 {
		return nil
	}
	return &k.Findings[0]
}

package flops

import (
	"compress/gzip"
	"encoding/csv"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
)

// A difference is a known way in which TraceLens' numbers are others than ours. docs/roofline.md says who is right.
type difference struct {
	reason    string
	bytes     bool    // of the bytes, else of the FLOPs
	low, high float64 // ours over theirs
	of        func(op Op, w Work) bool
}

func named(names ...string) func(Op, Work) bool {
	return func(op Op, _ Work) bool { return slices.Contains(names, op.Name) }
}

func ofFamily(f Family) func(Op, Work) bool { return func(_ Op, w Work) bool { return w.Family == f } }

var differences = []difference{
	{"a bias adds no FLOPs in torch.utils.flop_counter either", false, 0.98, 1, named("aten::addmm")},
	{"n (n + 1) / 2 pairs under a causal mask, not n^2 / 2", false, 1, 1.02, ofFamily(Attention)},
	{"a copy is no operation", false, 0, 0, named("aten::copy_")},
	{"x / (1 + exp(-x)) is four operations, not one", false, 4, 4, named("aten::silu", "aten::sigmoid")},
	{"root and quotient are two operations", false, 2, 2, named("aten::rsqrt")},
	{"steps of a norm: ours are listed in norm.go", false, 0.6, 3, ofFamily(Norm)},
	{"no gradient of the input is asked for", false, 0.5, 0.5, named("aten::convolution_backward")},

	{"the gradient is read once for both results", true, 0.7, 1, named("aten::convolution_backward")},
	{"no gradient of the input is written", true, 0.5, 0.5, named("aten::convolution_backward")},
	{"the result is written, too", true, 1, 1.12, named("aten::sum", "aten::mean")},
	{"a running sum of int32 is int64", true, 1.5, 1.5, named("aten::cumsum")},
	{"min of two tensors reads two and writes one", true, 2.99, 3, named("aten::min")},
	{"a bias is read, too", true, 1, 1.001, named("aten::convolution")},
	{"statistics are one in a row, not one for each weight", true, 0.8, 1, ofFamily(Norm)},
	{"statistics are not counted", true, 1, 1.0001, named("aten::native_group_norm_backward")},
	{"gradients of weight and bias are written, too", true, 1, 1.51, named("aten::miopen_batch_norm_backward")},
	{"a dimension with stride 0 is read once", true, 0.5, 0.6,
		func(op Op, _ Work) bool { return strings.Contains(op.Strides, "0") }},
	{"the result has the promoted type, a tensor without dimensions does not widen it", true, 0.66, 0.81,
		ofFamily(Pointwise)},
}

// TestTraceLens holds the formulas against those of AMD's TraceLens, over every row of its reference sheets that
// names an operator which has a formula here. Each difference must be a known one, and each known one be met.
func TestTraceLens(t *testing.T) {
	dir := golden.Shared(t, "corpus/public/tracelens_expected")
	sheets, _ := filepath.Glob(filepath.Join(dir, "*", "*.csv*"))
	if len(sheets) == 0 {
		t.Fatal("no sheets in ", dir)
	}
	met := make([]int, len(differences))
	agree, noFormula := 0, 0
	for _, sheet := range sheets {
		for _, row := range readSheet(t, sheet) {
			if row["GFLOPS_first"] == "" || row["Input Dims_first"] == "" {
				continue
			}
			op := Op{Name: row["name"], Shapes: fromPython(row["Input Dims_first"]),
				Types:   fromPython(row["Input type_first"]),
				Strides: fromPython(row["Input Strides_first"]), Values: fromPython(row["Concrete Inputs_first"])}
			w, why := Of(op)
			if why != Known {
				if why != NoFormula {
					t.Errorf("%s: %s %s: %s", sheet, op.Name, op.Shapes, why)
				}
				noFormula++
				continue
			}
			check := func(bytes bool, ours, theirs float64) {
				ratio := ours / theirs
				if math.Abs(ratio-1) < 1e-6 {
					agree++
					return
				}
				for i, d := range differences {
					if d.bytes == bytes && d.of(op, w) && (ratio >= d.low*(1-1e-9) && ratio <= d.high*(1+1e-9)) {
						met[i]++
						return
					}
				}
				t.Errorf("%s: %s %s %s: ours is %g times theirs (bytes: %v)", sheet, op.Name, op.Shapes, op.Types,
					ratio, bytes)
			}
			check(false, w.FLOPs, number(t, row["GFLOPS_first"])*1e9)
			if row["Data Moved (MB)_first"] == "" {
				continue
			}
			check(true, w.Bytes, number(t, row["Data Moved (MB)_first"])*(1<<20))
		}
	}
	for i, d := range differences {
		t.Logf("%4d times: %s", met[i], d.reason)
		if met[i] == 0 {
			t.Errorf("never met: %s", d.reason)
		}
	}
	t.Logf("%4d numbers agree; %d rows have no formula here", agree, noFormula)
	if agree < 500 {
		t.Errorf("%d numbers agree", agree)
	}
}

func number(t *testing.T, text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func readSheet(t *testing.T, path string) []map[string]string {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	lines, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil
	}
	var rows []map[string]string
	for _, line := range lines[min(1, len(lines)):] {
		row := make(map[string]string)
		for i, cell := range line {
			row[lines[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// fromPython is the JSON text of a Python list or tuple as repr() prints it.
func fromPython(text string) string {
	return strings.NewReplacer("(", "[", ",)", "]", ")", "]", "'", `"`).Replace(text)
}

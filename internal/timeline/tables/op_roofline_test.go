package tables

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/timeline/facts"
)

// TestOpRooflineTraceLens holds the GPU time of each operator against what TraceLens booked on it in the same trace.
// Sets whose operators TraceLens rebuilt from a second trace, or split by recomputation or module, are not comparable.
func TestOpRooflineTraceLens(t *testing.T) {
	// Memsets that the trace links to these operators are not in TraceLens' sum.
	without := map[string]float64{"aten::miopen_batch_norm": 0.010655, "aten::mean": 0.006848,
		"aten::miopen_batch_norm_backward": 0.009133}
	compared := 0
	for _, set := range []string{"tl_h100_bert", "tl_h100_falconsai", "tl_h100_qwen", "tl_mi300_bert", "tl_mi300_qwen",
		"tl_mi300_normalization", "tl_mi300_triton"} {
		for _, path := range golden.CorpusFiles(t, filepath.Join("public/kineto", set), ".json.gz") {
			out := &Rows{Columns: opRoofline.Columns}
			if err := opRoofline.Fill([]*facts.Facts{facts.Of(openKineto(t, path))}, nil, out); err != nil {
				t.Fatal(err)
			}
			busyNs := make(map[string]int64)
			calls := make(map[string]int64)
			for _, row := range out.Rows {
				calls[row[0].Text] += row[3].Int
				busyNs[row[0].Text] += row[4].Int
			}
			sheet := filepath.Join(golden.Root(t), "../shared/corpus/public/tracelens_expected", set,
				"ops_summary.csv")
			for _, want := range readTraceLens(t, sheet) {
				name := want["name"]
				ms, err := strconv.ParseFloat(want["total_direct_kernel_time_ms"], 64)
				if err != nil {
					t.Fatalf("%s: %v", sheet, err)
				}
				compared++
				if set == "tl_mi300_normalization" {
					ms += without[name]
				}
				if got := float64(busyNs[name]) / 1e6; math.Abs(got-ms) > 0.001*ms+0.0005 {
					t.Errorf("%s: %s is busy for %.4f ms in %d calls, TraceLens has %.4f in %s", set, name, got,
						calls[name], ms, want["Count"])
				}
			}
		}
	}
	t.Logf("%d operators agree", compared)
}

// A GPT of 8 layers, width 2048, 32000 words, 16 x 1024 tokens a step, causal: 6 FLOPs a parameter and token, and for
// each pair of tokens and head 2 x (128 + 128) forward and five products of 128 backward. The step's note must say
// the same.
func TestOpRooflineCountsTheModel(t *testing.T) {
	const (
		layers, width, words, heads, headDim = 8, 2048, 32000, 16, 128
		batch, tokens                        = 16, 1024
	)
	want := 6.0 * batch * tokens * (layers*12*width*width + width*words)
	want += layers * batch * heads * (tokens * (tokens + 1) / 2) * (2*2*headDim + 5*2*headDim)
	for _, path := range golden.CorpusFiles(t, "system/healthy_gpt/fixed", "torch.json.gz") {
		out := &Rows{Columns: opRoofline.Columns}
		if err := opRoofline.Fill([]*facts.Facts{facts.Of(openKineto(t, path))}, nil, out); err != nil {
			t.Fatal(err)
		}
		says := fmt.Sprintf("has %.4g TFLOP of GEMM work", want/1e12)
		if !slices.ContainsFunc(out.Notes, func(note string) bool { return strings.Contains(note, says) }) {
			t.Errorf("no note %q in %q", says, out.Notes)
		}
	}
}

func readTraceLens(t *testing.T, path string) []map[string]string {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, line := range lines[1:] {
		row := make(map[string]string)
		for i, cell := range line {
			row[lines[0][i]] = cell
		}
		out = append(out, row)
	}
	return out
}

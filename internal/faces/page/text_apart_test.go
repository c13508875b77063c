package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Different names stay different however narrow the column, and none is wider than it.
func TestFitApart(t *testing.T) {
	names := []string{
		"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize256x64x8_stage3_execute_kernel__5x_cublas",
		"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8_stage3_execute_kernel__5x_cublas",
		"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_execute_kernel__5x_cublas",
		"Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>", "gemm",
		"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize256x64x8_stage3_execute_kernel__5x_cublas", // the same again
		strings.Repeat("核", 30) + "一" + strings.Repeat("核", 30),
		strings.Repeat("核", 30) + "二" + strings.Repeat("核", 30),
	}
	for _, ascii := range []bool{false, true} {
		for width := 24; width < 100; width++ {
			got := Layout{ASCII: ascii}.fitApart(names, width)
			for i, s := range got {
				if Shown(s) > width {
					t.Errorf("%q has %d columns, of %d", s, Shown(s), width)
				}
				for j := range i {
					if (got[i] == got[j]) != (names[i] == names[j]) {
						t.Errorf("width %d: %q for both\n%s\n%s", width, s, names[i], names[j])
					}
				}
			}
		}
	}
	const want = "[sm80_xmm…32_tn_n_tilesize256x64x8… sm80_xmm…32_nn_n_tilesize256x128x… " +
		"sm80_xmm…32_tn_n_tilesize128x128x…]"
	if got := fmt.Sprint(Layout{}.fitApart(names[:3], 34)); got != want {
		t.Error(got)
	}
	if got := (Layout{}).fitApart(names[3:5], 34); !slices.Equal(got, []string{Layout{}.Fit(names[3], 34), "gemm"}) {
		t.Errorf("names that differ anyway are cut as ever: %q", got)
	}
}

// Columns that a wide table wants least go first, then names give way, then the last numbers go.
func TestWantedColumnsStay(t *testing.T) {
	columns := []Column{{Head: "Op"}, {Head: "Calls", Right: true, Drop: 2},
		{Head: "Busy (ms)", Short: "Busy", Right: true}, {Head: "GFLOP", Right: true},
		{Head: "Peak", Drop: 4}, {Head: "Shapes"}}
	row := Row("aten::convolution_backward_of_something", "12", "117.346", "137.439", "fp32",
		"[[4096, 4096], [4096, 4096], [], []]")
	for width, want := range map[int]string{
		120: "",
		90:  "Peak",
		70:  "Calls, Peak",
		46:  "Calls, Peak",
		38:  "Calls, GFLOP, Peak",
	} {
		var out strings.Builder
		if err := WriteText(&out, &Page{Blocks: []Block{Table{Wide: true, Columns: columns, Rows: [][]Text{row}}}},
			Layout{Width: width}); err != nil {
			t.Fatal(err)
		}
		_, left, _ := strings.Cut(out.String(), "not shown at this width: ")
		left, _, _ = strings.Cut(strings.Join(strings.Fields(left), " "), ";")
		if left != want {
			t.Errorf("width %d: %q is left out, want %q:\n%s", width, left, want, out.String())
		}
	}
}

// A narrow page cuts names before times and IDs.
func TestTimesStayWhole(t *testing.T) {
	table := Table{Wide: true, Columns: []Column{{Head: "Run"}, {Head: "At"}, {Head: "Branch"}, {Head: "Program"},
		{Head: "Input"}}, Rows: [][]Text{Row("3cb56f50", "2026-10-01 12:17", "feature/some-long-branch",
		"train_something.py", "/data/captures/2026/10/host_sync/slow/torch.json.gz")}}
	for width := 64; width < 130; width++ {
		var out strings.Builder
		if err := WriteText(&out, &Page{Blocks: []Block{table}}, Layout{Width: width}); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); !strings.Contains(text, "3cb56f50  2026-10-01 12:17  ") {
			t.Errorf("width %d:\n%s", width, text)
		}
	}
}

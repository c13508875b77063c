package tables

import (
	"path/filepath"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// What was recorded and is empty is no mistake: the table has its header, and um_total_sum its one row.
func TestNsysTablesWithoutRows(t *testing.T) {
	none := []int64{}
	trace := &model.Trace{}
	for _, start := range []*[]int64{
		&trace.Kernels.StartNs, &trace.Copies.StartNs, &trace.Sets.StartNs, &trace.Calls.StartNs, &trace.Ranges.StartNs,
		&trace.OSCalls.StartNs, &trace.OpenACC.StartNs, &trace.OpenMP.StartNs, &trace.MPI.StartNs,
		&trace.PageFaults.StartNs,
	} {
		*start = none
	}
	for _, x := range nsysTables {
		out := &Rows{Columns: x.table.Columns}
		if err := x.table.Fill([]*facts.Facts{facts.Of(trace)}, nil, out); err != nil {
			t.Errorf("%s: %v", x.table.Name, err)
		}
		rows := 0
		if x.table == &umTotalSum {
			rows = 1
		}
		if len(out.Rows) != rows {
			t.Errorf("%s has rows:\n%s", x.table.Name, rowsText(out))
		}
	}
}

// Where a file has no base names, they are made as nsys makes them.
func TestBaseNameIsShortName(t *testing.T) {
	names := 0
	for _, path := range golden.CorpusFiles(t, "public/nsys", "/capture.sqlite.zst") {
		trace := openNsys(t, filepath.Dir(path))
		seen := make(map[model.StringID]bool)
		for i, id := range trace.Kernels.Short {
			long := trace.Kernels.Name[i]
			if seen[long] {
				continue
			}
			seen[long] = true
			names++
			if got, want := baseName(trace.Strings.Text(long)), trace.Strings.Text(id); got != want {
				t.Errorf("baseName(%q) = %q, want %q", trace.Strings.Text(long), got, want)
			}
		}
	}
	t.Logf("%d names", names)
}

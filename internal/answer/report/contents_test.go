package report

import (
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

func TestContents(t *testing.T) {
	trace, err := evtext.Parse(`
range annotation 0+1000 step 0
range annotation 1000+1000 step 1
range annotation 2000+1000 step 2
call c1 10+5 cudaLaunchKernel
call c2 1010+5 cudaLaunchKernel
call c3 2010+5 cudaMemcpyAsync
kernel s7 c1 100+200 gemm
kernel s8 c2 1100+200 gemm
copy HtoD pageable->device s7 c3 bytes=4096 2100+400
`)
	if err != nil {
		t.Fatal(err)
	}
	c, err := contentsOf(trace)
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]int)
	for _, x := range c.Tables {
		rows[x.Name] = x.Count
	}
	if rows["Kernels"] != 2 || rows["Copies"] != 1 || rows["Calls"] != 3 || rows["Ranges"] != 3 || len(rows) != 4 {
		t.Errorf("tables %v", rows)
	}
	want := []StreamInfo{{0, 7, [3]int{1, 1, 0}}, {0, 8, [3]int{1, 0, 0}}}
	if len(c.Streams) != 2 || c.Streams[0] != want[0] || c.Streams[1] != want[1] {
		t.Errorf("streams %v", c.Streams)
	}
	if c.SpanMs != [2]float64{0, 0.003} {
		t.Errorf("span %v", c.SpanMs)
	}
	if c.Steps.Source != string(facts.StepsAnnotation) || c.Steps.Host == 0 {
		t.Errorf("steps %+v", c.Steps)
	}
	if len(c.Devices) != 1 || !c.Devices[0].Used {
		t.Errorf("devices %+v", c.Devices)
	}
	if len(c.Ranges) != 1 || c.Ranges[0] != (NameCount{"step *", 3}) {
		t.Errorf("ranges %v", c.Ranges)
	}
}

func contentsOf(t *model.Trace) (*Contents, error) {
	f := facts.Of(t)
	return ContentsOf(f, []*facts.Facts{f})
}

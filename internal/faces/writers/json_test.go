package writers

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"lacuna/internal/answer/report"
)

func TestJSONKeepsNames(t *testing.T) {
	name := "void vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1> " +
		">(int)\x1b[2J\u202e"
	var out bytes.Buffer
	if err := JSON(&out, &report.Report{Schema: 1, TopKernels: []report.TopKernel{{Name: name}}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "FillFunctor<float>") {
		t.Error("names are escaped for HTML")
	}
	var back report.Report
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if got := back.TopKernels[0].Name; got != name {
		t.Errorf("name comes back as %q", got)
	}
}

// One capture is an object, several are a list.
func TestContentsJSON(t *testing.T) {
	c := &report.Contents{Capture: report.Capture{Events: 15033}}
	var out bytes.Buffer
	if err := ContentsJSON(&out, []*report.Contents{c}); err != nil {
		t.Fatal(err)
	}
	var one report.Contents
	if err := json.Unmarshal(out.Bytes(), &one); err != nil || one.Capture.Events != 15033 {
		t.Errorf("%v, %+v", err, one)
	}
	out.Reset()
	if err := ContentsJSON(&out, []*report.Contents{c, c}); err != nil {
		t.Fatal(err)
	}
	var two []report.Contents
	if err := json.Unmarshal(out.Bytes(), &two); err != nil || len(two) != 2 {
		t.Errorf("%v, %d", err, len(two))
	}
}

package writers

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/faces/pages/samples"
)

func TestKernelCSV(t *testing.T) {
	var out bytes.Buffer
	if err := KernelCSV(&out, samples.Kernels(), 0); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/kernel.csv", out.String())
}

// The contract of DESIGN.md: these fields, these types, lists never null.
func TestKernelJSONContract(t *testing.T) {
	var out bytes.Buffer
	if err := KernelJSON(&out, samples.Kernels(), 0); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema  float64
		Device  map[string]any
		Kernels []map[string]json.RawMessage
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != 1 || got.Device["name"] != "NVIDIA H200" || len(got.Kernels) != 3 {
		t.Errorf("schema %v, device %v, %d kernels", got.Schema, got.Device, len(got.Kernels))
	}
	for i, k := range got.Kernels {
		for field, first := range map[string]string{"name": `"`, "count": "0123456789", "duration_us": "0123456789n",
			"class": `"`, "sol": "{n", "roofline": "[", "occupancy": "{n", "stalls": "{",
			"findings": "[", "abstained": "[", "missing": "[", "mentioned": "[", "source": "[", "stall_parts": "[",
			"profiler_says": "["} {
			if v := k[field]; len(v) == 0 || !strings.Contains(first, string(v[:1])) {
				t.Errorf("kernel %d: %s is %.40s, want it to begin with one of %q", i, field, v, first)
			}
		}
	}
	for field, in := range map[string]string{"sm_pct": "sol", "memory_pct": "sol", "theoretical_pct": "occupancy",
		"achieved_pct": "occupancy", "limiter": "occupancy", "precision": "roofline", "level": "roofline",
		"flops":     "roofline",
		"intensity": "roofline", "ceiling": "roofline", "rule": "findings", "title": "findings",
		"confidence": "findings", "predicted_us": "findings", "low_us": "findings", "high_us": "findings",
		"evidence": "findings", "fix": "findings"} {
		if v := got.Kernels[0][in]; !bytes.Contains(v, []byte(`"`+field+`": `)) {
			t.Errorf("%s has no %s: %.100s", in, field, v)
		}
	}
}

package tables

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/timeline/facts"
)

// A torchAverage is a row of torch's key_averages(), in us and bytes.
type torchAverage struct {
	Name          string  `json:"name"`
	Calls         int64   `json:"calls"`
	SelfCPU       float64 `json:"self_cpu_us"`
	CPU           float64 `json:"cpu_us"`
	SelfDevice    float64 `json:"self_device_us"`
	Device        float64 `json:"device_us"`
	DeviceType    string  `json:"device_type"`
	CPUMem        float64 `json:"cpu_mem"`
	DeviceMem     float64 `json:"device_mem"`
	SelfCPUMem    float64 `json:"self_cpu_mem"`
	SelfDeviceMem float64 `json:"self_device_mem"`
}

// torchKnowsMore says why a cell of key_averages() does not follow from the trace alone: torch books device
// time on calls that the trace does not link to GPU work, and so on what encloses them; and in two captures
// CUPTI's own work, which the trace does not have among the host's events, counts as a child.
func torchKnowsMore(capture string, row torchAverage, column string) bool {
	switch row.Name {
	case "Command Buffer Full", "Activity Buffer Request", "Buffer Flush":
		return true
	}
	switch capture {
	case "healthy_gpt/fixed", "looped_optimizer/slow", "looped_optimizer/fixed":
		return column == "Self CPU" || column == "Self Device" || column == "Device total"
	case "memory_growth/slow", "pageable_copies/fixed":
		return column == "Self Device" || column == "Device total"
	}
	return false
}

// TestOpSumCorpus holds op_sum against what key_averages() said in the run that wrote the trace.
func TestOpSumCorpus(t *testing.T) {
	compared, leftOut := 0, 0
	for _, path := range golden.CorpusFiles(t, "system", "key_averages.json.gz") {
		dir := filepath.Dir(path)
		capture := filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir)
		t.Run(capture, func(t *testing.T) {
			out := &Rows{Columns: opSum.Columns}
			if err := opSum.Fill([]*facts.Facts{facts.Of(openKineto(t, filepath.Join(dir, "torch.json.gz")))}, nil,
				out); err != nil {
				t.Fatal(err)
			}
			rows := make(map[string]map[string]int64)
			for _, cells := range out.Rows {
				rows[cells[0].Text] = make(map[string]int64)
				for i, c := range cells[1:] {
					rows[cells[0].Text][out.Columns[i+1].Name] = c.Int
				}
			}
			for _, want := range readAverages(t, path) {
				if want.DeviceType != "DeviceType.CPU" {
					continue
				}
				for column, value := range map[string]float64{
					"Calls": float64(want.Calls), "Self CPU": want.SelfCPU * 1e3, "CPU total": want.CPU * 1e3,
					"Self Device": want.SelfDevice * 1e3, "Device total": want.Device * 1e3,
					"Self CPU Mem": want.SelfCPUMem, "CPU Mem": want.CPUMem, "Self Device Mem": want.SelfDeviceMem,
					"Device Mem": want.DeviceMem,
				} {
					got, most := rows[want.Name][column], 0.0
					if strings.HasSuffix(column, "CPU") || strings.HasSuffix(column, "Device") ||
						strings.HasSuffix(column, "total") {
						most = max(2000, 1e-3*math.Abs(value)) // ns
					}
					if math.Abs(float64(got)-value) <= most {
						compared++
					} else if torchKnowsMore(capture, want, column) {
						leftOut++
					} else {
						t.Errorf("%.60s: %s is %d, want %.0f", want.Name, column, got, value)
					}
				}
			}
		})
	}
	t.Logf("%d cells are equal, %d are left out", compared, leftOut)
	if leftOut > 40 || compared < 10_000 {
		t.Errorf("%d cells are equal, %d are left out: is the corpus whole?", compared, leftOut)
	}
}

func readAverages(t *testing.T, path string) (rows []torchAverage) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

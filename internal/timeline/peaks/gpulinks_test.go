package peaks

import "testing"

// Links of GPUs by device; those of PCIe slots have none that is known.
func TestGPULink(t *testing.T) {
	for name, want := range map[string]float64{
		"V100 SXM2 32 GB": 150, "A100 SXM 80 GB": 300, "H100 SXM 80 GB": 450, "H200 SXM": 450, "H20": 450,
		"GH200 96 GB": 450, "B200": 900,
		"GB200 (one GPU)": 900, "H100 PCIe 80 GB": 0, "H200 NVL": 0, "L40S": 0, "V100 PCIe 16 GB": 0,
	} {
		found := false
		for _, p := range All() {
			if p.Name == name {
				found = true
				if link, _ := p.GPULink(); link.GBs != want {
					t.Errorf("%s: %g GB/s, want %g", name, link.GBs, want)
				}
			}
		}
		if !found {
			t.Errorf("no device %s", name)
		}
	}
	for _, x := range gpuLinks {
		used := false
		for _, p := range All() {
			link, ok := p.GPULink()
			used = used || ok && link == x.GPULink
		}
		if !used {
			t.Errorf("no device has %s of %s", x.Name, x.device)
		}
	}
}

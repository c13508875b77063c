package doctor

import (
	"fmt"
	"strings"

	"lacuna/internal/capture/nvml"
)

var gpus = Check{ID: "gpus", Title: "GPUs", For: []Purpose{Record, NCU}, Run: func(x *exam) []Result {
	if x.library == nil {
		if nodes := x.glob("/dev/nvidia[0-9]*"); len(nodes) > 0 {
			return []Result{{State: Unknown, Text: strings.Join(nodes, ", ") +
				"; no more is known without the driver's management library (NVML)"}}
		}
		return nil // the driver's check has said it
	}
	devices := x.library.Devices()
	if len(devices) == 0 {
		r := Result{State: Missing, Text: "the driver sees no GPU", Cost: "nothing runs on a GPU here",
			Stops: []Purpose{Record, NCU}}
		if r.Fix, r.Commands = x.inside.allow("--gpus all", "resources.limits nvidia.com/gpu: 1"); r.Fix == "" {
			r.Fix, r.Commands = "see the kernel's log", []string{"sudo dmesg | grep -i NVRM"}
		}
		return []Result{r}
	}
	out := fine(gpuWords(devices))
	value := x.Env("CUDA_VISIBLE_DEVICES")
	if value == "" && (x.Set == nil || !x.Set("CUDA_VISIBLE_DEVICES")) {
		return out
	}
	seen := nvml.Visible(devices, value, true)
	switch {
	case strings.HasPrefix(value, "MIG-"): // instances have names of their own
	case len(seen) == 0:
		out[0] = Result{State: Broken, Text: fmt.Sprintf("%s; CUDA_VISIBLE_DEVICES=%s hides all of them", out[0].Text,
			value), Cost: "no CUDA program finds a GPU",
			Commands: []string{"unset CUDA_VISIBLE_DEVICES"}, Stops: []Purpose{Record, NCU}}
	case len(seen) < len(devices):
		out[0].Text += fmt.Sprintf("; with CUDA_VISIBLE_DEVICES=%s a program sees %d", value, len(seen))
	}
	return out
}}

// gpuWords is the GPUs, those of a kind together: "8 NVIDIA H200 (140 GiB, compute capability 9.0)".
func gpuWords(devices []nvml.Device) string {
	var kinds []string
	counts := make(map[string]int)
	for _, d := range devices {
		var facts []string
		if d.MemoryTotal > 0 {
			facts = append(facts, bytesWords(d.MemoryTotal))
		}
		if d.Major > 0 {
			facts = append(facts, fmt.Sprintf("compute capability %d.%d", d.Major, d.Minor))
		}
		kind := d.Name
		if len(facts) > 0 {
			kind += " (" + strings.Join(facts, ", ") + ")"
		}
		if counts[kind] == 0 {
			kinds = append(kinds, kind)
		}
		counts[kind]++
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", counts[kind], kind)
	}
	return strings.Join(kinds, ", ")
}

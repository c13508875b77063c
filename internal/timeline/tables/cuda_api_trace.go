package tables

import (
	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var cudaAPITrace = Table{
	Name:   "cuda_api_trace",
	Title:  "Every CUDA and HIP API call, by start",
	Doc:    "One row for each call. Rows are ordered by start; of equal ones the longer comes first.",
	Origin: "nsys stats cuda_api_trace",
	Columns: []Column{
		{"Start", unit.Ns, "start of the call, since time 0 of the capture"},
		{"Duration", unit.Ns, "duration of the call"},
		callName,
		{"Result", unit.ID, "what it returned; 0: success"},
		{"CorrID", unit.ID, "correlation ID, which GPU work that it issued has, too"},
		{"Pid", unit.ID, "process"},
		{"Tid", unit.ID, "host thread"},
		{"T-Pri", unit.ID, "priority of the thread"},
		{"Thread Name", unit.Text, "name of the thread"},
	},
	Needs: model.PartCalls,
	Fill:  fillCUDAAPITrace,
}

func fillCUDAAPITrace(in []*facts.Facts, _ Args, out *Rows) error {
	t := in[0].Trace
	c := &t.Calls
	if c.StartNs == nil {
		return &MissingError{"cuda_api_trace", "CUDA or HIP API calls", tryCUDA}
	}
	for i, start := range c.StartNs {
		var result, corr, priority, thread Cell
		if i < len(c.Return) {
			result = Int(c.Return[i])
		}
		if id := at(c.Corr, i, model.NoCorr); id != model.NoCorr {
			corr = Int(id)
		}
		pid, tid := threadCells(t, c.Thread[i])
		if int(c.Thread[i]) < len(t.Threads) {
			th := &t.Threads[c.Thread[i]]
			if th.Name != "" {
				thread = Str(th.Name)
			}
			if th.Priority != model.NoPriority {
				priority = Int(th.Priority)
			}
		}
		out.Add(Int(start), Int(c.DurNs[i]), Str(apiName(t.Strings.Text(c.Name[i]))), result, corr, pid, tid, priority,
			thread)
	}
	return nil
}

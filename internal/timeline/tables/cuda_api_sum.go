package tables

import (
	"cmp"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var cudaAPISum = Table{
	Name:  "cuda_api_sum",
	Title: "CUDA and HIP API calls by name, most time first",
	Doc: `
One row for each runtime or driver function. Time is a share of the calls listed, not of wall time: it adds up
calls of all threads, and a runtime call contains the driver calls that it makes, if those are recorded.

Names are shown without the version of four digits that nsys appends (cudaLaunchKernel_v7000); functions that
differ in it only stay apart. Rows are ordered by Total Time, largest first, then by name.`,
	Origin:  "nsys stats cuda_api_sum",
	Columns: timeColumns("Num Calls", "calls", callName),
	Needs:   model.PartCalls,
	Fill:    fillCUDAAPISum,
}

var callName = Column{"Name", unit.Text, "name of the function, without version"}

// apiName is the name of a function as NVIDIA prints it: a version of four digits goes, a longer one stays.
func apiName(name string) string {
	if n := len(name) - len("_v7000"); n >= 0 && name[n:n+2] == "_v" {
		return name[:n]
	}
	return name
}

func fillCUDAAPISum(in []*facts.Facts, _ Args, out *Rows) error {
	t := in[0].Trace
	if t.Calls.StartNs == nil {
		return &MissingError{"cuda_api_sum", "CUDA or HIP API calls", tryCUDA}
	}
	fillByName(&t.Strings, t.Calls.Name, t.Calls.DurNs, apiName, out)
	return nil
}

// fillByName adds a row for each name, as print shows it.
func fillByName(texts *model.Strings, name []model.StringID, durNs []int64, print func(string) string, out *Rows) {
	sums := summarize(name, durNs, texts.Len())
	all := grandTotal(sums)
	for _, g := range byTotal(sums, func(a, b uint32) int {
		return cmp.Compare(texts.Text(model.StringID(a)), texts.Text(model.StringID(b)))
	}) {
		out.Add(sums[g].timeCells(all, Str(print(texts.Text(model.StringID(g)))))...)
	}
}

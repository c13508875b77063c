package writers

import (
	"encoding/json"
	"io"

	"lacuna/internal/report"
)

// ReportJSON writes a report by the JSON contract. Lists that are empty are [], never null.
func ReportJSON(w io.Writer, r *report.Report) error {
	full := *r
	notNil(&full.Inputs)
	full.Inputs = append([]report.Input{}, full.Inputs...)
	for i := range full.Inputs {
		notNil(&full.Inputs[i].GPUs)
	}
	notNil(&full.Steps.Startup)
	notNil(&full.Steps.EachMs)
	notNil(&full.PerDevice)
	notNil(&full.TopKernels)
	notNil(&full.TopOps)
	notNil(&full.TopCopies)
	notNil(&full.TopSyncs)
	notNil(&full.Gaps)
	notNil(&full.Findings)
	notNil(&full.Abstained)
	notNil(&full.Capture.Losses)
	notNil(&full.Capture.Warnings)
	if full.Budget.IdleByHost == nil {
		full.Budget.IdleByHost = map[string]float64{}
	}
	return JSON(w, full)
}

// ContentsJSON writes what captures hold: an object for one, a list for several.
func ContentsJSON(w io.Writer, list []*report.Contents) error {
	if len(list) == 1 {
		return JSON(w, list[0])
	}
	return JSON(w, list)
}

func notNil[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
	}
}

// JSON writes v with two blanks for each level and names as they are: no HTML escapes.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

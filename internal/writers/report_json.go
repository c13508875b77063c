package writers

import (
	"encoding/json"
	"io"

	"lacuna/internal/report"
)

// ReportJSON writes a report by the JSON contract.
func ReportJSON(w io.Writer, r *report.Report) error { return JSON(w, r) }

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

package writers

import (
	"encoding/json"
	"io"

	"lacuna/internal/answer/report"
)

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

package engine

import (
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/timeline/tables"
)

// FormatsOf is which formats can hold what a table needs, in words for people.
func FormatsOf(t *tables.Table) string { return reader.Having(readers.All, t.Needs&^t.Spares) }

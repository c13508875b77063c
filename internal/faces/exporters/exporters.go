// Package exporters is the shelf of forms that a capture is converted to: one file each, or a few that begin with its
// name.
package exporters

import (
	"io"

	"lacuna/internal/timeline/model"
)

// An Exporter converts captures to one form. Its document is part of it: help and docs/exporters are made from these
// fields.
type Exporter struct {
	Name  string // as it is typed after --to
	Title string // one line: what is made, and what reads it
	Doc   string // what a reader of it should know
	Write func(w io.Writer, t *model.Trace) error
}

// Find is the exporter of a name, nil if there is none.
func Find(name string) *Exporter {
	for _, e := range All {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// Names is the name of every exporter.
func Names() (out []string) {
	for _, e := range All {
		out = append(out, e.Name)
	}
	return out
}

package reader

import (
	"strings"

	"lacuna/internal/timeline/model"
)

// Parts is all that a file of the format may hold.
func (f *Format) Parts() (all model.Parts) {
	for _, x := range f.Fills {
		all |= x.Parts
	}
	return all
}

// Having is the formats with all of some parts, in words: who writes them, and with which options. Formats that any
// capture can be turned into are left out.
func Having(formats []*Format, parts model.Parts) string {
	var out []string
	for _, f := range formats {
		if f.Maker == "" || f.Fills == nil || !f.Parts().Has(parts) {
			continue
		}
		words := f.Maker
		if with := f.with(parts); len(with) > 0 {
			words += " with " + strings.Join(with, " and ")
		}
		out = append(out, words)
	}
	return strings.Join(out, "; ")
}

// with is the options that recording some parts takes.
func (f *Format) with(parts model.Parts) (out []string) {
	for _, x := range f.Fills {
		if x.Parts&parts != 0 && x.With != "" {
			out = append(out, x.With)
		}
	}
	return out
}

// Named is the format of a name, or nil.
func Named(formats []*Format, name string) *Format {
	for _, f := range formats {
		if f.Name == name {
			return f
		}
	}
	return nil
}

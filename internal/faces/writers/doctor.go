package writers

import (
	"io"
	"slices"

	"lacuna/internal/capture/doctor"
)

// DoctorJSON writes what was found of a machine by the JSON contract. Lists that are empty are [], never null.
func DoctorJSON(w io.Writer, r *doctor.Report) error {
	full := *r
	full.Verdicts, full.Checks = slices.Clone(r.Verdicts), slices.Clone(r.Checks)
	notNil(&full.Verdicts)
	notNil(&full.Checks)
	for i := range full.Verdicts {
		notNil(&full.Verdicts[i].Because)
	}
	for i := range full.Checks {
		c := &full.Checks[i]
		notNil(&c.Commands)
		notNil(&c.Stops)
		notNil(&c.Limits)
	}
	return JSON(w, full)
}

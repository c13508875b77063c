package engine

import (
	"context"
	"errors"
	"fmt"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/tables"
)

// A Request is a table and the words behind its name.
type Request struct {
	Table *tables.Table
	Args  tables.Args
}

// needs is the parts of a capture that answer the request.
func (r Request) needs() model.Parts {
	need := r.Table.Needs
	if r.Table.ArgsNeed != nil {
		need |= r.Table.ArgsNeed(r.Args)
	}
	return need
}

// groups is the inputs that each make one table.
func (r Request) groups(in []*facts.Facts) [][]*facts.Facts {
	if r.Table.ManyRanks {
		return [][]*facts.Facts{in}
	}
	var out [][]*facts.Facts
	for i := range in {
		out = append(out, in[i:i+1])
	}
	return out
}

// Tables answers requests in their order. What a capture lacks is reported in missing (tables.MissingError); other
// errors end it.
func (j *Job) Tables(ctx context.Context, asked []Request) (out []tables.Sheet, missing []error, err error) {
	var need model.Parts
	for _, r := range asked {
		need |= r.needs()
	}
	r, err := j.read(ctx, need, false)
	if err != nil {
		return nil, nil, err
	}
	in := r.in
	for _, r := range asked {
		for _, group := range r.groups(in) {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			path := facts.InputName(group[0], in)
			sheet := tables.Sheet{Table: r.Table, Rows: &tables.Rows{Columns: r.Table.Columns}}
			if len(group) < len(in) {
				sheet.Input = path
			}
			err := r.Table.Fill(group, r.Args, sheet.Rows)
			var absent *tables.MissingError
			switch {
			case errors.As(err, &absent):
				missing = append(missing, fmt.Errorf("%s: %w", path, err))
			case err != nil:
				return nil, nil, fmt.Errorf("%s: %w", path, err)
			default:
				out = append(out, sheet)
			}
		}
	}
	return out, missing, nil
}

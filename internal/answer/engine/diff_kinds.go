package engine

import (
	"fmt"

	"lacuna/internal/answer/report"
	"lacuna/internal/runs/compare"
	"lacuna/internal/timeline/facts"
)

// sameKind is the steps to compare where the two sides of a difference are on different kinds of steps of a serving
// engine: the kind and size that both have, of the kind that most of before is in if there is such, and of which before
// has most time. It is false that there is one, too,
// where the sides are of one kind already.
func sameKind(before, after []*compare.Capture) (kind facts.StepKind, bucket int64, ok bool) {
	b, a := headOf(before), headOf(after)
	if b == nil || a == nil || b.Kind == a.Kind && b.Bucket == a.Bucket {
		return "", 0, false
	}
	for _, of := range []string{b.Kind, a.Kind, ""} {
		most := 0.0
		for _, x := range b.Kinds {
			for _, y := range a.Kinds {
				if x.Kind == y.Kind && x.Bucket == y.Bucket && x.Kind != string(facts.KindIdle) &&
					(of == "" || x.Kind == of) && x.TotalMs > most {
					kind, bucket, most, ok = facts.StepKind(x.Kind), x.Bucket, x.TotalMs, true
				}
			}
		}
		if ok {
			break
		}
	}
	return kind, bucket, ok
}

// headOf is the steps that the first capture of a side is on; nil: no engine marks them.
func headOf(side []*compare.Capture) *report.Steps {
	if len(side) == 0 || side[0].Report == nil || side[0].Report.Serving == nil {
		return nil
	}
	return &side[0].Report.Steps
}

// kindNote says which steps were taken, and of which most of either side are.
func kindNote(before, after []*compare.Capture, kind facts.StepKind, bucket int64) string {
	b, a := headOf(before), headOf(after)
	return fmt.Sprintf("most time of before is in %s steps, of after in %s steps: compared are the %s steps, which both "+
		"have; --kind takes others", report.KindName(b.Kind, b.Bucket), report.KindName(a.Kind, a.Bucket),
		report.KindName(string(kind), bucket))
}

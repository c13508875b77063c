package diagnose

import (
	"errors"
	"fmt"

	"lacuna/internal/timeline/changes"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/replay"
	"lacuna/internal/timeline/rules"
)

// minMet is the share of collectives that must have been matched for ranks to be replayed together. Captures begin
// and end at different collectives: it is a share of those of the rank that has fewest.
const minMet = 0.8

// A jobCase is the captures of a job's ranks, to be judged and replayed together.
type jobCase struct {
	in    []*facts.Facts
	steps []*facts.Steps
	meet  *facts.Meetings
	apart string // why they cannot be laid side by side; "": they can
}

// newJob finds the steps and, of several, the common collectives of captures.
func newJob(in []*facts.Facts) (*jobCase, error) {
	j := &jobCase{in: in}
	for _, f := range in {
		steps, err := f.Steps()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", facts.InputName(f, in), err)
		}
		j.steps = append(j.steps, steps)
	}
	if j.several() {
		j.meet = facts.Meet(in)
		j.apart = j.whyApart()
	}
	return j, nil
}

// several says whether there is more than one rank.
func (j *jobCase) several() bool { return len(j.in) > 1 }

// whyApart says why the ranks cannot be laid side by side, or "".
func (j *jobCase) whyApart() string {
	m := j.meet
	if len(m.Parties) == 0 {
		return "no capture has collectives"
	}
	fewest := m.Ran[0]
	for _, n := range m.Ran {
		fewest = min(fewest, n)
	}
	for i := range j.in {
		switch {
		case i >= len(m.Parties) || m.Parties[i].In != i:
			return fmt.Sprintf("%s has collectives of no device or of several, not of one rank",
				j.name(min(i, len(j.in)-1)))
		case float64(m.Met[i]) < minMet*float64(fewest):
			return fmt.Sprintf("%d of the %d collectives of %s could be matched with those of the others", m.Met[i],
				m.Ran[i], j.name(i))
		}
	}
	if len(m.Parties) > len(j.in) {
		return fmt.Sprintf("%s has collectives of several devices, not of one rank", j.name(len(j.in)-1))
	}
	return ""
}

// pricer prepares the replay of the capture at place self, with the others if they can be laid side by side.
func (j *jobCase) pricer(self int) (*replay.Pricer, error) {
	own, err := program(j.in[self], j.steps[self])
	if err != nil || j.apart != "" || !j.several() {
		return replayed(own, err)
	}
	programs := make([]*replay.Program, len(j.in))
	for i, f := range j.in {
		if programs[i] = own; i == self {
			continue
		}
		if programs[i], err = program(f, j.steps[i]); err != nil {
			j.apart = facts.InputName(f, j.in) + " cannot be replayed: " + err.Error()
			return replayed(own, nil)
		}
	}
	if !replay.Join(programs, j.meet) {
		j.apart = "the captures cannot be replayed together"
	}
	return replayed(own, nil)
}

func replayed(p *replay.Program, err error) (*replay.Pricer, error) {
	if err != nil {
		return nil, err
	}
	return replay.NewPricer(p), nil
}

// rules is the capture at place self as the rules see it.
func (j *jobCase) rules(self int) *rules.Case {
	c := rules.NewCase(j.in[self], j.steps[self])
	if j.several() {
		c.Ranks = &rules.Ranks{Meetings: j.meet, Steps: j.steps, Self: self, Apart: j.whyApart()}
	}
	return c
}

// waits is how long each collective of the capture at place self waited for other ranks, by row of its Work; nil: it
// is not known.
func (j *jobCase) waits(self int) map[int32]int64 {
	if !j.several() || j.whyApart() != "" {
		return nil
	}
	out := make(map[int32]int64)
	for i := range j.meet.All {
		x := &j.meet.All[i]
		for party, row := range x.Rows {
			if row >= 0 && j.meet.Parties[party].In == self {
				out[row] = j.meet.WaitNs(x, party)
			}
		}
	}
	return out
}

// name is what the capture at a place is called.
func (j *jobCase) name(i int) string { return facts.InputName(j.in[i], j.in) }

// applyToRanks makes a change to a program and to all those that it is replayed with. It was made if it was made to
// one of them.
func applyToRanks(c *changes.Change, e *replay.Edit, arg string) (int, error) {
	if e.Ranks == nil || c.Together {
		return c.Apply(e, arg)
	}
	n, err := c.Apply(e, arg)
	if err != nil && !errors.Is(err, changes.ErrNoMatch) {
		return n, err
	}
	for _, other := range e.Ranks {
		if other == e {
			continue
		}
		more, otherErr := c.Apply(other, arg)
		if otherErr == nil {
			n, err = n+more, nil
		}
	}
	return n, err
}

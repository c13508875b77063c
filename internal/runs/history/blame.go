package history

import (
	"cmp"
	"context"
	"slices"
)

// A Blame says where measures of a series moved.
type Blame struct {
	Series   Series
	Measures int // that were looked at
	Runs     int
	Enough   bool // of at least one measure there are enough points to tell
	Moves    []Move
	Off      []Off
}

// A Move is what happened at one place: of all measures that moved there.
type Move struct {
	Drift    bool
	After    RunInfo // the last run that was surely before it
	Upto     RunInfo // the first run that was surely after it
	Best     RunInfo // the first run after it, most likely
	From     RunInfo // the run before Best
	Within   bool    // no commit lies between: the same code was run before and after, so it was not the code
	Measures []Moved // most first
}

// An Off is a point off the level that its neighbours keep.
type Off struct {
	Measure Measure
	Run     RunInfo
	Value   float64
	Last    bool // it is the last there is
}

// fewestPoints is below how many points nothing can be told.
const fewestPoints = 4

// Blame looks for where measures moved, among the last runs of a series; no glob is every measure.
func (s *Store) Blame(ctx context.Context, series Series, of []string, last int, effect float64) (*Blame, error) {
	runs, err := s.LastRuns(ctx, series, last)
	if err != nil {
		return nil, err
	}
	all, err := s.Measures(ctx, series.ID)
	if err != nil {
		return nil, err
	}
	b := &Blame{Series: series, Runs: len(runs.List)}
	for _, m := range chosen(all, of) {
		c, err := s.Moves(ctx, runs, m, effect)
		if err != nil {
			return nil, err
		}
		b.Measures++
		b.Enough = b.Enough || len(c.Points) >= fewestPoints
		b.add(runs, c)
	}
	b.gather(runs)
	return b, nil
}

// add adds what one measure did: each change a move of its own, at first.
func (b *Blame) add(runs *Runs, c *Course) {
	for _, x := range c.Moved {
		at := func(i int) RunInfo { return *runs.of(c.Points[min(max(i, 0), len(c.Points)-1)].Run) }
		m := Move{Drift: x.Drift, Measures: []Moved{x}}
		if x.Drift {
			m.After, m.Upto = at(x.first), at(x.last)
			m.From, m.Best = m.After, m.Upto
		} else {
			first, best, end := atCommits(runs, c.Points, x)
			m.After, m.From, m.Best, m.Upto = at(first-1), at(best-1), at(best), at(end)
			m.Within = m.After.Commit == m.Upto.Commit && m.After.Commit != ""
		}
		b.Moves = append(b.Moves, m)
	}
	for _, i := range c.Off {
		b.Off = append(b.Off, Off{c.Measure, *runs.of(c.Points[i].Run), c.Points[i].Median, i == len(c.Points)-1})
	}
	if n := len(c.Points) - 1; c.LastOff && !slices.Contains(c.Off, n) {
		b.Off = append(b.Off, Off{c.Measure, *runs.of(c.Points[n].Run), c.Points[n].Median, true})
	}
}

// atCommits narrows where the first point after a shift may be to points with which a commit begins: runs of one commit
// are runs of one program. If none may be, nothing is narrowed.
func atCommits(runs *Runs, points []Point, x Moved) (first, best, last int) {
	first, best, last = 0, -1, 0
	for i := max(1, x.first); i <= min(x.last, len(points)-1); i++ {
		if a, b := runs.of(points[i-1].Run).Commit, runs.of(points[i].Run).Commit; a == b && a != "" {
			continue
		}
		if best < 0 {
			first = i
		}
		if best < 0 || distance(i, x.index) < distance(best, x.index) {
			best = i
		}
		last = i
	}
	if best < 0 {
		return max(1, x.first), max(1, x.index), max(1, x.last)
	}
	return first, best, last
}

func distance(a, b int) int { return max(a-b, b-a) }

// gather makes one move of those of several measures whose places overlap with the surest one's best place.
func (b *Blame) gather(runs *Runs) {
	slices.SortStableFunc(b.Moves, func(x, y Move) int { return cmp.Compare(y.Measures[0].Score, x.Measures[0].Score) })
	var out []Move
	for _, m := range b.Moves {
		i := slices.IndexFunc(out, func(o Move) bool {
			at := runs.place(o.Best.ID)
			return o.Drift == m.Drift && o.Within == m.Within && !holds(o.Measures, m.Measures[0]) &&
				runs.place(m.After.ID) < at && at <= runs.place(m.Upto.ID)
		})
		if i < 0 {
			out = append(out, m)
			continue
		}
		out[i].Measures = append(out[i].Measures, m.Measures...)
	}
	for i := range out {
		slices.SortStableFunc(out[i].Measures, bySize)
	}
	slices.SortStableFunc(out, func(x, y Move) int {
		return cmp.Or(cmp.Compare(runs.place(y.Best.ID), runs.place(x.Best.ID)),
			cmp.Compare(x.Measures[0].Measure.Name, y.Measures[0].Measure.Name))
	})
	b.Moves = out
	slices.SortStableFunc(b.Off, func(x, y Off) int {
		return cmp.Or(cmp.Compare(runs.place(y.Run.ID), runs.place(x.Run.ID)),
			cmp.Compare(x.Measure.Name, y.Measure.Name))
	})
}

// holds says whether a measure is among those that moved.
func holds(moved []Moved, m Moved) bool {
	return slices.ContainsFunc(moved, func(x Moved) bool { return x.Measure == m.Measure })
}

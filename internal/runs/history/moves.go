package history

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"

	"lacuna/internal/base/changepoint"
	"lacuna/internal/base/stat"
	"lacuna/internal/runs/measure"
)

// A Course is how one measure of a series went.
type Course struct {
	Measure Measure
	Points  []Point // in the order in which they stand, without those of rejected runs
	Moved   []Moved
	Off     []int // points off the level that their neighbours keep
	LastOff bool  // so is the last, which the next run settles
}

// A Moved is one change of a measure.
type Moved struct {
	Measure      Measure
	Drift        bool
	Before       float64 // medians of the levels; of a drift, the fitted line at its ends
	After        float64
	Change       float64 // as a share of Before
	Low, High    float64 // 95 % interval of it
	Score        float64 // how sure it is, in standard deviations of a normal distribution
	Worse        bool    // by what is better for the measure; a change of one that should keep as it is is worse
	Acknowledged bool
	index        int // the first point after
	first, last  int // where that is with 95 % certainty; of a drift, its ends
}

// Moves finds the changes of a measure that are at least of an effect (a share of the level before) among its last
// points, at most last of them.
func (s *Store) Moves(ctx context.Context, runs *Runs, m Measure, effect float64) (*Course, error) {
	all, err := s.Points(ctx, runs.Series.ID, m.ID, len(runs.List))
	if err != nil {
		return nil, err
	}
	c := &Course{Measure: m}
	for _, p := range all {
		if r := runs.of(p.Run); r != nil && !r.Rejected {
			c.Points = append(c.Points, p)
		}
	}
	found := changepoint.Find(values(c.Points), changepoint.Options{MinEffect: effect})
	c.Off = found.Outliers
	c.LastOff = lastOff(c.Points, found)
	acknowledged := runs.acknowledged(m.Name)
	for i, x := range found.Changes {
		move := Moved{Measure: m, Drift: x.Kind == changepoint.Drift, Before: x.Before, After: x.After,
			Change: x.Relative(), Score: x.Score, index: x.Index, first: x.First, last: x.Last}
		move.Worse = worse(m.Better, x.After-x.Before)
		move.Low, move.High = move.Change, move.Change
		if !move.Drift {
			move.Low, move.High = interval(c.Points, found.Changes, i)
		}
		if k := runs.place(c.Points[min(x.Last, len(c.Points)-1)].Run); acknowledged >= 0 {
			move.Acknowledged = acknowledged >= runs.place(c.Points[x.First].Run) && (acknowledged >= k || !move.Drift)
		}
		c.Moved = append(c.Moved, move)
	}
	return c, nil
}

func values(points []Point) []float64 {
	out := make([]float64, len(points))
	for i, p := range points {
		out[i] = p.Median
	}
	return out
}

// worse says whether a measure that moved by diff is worse for it.
func worse(better measure.Better, diff float64) bool {
	switch better {
	case measure.Lower:
		return diff > 0
	case measure.Higher:
		return diff < 0
	}
	return diff != 0
}

// interval is the 95 % interval of a shift, each point of the levels beside it one sample.
func interval(points []Point, changes []changepoint.Change, i int) (low, high float64) {
	const most = 200 // points of a level: more do not narrow it worth the time
	start, at, end := 0, changes[i].Index, len(points)
	if i > 0 {
		start = max(changes[i-1].Index, changes[i-1].Last)
	}
	if i+1 < len(changes) {
		end = changes[i+1].First
	}
	start, end = min(max(start, at-most), at-1), max(min(end, at+most), at+1)
	side := func(p []Point) (out [][]float64) {
		for _, x := range p {
			out = append(out, []float64{x.Median})
		}
		return out
	}
	e := stat.Compare(stat.Question{Before: side(points[start:at]), After: side(points[at:end])})
	return e.Low, e.High
}

// lastOff says whether the last point lies off the level before it by more than five robust standard deviations, where
// no change was found for it.
func lastOff(points []Point, found changepoint.Result) bool {
	const far, fewest = 5, 4
	n := len(points) - 1
	start := 0
	for _, c := range found.Changes {
		start = max(start, c.Index)
	}
	start = max(start, n-100)
	if n-start < fewest {
		return false
	}
	sum, _ := summarise(values(points[start:n]))
	return math.Abs(points[n].Median-sum.median) > far*1.4826*max(sum.mad, 1e-9*math.Abs(sum.median))
}

// Runs is the last runs of a series, with what is asked of them.
type Runs struct {
	Series Series
	List   []RunInfo // in the order in which they stand
	byID   map[int64]int
	acks   []ack
}

// An ack says that what a measure was from a run on is what it should be.
type ack struct {
	measure string // a glob
	run     int64
}

// LastRuns is the last runs of a series, at most last of them; last 0: all.
func (s *Store) LastRuns(ctx context.Context, series Series, last int) (*Runs, error) {
	list, err := s.Runs(ctx, series.ID, last)
	if err != nil {
		return nil, err
	}
	r := &Runs{Series: series, List: list, byID: make(map[int64]int, len(list))}
	for i, x := range list {
		r.byID[x.ID] = i
	}
	err = s.each(ctx, func(rows *sql.Rows) error {
		var a ack
		err := rows.Scan(&a.measure, &a.run)
		r.acks = append(r.acks, a)
		return err
	}, `SELECT measure, run FROM acknowledged WHERE series = ? ORDER BY id`, series.ID)
	return r, err
}

// of is a run by its ID; nil: not among the last.
func (r *Runs) of(id int64) *RunInfo {
	if i, ok := r.byID[id]; ok {
		return &r.List[i]
	}
	return nil
}

// place is where a run stands among the last; -1: before them.
func (r *Runs) place(id int64) int {
	if i, ok := r.byID[id]; ok {
		return i
	}
	return -1
}

// acknowledged is the place of the last run from which on a measure is as it should be; -1: none is said.
func (r *Runs) acknowledged(name string) int {
	last := -1
	for _, a := range r.acks {
		if globs(a.measure, name) {
			last = max(last, r.place(a.run))
		}
	}
	return last
}

// bySize puts the surest and largest first; ties in the order of names.
func bySize(a, b Moved) int {
	return cmp.Or(cmp.Compare(math.Abs(b.Change), math.Abs(a.Change)), cmp.Compare(a.Measure.Name, b.Measure.Name),
		cmp.Compare(a.index, b.index))
}

// chosen is the measures that any of the globs matches, in their order; no glob is all.
func chosen(all []Measure, globsOf []string) (out []Measure) {
	for _, m := range all {
		if len(globsOf) == 0 || slices.ContainsFunc(globsOf, func(g string) bool { return globs(g, m.Name) }) {
			out = append(out, m)
		}
	}
	return out
}

// Courses is how the measures that globs choose went, over the last runs of a series.
func (s *Store) Courses(ctx context.Context, series Series, of []string, last int, effect float64) ([]*Course, *Runs,
	error) {
	runs, err := s.LastRuns(ctx, series, last)
	if err != nil {
		return nil, nil, err
	}
	all, err := s.Measures(ctx, series.ID)
	if err != nil {
		return nil, nil, err
	}
	var out []*Course
	for _, m := range chosen(all, of) {
		c, err := s.Moves(ctx, runs, m, effect)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, c)
	}
	return out, runs, nil
}

// Run is a run by its ID; nil: it is not among these.
func (r *Runs) Run(id int64) *RunInfo { return r.of(id) }

// Index is the first point after the change, and the ends of where that lies with 95 % certainty; of a drift, its ends.
func (m Moved) Index() (index, first, last int) { return m.index, m.first, m.last }

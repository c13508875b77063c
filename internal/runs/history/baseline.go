package history

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"lacuna/internal/runs/measure"
)

// A Level is the baseline of one measure: the points that a new run is held against.
type Level struct {
	Measure  Measure
	Points   []Point
	Median   float64
	MAD      float64
	Since    RunInfo // the first of them
	Upto     RunInfo // the last
	Held     *Moved  // the change for the worse that is not acknowledged, after which points do not count; nil: none
	HeldFrom RunInfo // where it begins
}

const (
	// Window is how many of the last accepted runs make a baseline unless said otherwise. Ten runs decide 2 %
	// where runs vary by 1 % (docs/gate.md); more reach further back in time than machines stay as they are.
	Window = 10
	// BaselineRuns is how many runs are searched for changes.
	BaselineRuns = 200
	// baselineEffect is the smallest change for the worse that ends a baseline.
	baselineEffect = 0.01
)

// Levels is the baseline of the chosen measures: the last points, at most window, of the level on which the measure is
// meant to be. That begins at the last change that was acknowledged or for the better, and ends before a
// change for the worse that nobody acknowledged: a regression does not become normal by staying.
func (s *Store) Levels(ctx context.Context, series Series, of []string, window int) ([]Level, error) {
	runs, err := s.LastRuns(ctx, series, BaselineRuns)
	if err != nil {
		return nil, err
	}
	all, err := s.Measures(ctx, series.ID)
	if err != nil {
		return nil, err
	}
	var out []Level
	for _, m := range chosen(all, of) {
		c, err := s.Moves(ctx, runs, m, baselineEffect)
		if err != nil {
			return nil, err
		}
		if l := levelOf(runs, c, window); len(l.Points) > 0 {
			out = append(out, l)
		}
	}
	return out, nil
}

func levelOf(runs *Runs, c *Course, window int) Level {
	l := Level{Measure: c.Measure}
	start, end := 0, len(c.Points)
	said := runs.acknowledged(c.Measure.Name)
	for i, p := range c.Points {
		if runs.place(p.Run) == said {
			start = i
		}
	}
	for i := range c.Moved {
		x := &c.Moved[i]
		from := x.index
		if x.Drift {
			from = x.last
		}
		if from <= start {
			continue
		}
		if x.Worse && !x.Acknowledged {
			end = x.first
			l.Held, l.HeldFrom = x, *runs.of(c.Points[x.index].Run)
			break
		}
		start = from
	}
	for i := start; i < end; i++ {
		if !slices.Contains(c.Off, i) {
			l.Points = append(l.Points, c.Points[i])
		}
	}
	l.Points = l.Points[max(0, len(l.Points)-window):]
	if len(l.Points) == 0 {
		return l
	}
	sum, _ := summarise(values(l.Points))
	l.Median, l.MAD = sum.median, sum.mad
	l.Since, l.Upto = *runs.of(l.Points[0].Run), *runs.of(l.Points[len(l.Points)-1].Run)
	return l
}

// Baseline is the accepted runs of a series to hold a new one against, each with those of its measures whose baseline
// it is part of, in the order in which they stand.
func (s *Store) Baseline(ctx context.Context, series Series, window int) ([]*measure.Run, error) {
	levels, err := s.Levels(ctx, series, nil, window)
	if err != nil {
		return nil, err
	}
	counts := make(map[int64]map[measureKey]bool)
	for _, l := range levels {
		for _, p := range l.Points {
			if counts[p.Run] == nil {
				counts[p.Run] = make(map[measureKey]bool)
			}
			counts[p.Run][measureKey{l.Measure.Name, l.Measure.Unit, l.Measure.Better}] = true
		}
	}
	runs, err := s.Runs(ctx, series.ID, BaselineRuns)
	if err != nil {
		return nil, err
	}
	var out []*measure.Run
	for _, r := range runs {
		if counts[r.ID] == nil {
			continue
		}
		m, err := s.Measured(ctx, r)
		if err != nil {
			return nil, err
		}
		m.Measures = slices.DeleteFunc(m.Measures, func(x measure.Measure) bool { return !counts[r.ID][bare(x)] })
		out = append(out, m)
	}
	return out, nil
}

// Acknowledge says that what the measures that a glob matches are from a run on is what they should be.
func (s *Store) Acknowledge(ctx context.Context, run RunInfo, glob, note string) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, s.bind(`INSERT INTO acknowledged (series, measure, run, note, said) VALUES (?, ?, ?, ?, ?)`),
			run.Series, clean(glob), run.ID, clean(note), time.Now().Unix())
		return err
	})
}

// Reject takes runs out of every series, or back in.
func (s *Store) Reject(ctx context.Context, runs []RunInfo, out bool) error {
	value := 0
	if out {
		value = 1
	}
	return s.change(ctx, func(tx *sql.Tx) error {
		for _, r := range runs {
			if _, err := tx.ExecContext(ctx, s.bind(`UPDATE run SET rejected = ? WHERE id = ?`), value,
				r.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// Prune removes runs with all that is kept of them. A run from which on a level was acknowledged stays.
func (s *Store) Prune(ctx context.Context, runs []RunInfo) (removed int, err error) {
	err = s.change(ctx, func(tx *sql.Tx) error {
		for _, r := range runs {
			var said int
			if err := tx.QueryRowContext(ctx, s.bind(`SELECT count(*) FROM acknowledged WHERE run = ?`),
				r.ID).Scan(&said); err != nil {
				return err
			}
			if said > 0 {
				continue
			}
			for _, query := range []string{
				`DELETE FROM point WHERE series = ? AND at = ? AND run = ? AND measure IN (SELECT measure FROM sample WHERE run = ?)`,
			} {
				if _, err := tx.ExecContext(ctx, s.bind(query), r.Series, r.At, r.ID, r.ID); err != nil {
					return err
				}
			}
			for _, query := range []string{`DELETE FROM sample WHERE run = ?`, `DELETE FROM run WHERE id = ?`} {
				if _, err := tx.ExecContext(ctx, s.bind(query), r.ID); err != nil {
					return err
				}
			}
			removed++
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM series WHERE NOT EXISTS (SELECT 1 FROM run r WHERE r.series = series.id)`)
		return err
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// Choose is the one series that a filter chooses. Of several, those whose program and machine are called so to the
// letter come first, then those of main or master if no branch is asked for, then those that no profiler watched if
// none is. If these are several still, the error names what tells them apart.
func (s *Store) Choose(ctx context.Context, f Filter) (Series, error) {
	all, err := s.Series(ctx, f)
	if err != nil {
		return Series{}, err
	}
	if len(all) == 0 {
		have, err := s.Series(ctx, Filter{})
		if err == nil && len(have) > 0 {
			err = fmt.Errorf("%s: no series has %s (there is %s); lacuna history list shows them all", s.Name, f,
				have[0])
		} else if err == nil {
			err = fmt.Errorf("%s: %w", s.Name, ErrNone)
		}
		return Series{}, err
	}
	prefer := func(like func(x Series) bool) {
		if some := slices.DeleteFunc(slices.Clone(all), func(x Series) bool { return !like(x) }); len(some) > 0 {
			all = some
		}
	}
	prefer(func(x Series) bool { return x.Program == f.Program })
	prefer(func(x Series) bool { return x.Machine == f.Machine })
	if f.Branch == "" {
		prefer(func(x Series) bool { return x.Branch == "main" || x.Branch == "master" })
		prefer(func(x Series) bool { return x.Branch == "main" })
	}
	if f.Tool == "" && len(all) > 1 && sameButTool(all) {
		prefer(func(x Series) bool { return x.Tool == "" })
	}
	if len(all) > 1 {
		return Series{}, fmt.Errorf("%s: matches %d series, such as %s and %s; choose one with --program, "+
			"--machine, --branch, --profiler", s.Name, len(all), all[0], all[1])
	}
	return all[0], nil
}

// sameButTool says whether series differ in nothing but the profiler.
func sameButTool(all []Series) bool {
	return !slices.ContainsFunc(all, func(x Series) bool {
		return x.Program != all[0].Program || x.Machine != all[0].Machine || x.Branch != all[0].Branch
	})
}

// String says what a series is of.
func (x Series) String() string {
	program, branch := x.Program, x.Branch
	if program == "" {
		program = "unnamed program"
	}
	if branch == "" {
		branch = "no branch"
	}
	tool := ""
	if x.Tool != "" {
		tool = ", under " + x.Tool
	}
	return fmt.Sprintf("%s on %s (%s%s)", program, x.Machine, branch, tool)
}

// String says what a filter asks for.
func (f Filter) String() string {
	text := ""
	for _, x := range []struct{ name, value string }{{"program", f.Program}, {"machine", f.Machine},
		{"branch", f.Branch}, {"profiler", f.Tool}} {
		if x.value != "" {
			if text != "" {
				text += ", "
			}
			text += x.name + " " + x.value
		}
	}
	if text == "" {
		return "any"
	}
	return text
}

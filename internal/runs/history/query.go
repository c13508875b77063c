package history

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"lacuna/internal/runs/measure"
)

// A Series is runs that may be compared: of one program, on one kind of machine, on one branch, under one profiler.
type Series struct {
	ID                             int64
	Program, Machine, Branch, Tool string
	Runs                           int
	Last                           int64 // where its last run stands, seconds since 1970
}

// A Filter chooses series. Program and Machine are globs or words that occur, Branch is a glob, Tool is a profiler's
// name or NoTool; "" is any.
type Filter struct{ Program, Machine, Branch, Tool string }

// NoTool is the Tool of runs that no profiler watched.
const NoTool = "none"

// Series is those that a filter chooses, the one with the latest run first.
func (s *Store) Series(ctx context.Context, f Filter) (out []Series, err error) {
	err = s.each(ctx, func(rows *sql.Rows) error {
		var x Series
		if err := rows.Scan(&x.ID, &x.Program, &x.Machine, &x.Branch, &x.Tool, &x.Runs, &x.Last); err != nil {
			return err
		}
		if matches(f.Program, x.Program) && matches(f.Machine, x.Machine) &&
			(f.Branch == "" || globs(f.Branch, x.Branch)) &&
			(f.Tool == "" || f.Tool == x.Tool || f.Tool == NoTool && x.Tool == "") {
			out = append(out, x)
		}
		return nil
	}, `SELECT s.id, s.program, s.machine, s.branch, s.tool, count(r.id), coalesce(max(r.at), 0)
		FROM series s JOIN run r ON r.series = s.id GROUP BY s.id, s.program, s.machine, s.branch, s.tool ORDER BY max(r.at) DESC, s.id`)
	return out, err
}

// matches says whether a glob is the whole of a text or a word is part of it.
func matches(pattern, text string) bool {
	return pattern == "" || globs(pattern, text) || strings.Contains(strings.ToLower(text), strings.ToLower(pattern))
}

// globs says whether a glob is the whole of a text. A * spans everything, also a slash.
func globs(pattern, text string) bool {
	ok, _ := path.Match(strings.ReplaceAll(pattern, "/", "\x01"), strings.ReplaceAll(text, "/", "\x01"))
	return ok || pattern == text
}

// A RunInfo is a run as it is kept.
type RunInfo struct {
	ID       int64
	Key      string // 16 hexadecimal digits; the first few are enough
	Series   int64
	At       int64 // where it stands, seconds since 1970
	Added    int64
	Commit   string
	Name     string
	Profile  string
	Rejected bool
}

const runColumns = `id, key, series, at, added, commit_id, name, profile, rejected`

func scanRun(rows *sql.Rows) (x RunInfo, err error) {
	var rejected int64
	err = rows.Scan(&x.ID, &x.Key, &x.Series, &x.At, &x.Added, &x.Commit, &x.Name, &x.Profile, &rejected)
	x.Rejected = rejected != 0
	return x, err
}

// Runs is the last runs of a series, at most last of them, in the order in which they stand; last 0: all.
func (s *Store) Runs(ctx context.Context, series int64, last int) (out []RunInfo, err error) {
	err = s.each(ctx, func(rows *sql.Rows) error {
		x, err := scanRun(rows)
		out = append(out, x)
		return err
	}, `SELECT `+runColumns+` FROM run WHERE series = ? ORDER BY at DESC, id DESC`+limit(last), series)
	slices.Reverse(out)
	return out, err
}

func limit(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" LIMIT %d", n)
}

// Find is the one run whose key begins with word, or the runs of the commit that does; both take at least four
// characters.
func (s *Store) Find(ctx context.Context, word string) ([]RunInfo, error) {
	const fewest, most = 4, 1000
	if len(word) < fewest || strings.Trim(word, "0123456789abcdefABCDEF") != "" && len(word) > 64 {
		return nil, fmt.Errorf("%s: want the first %d or more characters of a run or of a commit", word, fewest)
	}
	for _, column := range []string{"key", "commit_id"} {
		var out []RunInfo
		err := s.each(ctx, func(rows *sql.Rows) error {
			x, err := scanRun(rows)
			out = append(out, x)
			return err
		}, `SELECT `+runColumns+` FROM run WHERE `+column+` >= ? AND `+column+` < ? ORDER BY at, id`+limit(most), word,
			word+"\x7f")
		if err != nil {
			return nil, err
		}
		if column == "key" && len(out) > 1 {
			return nil, fmt.Errorf("%s: %d runs begin with it (%s, %s, ...); give more characters", word, len(out),
				out[0].Key, out[1].Key)
		}
		if len(out) > 0 {
			return out, nil
		}
	}
	return nil, fmt.Errorf("%s: no run or commit of %s begins with it; lacuna history list shows them", word, s.Name)
}

// A Measure of a series.
type Measure struct {
	ID         int64
	Name, Unit string
	Better     measure.Better
}

// Measures is every measure of a series, in the order of their names.
func (s *Store) Measures(ctx context.Context, series int64) (out []Measure, err error) {
	err = s.each(ctx, func(rows *sql.Rows) error {
		var x Measure
		err := rows.Scan(&x.ID, &x.Name, &x.Unit, &x.Better)
		out = append(out, x)
		return err
	}, `SELECT m.id, m.name, m.unit, m.better FROM measure m
		WHERE EXISTS (SELECT 1 FROM point p WHERE p.series = ? AND p.measure = m.id) ORDER BY m.name, m.unit, m.better`, series)
	return out, err
}

// A Point is one run's summary of one measure.
type Point struct {
	Run                   int64
	At                    int64
	N                     int // samples
	Median, P10, P90, MAD float64
}

// Points is the last points of a measure, at most last of them, in the order in which they stand; last 0: all.
func (s *Store) Points(ctx context.Context, series, of int64, last int) (out []Point, err error) {
	err = s.each(ctx, func(rows *sql.Rows) error {
		var x Point
		err := rows.Scan(&x.Run, &x.At, &x.N, &x.Median, &x.P10, &x.P90, &x.MAD)
		out = append(out, x)
		return err
	}, `SELECT run, at, n, median, p10, p90, mad FROM point WHERE series = ? AND measure = ? ORDER BY at DESC, run DESC`+limit(last), series, of)
	slices.Reverse(out)
	return out, err
}

// A Kept is one measure of one run as it is kept.
type Kept struct {
	Measure
	Point
}

// Kept is what is kept of a run, in the order of the measures' names.
func (s *Store) Kept(ctx context.Context, run RunInfo) (out []Kept, err error) {
	err = s.each(ctx, func(rows *sql.Rows) error {
		x := Kept{Point: Point{Run: run.ID, At: run.At}}
		err := rows.Scan(&x.ID, &x.Name, &x.Unit, &x.Better, &x.N, &x.Median, &x.P10, &x.P90, &x.MAD)
		out = append(out, x)
		return err
	}, `SELECT m.id, m.name, m.unit, m.better, p.n, p.median, p.p10, p.p90, p.mad FROM point p JOIN measure m ON m.id = p.measure
		WHERE p.series = ? AND p.at = ? AND p.run = ? AND p.measure IN (SELECT measure FROM sample WHERE run = ?) ORDER BY m.name, m.unit, m.better`,
		run.Series, run.At, run.ID, run.ID)
	return out, err
}

// Measured is a run as it was measured, with the samples that are kept.
func (s *Store) Measured(ctx context.Context, run RunInfo) (*measure.Run, error) {
	out := &measure.Run{Name: run.Name, Profile: run.Profile}
	var text string
	err := s.db.QueryRowContext(ctx, s.bind(`SELECT r.started, r.details, s.program, s.tool FROM run r JOIN series s ON s.id = r.series WHERE r.id = ?`), run.ID).
		Scan(&out.Started, &text, &out.Program, &out.Tool)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%s: run %s: is gone", s.Name, run.Key)
	} else if err != nil {
		return nil, s.wrap(err)
	}
	var more details
	if err := json.Unmarshal([]byte(text), &more); err != nil {
		return nil, fmt.Errorf("%s: run %s: its details are damaged: %w", s.Name, run.Key, err)
	}
	out.Machine, out.Conditions, out.Labels = more.Machine, more.Conditions, more.Labels
	if run.Commit != "" && !slices.ContainsFunc(out.Labels, func(p measure.Pair) bool { return p.Name == "commit" }) {
		out.Labels = append(out.Labels, measure.Pair{Name: "commit", Value: run.Commit})
	}
	err = s.each(ctx, func(rows *sql.Rows) error {
		var m measure.Measure
		var data []byte
		if err := rows.Scan(&m.Name, &m.Unit, &m.Better, &data); err != nil {
			return err
		}
		if m.Samples = unpack(data); len(m.Samples) > 0 {
			out.Measures = append(out.Measures, m)
		}
		return nil
	}, `SELECT m.name, m.unit, m.better, s.data FROM sample s JOIN measure m ON m.id = s.measure WHERE s.run = ?`,
		run.ID)
	out.Sort()
	return out, err
}

// A LatestRun is a run with its series.
type LatestRun struct {
	RunInfo
	Of Series
}

// Latest is the last runs of all these series, the latest first, at most n.
func (s *Store) Latest(ctx context.Context, of []Series, n int) (out []LatestRun, err error) {
	for _, x := range of {
		runs, err := s.Runs(ctx, x.ID, n)
		if err != nil {
			return nil, err
		}
		for _, r := range slices.Backward(runs) {
			out = append(out, LatestRun{r, x})
		}
	}
	slices.SortStableFunc(out, func(a, b LatestRun) int {
		return cmp.Or(cmp.Compare(b.At, a.At),
			cmp.Compare(b.ID, a.ID))
	})
	return out[:min(n, len(out))], nil
}

// Only is the measures that any of the globs matches; no glob is all.
func Only(all []measure.Measure, patterns []string) []measure.Measure {
	if len(patterns) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(m measure.Measure) bool {
		return !slices.ContainsFunc(patterns, func(g string) bool { return globs(g, m.Name) })
	})
}

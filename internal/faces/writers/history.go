package writers

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
	"lacuna/internal/runs/history"
)

// A blamePlace is a run in JSON.
type blamePlace struct {
	Run    string `json:"run"`
	Commit string `json:"commit,omitempty"`
	At     int64  `json:"at"`
}

func placeOf(r history.RunInfo) blamePlace { return blamePlace{r.Key, r.Commit, r.At} }

// BlameJSON is where measures moved, for programs. Changes and intervals are in percent.
func BlameJSON(w io.Writer, b *history.Blame) error {
	type moved struct {
		Measure      string  `json:"measure"`
		Unit         string  `json:"unit"`
		Before       float64 `json:"before"`
		After        float64 `json:"after"`
		ChangePct    float64 `json:"change_pct"`
		LowPct       float64 `json:"low_pct"`
		HighPct      float64 `json:"high_pct"`
		Worse        bool    `json:"worse"`
		Acknowledged bool    `json:"acknowledged"`
	}
	type move struct {
		Kind     string     `json:"kind"`
		After    blamePlace `json:"after"`
		From     blamePlace `json:"from"`
		Best     blamePlace `json:"best"`
		Upto     blamePlace `json:"upto"`
		Within   bool       `json:"within_one_commit"`
		Measures []moved    `json:"measures"`
	}
	type off struct {
		Measure string     `json:"measure"`
		Unit    string     `json:"unit"`
		Value   float64    `json:"value"`
		Run     blamePlace `json:"run"`
		Last    bool       `json:"last"`
	}
	out := struct {
		Schema   int    `json:"schema"`
		Program  string `json:"program"`
		Machine  string `json:"machine"`
		Branch   string `json:"branch"`
		Profiler string `json:"profiler"`
		Measures int    `json:"measures"`
		Runs     int    `json:"runs"`
		Verdict  string `json:"verdict"`
		Moves    []move `json:"moves"`
		Off      []off  `json:"off"`
	}{1, b.Series.Program, b.Series.Machine, b.Series.Branch, b.Series.Tool, b.Measures, b.Runs, "nothing_moved",
		[]move{}, []off{}}
	switch {
	case len(b.Moves) > 0:
		out.Verdict = "moved"
	case !b.Enough:
		out.Verdict = "too_few_runs"
	}
	for _, m := range b.Moves {
		x := move{pages.MoveKind(m.Drift), placeOf(m.After), placeOf(m.From), placeOf(m.Best), placeOf(m.Upto),
			m.Within, nil}
		for _, y := range m.Measures {
			x.Measures = append(x.Measures, moved{y.Measure.Name, y.Measure.Unit, y.Before, y.After,
				finite(100 * y.Change), finite(100 * y.Low), finite(100 * y.High), y.Worse, y.Acknowledged})
		}
		out.Moves = append(out.Moves, x)
	}
	for _, o := range b.Off {
		out.Off = append(out.Off, off{o.Measure.Name, o.Measure.Unit, o.Value, placeOf(o.Run), o.Last})
	}
	return JSON(w, out)
}

// finite keeps JSON writable where a level before was 0: the largest number stands for no bound.
func finite(x float64) float64 { return min(max(x, -1e300), 1e300) }

// BlameCSV is a row for each measure of each move, and for each single run that is off.
func BlameCSV(w io.Writer, b *history.Blame) error {
	out := csv.NewWriter(w)
	out.Write([]string{"kind", "measure", "unit", "after_commit", "from_commit", "at_commit", "upto_commit", "at_run",
		"before", "after", "change_pct", "low_pct", "high_pct", "worse", "acknowledged"})
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }
	for _, m := range b.Moves {
		for _, y := range m.Measures {
			out.Write([]string{pages.MoveKind(m.Drift), page.Printable(y.Measure.Name), page.Printable(y.Measure.Unit),
				page.Printable(m.After.Commit), page.Printable(m.From.Commit), page.Printable(m.Best.Commit),
				page.Printable(m.Upto.Commit), m.Best.Key,
				number(y.Before), number(y.After), number(100 * y.Change), number(100 * y.Low), number(100 * y.High),
				strconv.FormatBool(y.Worse), strconv.FormatBool(y.Acknowledged)})
		}
	}
	for _, o := range b.Off {
		out.Write([]string{"off", page.Printable(o.Measure.Name), page.Printable(o.Measure.Unit), "", "",
			page.Printable(o.Run.Commit), "", o.Run.Key, "", number(o.Value), "", "", "", "", ""})
	}
	out.Flush()
	return out.Error()
}

// HistoryCSV writes the points of measures, a row each.
func HistoryCSV(w io.Writer, runs *history.Runs, courses []*history.Course) error {
	out := csv.NewWriter(w)
	out.Write([]string{"measure", "unit", "at", "commit", "run", "samples", "median", "p10", "p90", "mad"})
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for _, c := range courses {
		for _, p := range c.Points {
			r := runs.Run(p.Run)
			out.Write([]string{page.Printable(c.Measure.Name), page.Printable(c.Measure.Unit),
				time.Unix(p.At, 0).UTC().Format(time.RFC3339), page.Printable(r.Commit), r.Key, strconv.Itoa(p.N),
				number(p.Median), number(p.P10), number(p.P90), number(p.MAD)})
		}
	}
	out.Flush()
	return out.Error()
}

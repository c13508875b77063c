package writers

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"lacuna/internal/history"
	"lacuna/internal/unit"
)

// blameRows is how many measures of one move text shows.
const blameRows = 8

// BlameText says where measures moved.
func BlameText(w io.Writer, b *history.Blame, page Page) error {
	p := &printer{Page: page, w: w}
	p.prose("", 0, blameHead(b, p.clean))
	for i := range b.Moves {
		m := &b.Moves[i]
		p.heading(moveWords(m))
		rows := make([][]string, 0, len(m.Measures))
		for k := range m.Measures[:min(blameRows, len(m.Measures))] {
			rows = append(rows, movedCells(&m.Measures[k], p.clean))
		}
		p.grid([]gridColumn{{head: "measure", flex: true}, {head: "before", right: true}, {head: "after", right: true}, {head: "unit"},
			{head: "change %", right: true}, {head: "95 %", right: true, drop: 1}, {head: ""}}, rows)
		if more := len(m.Measures) - blameRows; more > 0 {
			p.prose("  ", 2, fmt.Sprintf("and %d more measures moved with them; --format csv has all", more))
		}
		for _, text := range moveNotes(m) {
			p.prose("  ", 2, p.clean(text))
		}
	}
	if len(b.Off) > 0 {
		p.heading("Single runs that are off")
		p.offs(b)
	}
	return p.err
}

func (p *printer) offs(b *history.Blame) {
	const most = 10
	for i, o := range b.Off {
		if i == most {
			p.prose("  ", 2, fmt.Sprintf("and %d more", len(b.Off)-most))
			return
		}
		p.prose("  ", 4, p.clean(offWords(o)))
	}
}

// blameHead is what was looked at, and what came of it.
func blameHead(b *history.Blame, clean func(string) string) string {
	text := fmt.Sprintf("%s: %s of %s.", clean(b.Series.String()), unit.Counted(b.Measures, "measure", "measures"), unit.Counted(b.Runs, "run", "runs"))
	switch {
	case len(b.Moves) > 0:
	case !b.Enough:
		text += " Too few runs to tell: four of a measure are the least."
	default:
		text += " Nothing moved."
	}
	return text
}

// moveWords is where and what a move is.
func moveWords(m *history.Move) string {
	what := "shift"
	if m.Drift {
		return "Drift from " + commitWords(m.After) + " to " + commitWords(m.Upto)
	}
	if m.Measures[0].Acknowledged {
		what = "acknowledged shift"
	}
	at := strings.ToUpper(what[:1]) + what[1:] + " at " + commitWords(m.Best) + " (" + when(m.Best.At) + ")"
	if m.Within {
		return at + ", between runs of one commit"
	}
	return at
}

// moveNotes says how sure the place is.
func moveNotes(m *history.Move) (out []string) {
	switch {
	case m.Drift:
		out = append(out, "it went that way a little at a time: no single commit did it")
	case m.Within:
		out = append(out, "the same code ran before and after: look at the machine (clocks, driver, neighbours), not at the code")
	case m.From.Commit != "" && m.After.Commit == m.From.Commit && m.Upto.Commit == m.Best.Commit:
		out = append(out, "git log "+shortCommit(m.From.Commit)+".."+shortCommit(m.Best.Commit))
	case m.After.Commit != "" && m.Upto.Commit != "":
		out = append(out, "with 95 % certainty it is in git log "+shortCommit(m.After.Commit)+".."+shortCommit(m.Upto.Commit))
	default:
		out = append(out, "after run "+m.After.Key[:8]+", at the latest at run "+m.Upto.Key[:8])
	}
	return out
}

func movedCells(x *history.Moved, clean func(string) string) []string {
	interval := ""
	if !x.Drift {
		interval = unit.Signed(100*x.Low) + " to " + unit.Signed(100*x.High)
	}
	word := "better"
	if x.Worse {
		word = "worse"
	}
	return []string{clean(x.Measure.Name), unit.About(x.Before), unit.About(x.After), clean(x.Measure.Unit), unit.Signed(100 * x.Change), interval, word}
}

func offWords(o history.Off) string {
	text := fmt.Sprintf("%s: %s %s at %s (run %s)", o.Measure.Name, unit.About(o.Value), o.Measure.Unit, commitWords(o.Run), o.Run.Key[:8])
	if o.Last {
		text += "; it is the last: one more run says whether it is a change"
	}
	return text
}

// BlameMarkdown is the same for a pull request or an issue.
func BlameMarkdown(w io.Writer, b *history.Blame) error {
	m := &markdown{printer{Page: Page{Width: 1 << 20}, w: w}}
	m.line(blameHead(b, m.text))
	for i := range b.Moves {
		x := &b.Moves[i]
		m.line("")
		m.line("### " + m.text(moveWords(x)))
		m.line("")
		var rows [][]string
		for k := range x.Measures {
			rows = append(rows, movedCells(&x.Measures[k], m.text))
		}
		m.table([]string{"measure", "before", "after", "unit", "change %", "95 %", ""}, "lrrlrrl", rows)
		m.line("")
		for _, text := range moveNotes(x) {
			m.line(m.text(text))
		}
	}
	if len(b.Off) > 0 {
		m.line("")
		m.line("### Single runs that are off")
		m.line("")
		for _, o := range b.Off {
			m.line("- " + m.text(offWords(o)))
		}
	}
	return m.err
}

// A blamePlace is a run in JSON.
type blamePlace struct {
	Run    string `json:"run"`
	Commit string `json:"commit,omitempty"`
	At     int64  `json:"at"`
}

func placeOf(r history.RunInfo) blamePlace { return blamePlace{r.Key, r.Commit, r.At} }

// BlameJSON is the same for programs. Changes and intervals are in percent.
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
	}{1, b.Series.Program, b.Series.Machine, b.Series.Branch, b.Series.Tool, b.Measures, b.Runs, "nothing_moved", []move{}, []off{}}
	switch {
	case len(b.Moves) > 0:
		out.Verdict = "moved"
	case !b.Enough:
		out.Verdict = "too_few_runs"
	}
	for _, m := range b.Moves {
		x := move{kindWord(m.Drift), placeOf(m.After), placeOf(m.From), placeOf(m.Best), placeOf(m.Upto), m.Within, nil}
		for _, y := range m.Measures {
			x.Measures = append(x.Measures, moved{y.Measure.Name, y.Measure.Unit, y.Before, y.After, finite(100 * y.Change), finite(100 * y.Low), finite(100 * y.High), y.Worse, y.Acknowledged})
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

func kindWord(drift bool) string {
	if drift {
		return "drift"
	}
	return "shift"
}

// BlameCSV is a row for each measure of each move, and for each single run that is off.
func BlameCSV(w io.Writer, b *history.Blame) error {
	out := csv.NewWriter(w)
	out.Write([]string{"kind", "measure", "unit", "after_commit", "from_commit", "at_commit", "upto_commit", "at_run", "before", "after", "change_pct", "low_pct", "high_pct", "worse", "acknowledged"})
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }
	for _, m := range b.Moves {
		for _, y := range m.Measures {
			out.Write([]string{kindWord(m.Drift), Printable(y.Measure.Name), Printable(y.Measure.Unit), Printable(m.After.Commit), Printable(m.From.Commit), Printable(m.Best.Commit), Printable(m.Upto.Commit), m.Best.Key,
				number(y.Before), number(y.After), number(100 * y.Change), number(100 * y.Low), number(100 * y.High), strconv.FormatBool(y.Worse), strconv.FormatBool(y.Acknowledged)})
		}
	}
	for _, o := range b.Off {
		out.Write([]string{"off", Printable(o.Measure.Name), Printable(o.Measure.Unit), "", "", Printable(o.Run.Commit), "", o.Run.Key, "", number(o.Value), "", "", "", "", ""})
	}
	out.Flush()
	return out.Error()
}

package pages

import (
	"fmt"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/runs/history"
)

// What of a blame is shown; CSV and JSON have all.
const (
	blameRows = 8  // measures of one move
	blameOff  = 10 // single runs that are off
)

// Blame says where measures moved.
func Blame(b *history.Blame) *page.Page {
	p := &page.Page{Title: page.T("Where measures moved")}
	p.Add(page.Prose{Text: blameWords(b)})
	for i := range b.Moves {
		p.Add(page.Section{Title: moveWords(&b.Moves[i]), Level: 1, Blocks: moved(&b.Moves[i])})
	}
	if len(b.Off) > 0 {
		p.Add(page.Section{Title: page.T("Outliers"), Level: 1, Blocks: offs(b.Off)})
	}
	return p
}

// moved is the measures of a move, and how sure its place is.
func moved(m *history.Move) []page.Block {
	var rows [][]page.Text
	for k := range m.Measures[:min(blameRows, len(m.Measures))] {
		rows = append(rows, movedCells(&m.Measures[k]))
	}
	out := []page.Block{page.Table{Rows: rows, Columns: []page.Column{{Head: "measure", Flex: true},
		{Head: "before", Right: true}, {Head: "after", Right: true},
		{Head: "unit"}, {Head: "change %", Right: true}, {Head: "95 %", Right: true, Drop: 1}, {Head: ""}}}}
	if more := len(m.Measures) - blameRows; more > 0 {
		out = append(out, page.Prose{Indent: 2,
			Text: page.Sayf("and %d more measures moved with them; --format csv has all", more)})
	}
	return append(out, page.Prose{Indent: 2, Text: moveNote(m)})
}

func offs(list []history.Off) (out []page.Block) {
	for i, o := range list {
		if i == blameOff {
			return append(out, page.Prose{Indent: 2, Text: page.Sayf("and %d more", len(list)-blameOff)})
		}
		out = append(out, page.Prose{Indent: 2, Hang: 2, Text: offWords(o)})
	}
	return out
}

// blameWords is what was looked at, and what came of it.
func blameWords(b *history.Blame) page.Text {
	text := page.Sayf("%s: %s of %s.", page.Of(page.Word, b.Series.String()),
		unit.Counted(b.Measures, "measure", "measures"), unit.Counted(b.Runs, "run", "runs"))
	switch {
	case len(b.Moves) > 0:
	case !b.Enough:
		text = page.Join(text, page.T(" Too few runs: a measure needs at least four."))
	default:
		text = page.Join(text, page.T(" Nothing moved."))
	}
	return text
}

// moveWords is where and what a move is.
func moveWords(m *history.Move) page.Text {
	what := "Shift"
	if m.Drift {
		return page.T("Drift from " + commitWords(m.After) + " to " + commitWords(m.Upto))
	}
	if m.Measures[0].Acknowledged {
		what = "Acknowledged shift"
	}
	at := what + " at " + commitWords(m.Best) + " (" + when(m.Best.At) + ")"
	if m.Within {
		at += ", between runs of one commit"
	}
	return page.T(at)
}

// moveNote says how sure the place is.
func moveNote(m *history.Move) page.Text {
	log := func(from, to string) page.Text {
		return page.Of(page.Word, "git log "+shortCommit(from)+".."+shortCommit(to))
	}
	switch {
	case m.Drift:
		return page.T("it moved gradually: no single commit did it")
	case m.Within:
		return page.T("the same code ran before and after: look at the machine (clocks, driver, neighbours), not " +
			"at the code")
	case m.From.Commit != "" && m.After.Commit == m.From.Commit && m.Upto.Commit == m.Best.Commit:
		return log(m.From.Commit, m.Best.Commit)
	case m.After.Commit != "" && m.Upto.Commit != "":
		return page.Sayf("with 95 %% certainty it is in %s", log(m.After.Commit, m.Upto.Commit))
	}
	return page.T("after run " + m.After.Key[:8] + ", at the latest at run " + m.Upto.Key[:8])
}

func movedCells(x *history.Moved) []page.Text {
	interval := ""
	if !x.Drift {
		interval = unit.Signed(100*x.Low) + " to " + unit.Signed(100*x.High)
	}
	return append([]page.Text{page.Named(x.Measure.Name)},
		page.Row(unit.About(x.Before), unit.About(x.After), x.Measure.Unit, unit.Signed(100*x.Change), interval,
			betterWord(x))...)
}

func betterWord(x *history.Moved) string {
	if x.Worse {
		return "worse"
	}
	return "better"
}

func offWords(o history.Off) page.Text {
	text := page.Sayf("%s: %s at %s (run %s)", page.Of(page.Word, o.Measure.Name),
		page.Num(unit.About(o.Value)+" "+o.Measure.Unit), commitWords(o.Run), o.Run.Key[:8])
	if o.Last {
		text = page.Join(text, page.T("; it is the last run: one more shows whether it is a change"))
	}
	return text
}

// MoveKind is what a move is called in every form.
func MoveKind(drift bool) string {
	if drift {
		return "drift"
	}
	return "shift"
}

// courseMove is a change in a line, numbered as in the plot.
func courseMove(runs *history.Runs, c *history.Course, x *history.Moved, i int) page.Text {
	index, first, last := x.Index()
	at := "at " + commitWords(*runs.Run(c.Points[index].Run))
	if x.Drift {
		at = "from " + commitWords(*runs.Run(c.Points[first].Run)) + " to " + commitWords(*runs.Run(c.Points[last].Run))
	}
	return page.Sayf("%s: %s %s, %s (%s), %s", moveMark(i), MoveKind(x.Drift), at,
		page.Num(fmt.Sprintf("%s to %s %s", unit.About(x.Before), unit.About(x.After), c.Measure.Unit)),
		page.Num(unit.Signed(100*x.Change)+" %"), betterWord(x))
}

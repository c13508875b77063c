package pages

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"lacuna/internal/base/unit"
	"lacuna/internal/runs/history"
	"lacuna/internal/runs/measure"
	"lacuna/internal/timeline/tables"
)

// when is a time for people and programs, in UTC.
func when(unix int64) string { return time.Unix(unix, 0).UTC().Format("2006-01-02 15:04") }

// digits6 is a number with six significant digits, since what differs beyond them is noise; a whole one as it is.
func digits6(x float64) tables.Cell {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return tables.Float(x)
	}
	v, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	return tables.Float(v)
}

// shortCommit is as much of a commit as people read.
func shortCommit(s string) string { return s[:min(12, len(s))] }

func historySheet(name, title string, columns ...tables.Column) tables.Sheet {
	return tables.Sheet{Table: &tables.Table{Name: name, Title: title, Columns: columns},
		Rows: &tables.Rows{Columns: columns}}
}

// HistorySeries is the series of a history.
func HistorySeries(list []history.Series) tables.Sheet {
	s := historySheet("series", "runs that are compared with each other",
		tables.Column{Name: "Program", Unit: unit.Text}, tables.Column{Name: "Machine", Unit: unit.Text},
		tables.Column{Name: "Branch", Unit: unit.Text},
		tables.Column{Name: "Profiler", Unit: unit.Text}, tables.Column{Name: "Runs", Unit: unit.Count},
		tables.Column{Name: "Last", Unit: unit.Text, Doc: "where its last run stands, UTC"})
	for _, x := range list {
		s.Rows.Add(tables.Str(x.Program), tables.Str(x.Machine), tables.Str(x.Branch), tables.Str(x.Tool),
			tables.Int(x.Runs), tables.Str(when(x.Last)))
	}
	return s
}

// HistoryRuns is runs of a history.
func HistoryRuns(list []history.LatestRun) tables.Sheet {
	s := historySheet("runs", "the last ones first",
		tables.Column{Name: "Run", Unit: unit.Text},
		tables.Column{Name: "At", Unit: unit.Text, Doc: "its commit's time, else its own, UTC"},
		tables.Column{Name: "Commit", Unit: unit.Text},
		tables.Column{Name: "Branch", Unit: unit.Text}, tables.Column{Name: "Program", Unit: unit.Text},
		tables.Column{Name: "Input", Unit: unit.Text}, tables.Column{Name: "State", Unit: unit.Text})
	for _, x := range list {
		state := ""
		if x.Rejected {
			state = "rejected"
		}
		s.Rows.Add(tables.Str(x.Key[:8]), tables.Str(when(x.At)), tables.Str(shortCommit(x.Commit)),
			tables.Str(x.Of.Branch), tables.Str(x.Of.Program), tables.Str(x.Name), tables.Str(state))
	}
	return s
}

// HistoryRun is what was measured of one run.
func HistoryRun(r history.RunInfo, run *measure.Run, kept []history.Kept) tables.Sheet {
	s := historySheet("run "+r.Key[:8], "what was measured",
		tables.Column{Name: "Measure", Unit: unit.Text}, tables.Column{Name: "Unit", Unit: unit.Text},
		tables.Column{Name: "Median", Unit: unit.Number},
		tables.Column{Name: "P10", Unit: unit.Number}, tables.Column{Name: "P90", Unit: unit.Number},
		tables.Column{Name: "Samples", Unit: unit.Count})
	for _, k := range kept {
		s.Rows.Add(tables.Str(k.Name), tables.Str(k.Unit), digits6(k.Median), digits6(k.P10), digits6(k.P90),
			tables.Int(k.N))
	}
	note := func(name, value string) {
		if value != "" {
			s.Rows.Notes = append(s.Rows.Notes, name+": "+value)
		}
	}
	note("at", when(r.At)+" UTC")
	note("commit", r.Commit)
	note("program", run.Program)
	note("machine", strings.Trim(run.Machine.Host+", "+history.MachineKind(run.Machine), ", "))
	note("driver and CUDA", strings.Trim(run.Machine.Driver+", "+run.Machine.CUDA, ", "))
	for _, p := range run.Machine.Libraries {
		note(p.Name, p.Value)
	}
	for _, c := range run.Conditions {
		if c.Text != "" {
			note(c.Name, c.Text)
			continue
		}
		note(c.Name, fmt.Sprintf("%.6g to %.6g, median %.6g", c.Min, c.Max, c.Median))
	}
	for _, p := range run.Labels {
		if p.Name != "commit" {
			note("label "+p.Name, p.Value)
		}
	}
	note("input", r.Name)
	note("profile", r.Profile)
	if r.Rejected {
		note("state", "rejected")
	}
	return s
}

// HistoryLevels is the baseline of measures.
func HistoryLevels(series history.Series, levels []history.Level) tables.Sheet {
	s := historySheet("baseline", series.String(),
		tables.Column{Name: "Measure", Unit: unit.Text}, tables.Column{Name: "Unit", Unit: unit.Text},
		tables.Column{Name: "Median", Unit: unit.Number, Doc: "of the runs' medians"},
		tables.Column{Name: "MAD", Unit: unit.Number, Doc: "median absolute deviation of the runs' medians"},
		tables.Column{Name: "Runs", Unit: unit.Count},
		tables.Column{Name: "Since", Unit: unit.Text, Doc: "the first of these runs, by its commit"},
		tables.Column{Name: "Upto", Unit: unit.Text},
		tables.Column{Name: "Held", Unit: unit.Text,
			Doc: "the commit of an unacknowledged regression, from which on runs do not count"})
	held := 0
	for _, l := range levels {
		where := ""
		if l.Held != nil {
			where = commitWords(l.HeldFrom)
			held++
		}
		s.Rows.Add(tables.Str(l.Measure.Name), tables.Str(l.Measure.Unit), digits6(l.Median), digits6(l.MAD),
			tables.Int(len(l.Points)), tables.Str(commitWords(l.Since)), tables.Str(commitWords(l.Upto)),
			tables.Str(where))
	}
	if held > 0 {
		s.Rows.Notes = append(s.Rows.Notes, "held: unacknowledged regressions; runs from there on do not "+
			"count until lacuna history acknowledge COMMIT")
	}
	return s
}

// commitWords is what people call the place of a run.
func commitWords(r history.RunInfo) string {
	if r.Commit != "" {
		return shortCommit(r.Commit)
	}
	return "run " + r.Key[:8]
}

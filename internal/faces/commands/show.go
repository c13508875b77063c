package commands

import (
	"io"
	"slices"

	"github.com/spf13/pflag"

	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
	"lacuna/internal/faces/writers"
	"lacuna/internal/timeline/tables"
)

// show writes an answer in a form: as its page for people, or as it is for programs.
func (e *Env) show(format string, p *page.Page, answer any) error {
	layout := e.layout()
	switch format {
	case "json":
		return e.write(func(w io.Writer) error { return writers.JSON(w, answer) })
	case "markdown":
		return e.writePaged(func(w io.Writer) error { return page.WriteMarkdown(w, p) })
	}
	return e.writePaged(func(w io.Writer) error { return page.WriteText(w, p, layout) })
}

// showTables writes tables in a form, at most limit rows of each (0: all). Text into a pipe has no edge unless one is
// asked for.
func (e *Env) showTables(format string, sheets []tables.Sheet, limit int) error {
	layout := e.layout()
	if layout.Width == 0 {
		layout.Width = page.NoEdge
	}
	switch format {
	case "markdown":
		return e.writePaged(func(w io.Writer) error { return page.WriteMarkdown(w, pages.Tables(sheets, limit)) })
	case "text":
		return e.writePaged(func(w io.Writer) error {
			return page.WriteText(w, pages.Tables(sheets, limit), layout)
		})
	}
	return e.write(func(w io.Writer) error {
		for _, s := range sheets { // programs get the rows that they asked for, and no note
			if limit > 0 && len(s.Rows.Rows) > limit {
				s.Rows.Rows = s.Rows.Rows[:limit]
			}
		}
		if format == "csv" {
			return writers.TableCSV(w, sheets)
		}
		return writers.TableJSON(w, sheets)
	})
}

// shortFlag declares --short. What it returns says whether only the verdict is shown: where that is asked for, and on a
// terminal unless one of the flags is given that ask for more.
func shortFlag(flags *pflag.FlagSet, more ...string) func(env *Env, format string) bool {
	short := flags.Bool("short", false,
		"show the verdict on one screen (default on a terminal; --short=false: all parts)")
	return func(env *Env, format string) bool {
		if flags.Changed("short") {
			return *short
		}
		_, onTerminal := env.screenOf()
		return onTerminal && format == "text" && !slices.ContainsFunc(more, flags.Changed)
	}
}

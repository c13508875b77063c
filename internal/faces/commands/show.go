package commands

import (
	"io"

	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
	"lacuna/internal/faces/writers"
	"lacuna/internal/timeline/tables"
)

// show writes an answer in a form: as its page for people, or as it is for programs.
func (e *Env) show(format string, p *page.Page, answer any) error {
	layout := e.layout()
	return e.write(func(w io.Writer) error {
		switch format {
		case "json":
			return writers.JSON(w, answer)
		case "markdown":
			return page.WriteMarkdown(w, p)
		}
		return page.WriteText(w, p, layout)
	})
}

// showTables writes tables in a form, at most limit rows of each (0: all). Text into a pipe has no edge unless one is
// asked for.
func (e *Env) showTables(format string, sheets []tables.Sheet, limit int) error {
	layout := e.layout()
	if layout.Width == 0 {
		layout.Width = page.NoEdge
	}
	return e.write(func(w io.Writer) error {
		switch format {
		case "markdown":
			return page.WriteMarkdown(w, pages.Tables(sheets, limit))
		case "text":
			return page.WriteText(w, pages.Tables(sheets, limit), layout)
		}
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

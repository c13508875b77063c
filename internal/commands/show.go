package commands

import (
	"io"

	"lacuna/internal/page"
	"lacuna/internal/report"
	"lacuna/internal/writers"
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

// showReport is show for a report, whose lists are never null in JSON.
func (e *Env) showReport(format string, p *page.Page, r *report.Report) error {
	if format == "json" {
		return e.write(func(w io.Writer) error { return writers.ReportJSON(w, r) })
	}
	return e.show(format, p, r)
}

// layout is what text on stdout is laid out for.
func (e *Env) layout() page.Layout {
	p := e.page()
	return page.Layout{Width: p.Width, Color: p.Color, ASCII: p.ASCII}
}

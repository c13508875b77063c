package exporters

import "lacuna/internal/timeline/evtext"

var text = Exporter{
	Name:  "text",
	Title: "one line per event, every column: for grep, diff and bug reports",
	Doc: `
The text form holds all that was read of a capture. lacuna report reads it again.`,
	Write: evtext.Write,
}

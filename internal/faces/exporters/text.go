package exporters

import "lacuna/internal/timeline/evtext"

var text = Exporter{
	Name:  "text",
	Title: "one line per event, every column: for grep, diff and bug reports",
	Doc: `
The text form of a capture holds all that was read of it, and is read again as a
capture: lacuna report takes it.`,
	Write: evtext.Write,
}

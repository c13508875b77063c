package kernelpages

import (
	"bufio"
	"fmt"
	"strings"
	"unicode/utf8"

	"lacuna/internal/kernel/profile"
)

// heading names a launch for people.
func heading(w *bufio.Writer, l *profile.Launch) {
	fmt.Fprintf(w, "%d  %s  grid %s, block %s, stream %d, device %d, CC %s\n",
		l.ID, printable(l.Name), size(l.Grid), size(l.Block), l.Stream, l.Device, capability(l))
}

// A textRow is a name with its value and unit.
type textRow struct{ name, unit, value string }

// list prints rows in three columns. A name that leaves no room on a line for its value has a line of its own.
func list(w *bufio.Writer, rows []textRow, width int) {
	nameWidth, valueWidth, unitWidth := 0, 0, 0
	for _, r := range rows {
		nameWidth = max(nameWidth, utf8.RuneCountInString(r.name))
		if n := utf8.RuneCountInString(r.value); n <= 24 { // longer ones stand out of their column
			valueWidth = max(valueWidth, n)
		}
		unitWidth = max(unitWidth, utf8.RuneCountInString(r.unit))
	}
	const gaps, least = 2 + 2 + 1, 20
	nameWidth = min(nameWidth, max(width-gaps-valueWidth-unitWidth, least))
	for _, r := range rows {
		name := printable(r.name)
		if utf8.RuneCountInString(name) > nameWidth {
			fmt.Fprintf(w, "  %s\n", name)
			name = ""
		}
		line := fmt.Sprintf("  %-*s  %*s %s", nameWidth, name, valueWidth, printable(r.value), r.unit)
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// printable shows control characters as a middle dot: names and texts come from files.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == utf8.RuneError {
			return '·'
		}
		return r
	}, text)
}

// wrapped prints text in lines of at most width, each indented.
func wrapped(w *bufio.Writer, text string, indent, width int) {
	room := max(width-indent, 20)
	line := ""
	for _, word := range strings.Fields(printable(text)) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > room {
			fmt.Fprintf(w, "%*s%s\n", indent, "", line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		fmt.Fprintf(w, "%*s%s\n", indent, "", line)
	}
}

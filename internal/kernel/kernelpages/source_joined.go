package kernelpages

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lacuna/internal/kernel/profile"
)

// joinedCSV prints a function by source file and line: a row with the sums of the line's instructions, then those.
func joinedCSV(s *sheet, l *profile.Launch, m *modules, f *listing) {
	type place struct {
		file string
		line int
	}
	byPlace := make(map[place][]int)
	var places []place
	for n, i := range f.code {
		lines := f.fn.Lines(i.Offset)
		if len(lines) == 0 {
			continue
		}
		p := place{lines[0].File, lines[0].Line}
		if byPlace[p] == nil {
			places = append(places, p)
		}
		byPlace[p] = append(byPlace[p], n)
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.file, b.file),
			cmp.Compare(a.line, b.line))
	})
	texts := make(map[string][]string)
	for i, p := range places {
		if i == 0 || places[i-1].file != p.file {
			joinedHead(s, m, f, p.file)
			texts[p.file] = textOf(l, p.file)
		}
		joinedLine(s, f, p.line, lineText(texts[p.file], p.line), byPlace[p])
	}
}

func joinedHead(s *sheet, m *modules, f *listing, file string) {
	s.line("File Path", file)
	s.line("Function Name", m.printedName(f.name))
	for _, name := range [...]string{"Line No", "Source", "Address", "Source"} {
		s.field(name)
	}
	for _, c := range f.columns {
		s.field(c.label)
	}
	s.end()
}

// joinedLine prints a line with its instructions; a gap between them is a row of dots.
func joinedLine(s *sheet, f *listing, line int, text string, instructions []int) {
	s.field(strconv.Itoa(line))
	s.bare(text)
	s.field("-")
	s.field("-")
	for _, c := range f.columns {
		s.field(c.sum(f, instructions))
	}
	s.end()
	for k, n := range instructions {
		if k > 0 && instructions[k-1] != n-1 {
			for _, cell := range [...]string{"", "", "...", "..."} {
				s.field(cell)
			}
			for range f.columns {
				s.field("-")
			}
			s.end()
		}
		address := f.address + f.code[n].Offset
		for _, cell := range [...]string{"", "", "0x" + strconv.FormatUint(address, 16), f.sass(f.code[n])} {
			s.field(cell)
		}
		for _, c := range f.columns {
			s.field(c.cell(address))
		}
		s.end()
	}
}

// sum is the column's cell for several instructions: numbers added up, words with how often they occur.
func (c *sourceColumn) sum(f *listing, instructions []int) string {
	if c.word {
		return c.words(f, instructions)
	}
	var total profile.Value
	for _, n := range instructions {
		if v, ok := c.values[f.address+f.code[n].Offset]; ok {
			total = plus(total, v)
		}
	}
	if total.Kind == profile.None {
		return "0"
	}
	return plain(&profile.Metric{Value: total})
}

// words are the words of several instructions: "Load(2),Store"; "-" for none.
func (c *sourceColumn) words(f *listing, instructions []int) string {
	count := make(map[string]int)
	for _, n := range instructions {
		if w := c.cell(f.address + f.code[n].Offset); w != "-" {
			count[w]++
		}
	}
	var words []string
	for _, w := range slices.Sorted(maps.Keys(count)) {
		if count[w] > 1 && w != "" {
			w += "(" + strconv.Itoa(count[w]) + ")"
		}
		words = append(words, w)
	}
	if words == nil {
		return "-"
	}
	return strings.Join(words, ",")
}

// textOf are the lines of a source file, if the report holds it.
func textOf(l *profile.Launch, path string) []string {
	for _, f := range l.Source.Files {
		if f.Path == path && f.Text != "" {
			return fileLines(f.Text)
		}
	}
	return nil
}

func lineText(lines []string, line int) string {
	if line < 1 || line > len(lines) {
		return "<Unable to open source file>"
	}
	return lines[line-1]
}

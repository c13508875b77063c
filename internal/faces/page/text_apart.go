package page

import "strings"

// maxApart is how many rows are looked at for names that look alike once they are cut: beyond it nobody compares them.
const maxApart = 2000

// distinguish cuts the texts of a column so that different ones stay different.
func (g *grid) distinguish(l Layout) {
	if len(g.rows) > maxApart {
		return // line cuts each by itself
	}
	for _, i := range g.keep {
		if g.columns[i].Right {
			continue
		}
		texts := make([]string, len(g.rows))
		for n, row := range g.rows {
			texts[n] = row[i]
		}
		for n, s := range l.fitApart(texts, g.widths[i]) {
			g.rows[n][i] = s
		}
	}
}

// fitApart is Fit for texts that are read below each other. Those that would look the same although they differ keep a
// short head and show the part from which on they differ: "sm80_xm…tn_n_tilesize128x1…".
func (l Layout) fitApart(texts []string, width int) []string {
	out := make([]string, len(texts))
	alike := make(map[string][]string) // cut text -> the different texts that it stands for, in their order
	for i, s := range texts {
		out[i] = l.Fit(s, width)
		if out[i] == s {
			continue
		}
		if list := alike[out[i]]; !has(list, s) {
			alike[out[i]] = append(list, s)
		}
	}
	cut := make(map[string]string)
	for _, group := range alike {
		if len(group) > 1 {
			l.apart(group, width, cut)
		}
	}
	for i, s := range texts {
		if c, ok := cut[s]; ok {
			out[i] = c
		}
	}
	return out
}

func has(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// What a text that is cut at both ends shows.
const (
	headShare   = 4 // its head is at most this part of the width
	beforeApart = 3 // columns before the place where it differs
	leastApart  = 6 // columns from there on: with less, nothing is gained
)

// apart cuts different texts that begin alike, so that each shows where it differs from another of them.
func (l Layout) apart(group []string, width int, cut map[string]string) {
	dots := l.ellipsis()
	from := commonStart(group)
	head := wide.Truncate(group[0], width/headShare, "")
	room := width - Shown(head) - 2*Shown(dots)
	if room < beforeApart+leastApart || from <= len(head)+beforeApart {
		return // too narrow, or they differ where Fit shows them already but for the middle
	}
	seen := make(map[string][]string)
	for _, s := range group {
		start := len(s[:from]) - len(lastColumns(s[:from], beforeApart))
		rest := s[start:]
		c := head + dots
		if Shown(rest) <= room+Shown(dots) {
			c += lastColumns(s, room+Shown(dots))
		} else {
			c += wide.Truncate(rest, room, "") + dots
		}
		cut[s] = c
		seen[c] = append(seen[c], s)
	}
	for _, again := range seen { // these differ further on
		if len(again) > 1 && commonStart(again) > from {
			l.apart(again, width, cut)
		}
	}
}

// commonStart is the bytes that texts have in common at their start, up to the end of a character.
func commonStart(texts []string) int {
	n := len(texts[0])
	for _, s := range texts[1:] {
		k := 0
		for k < min(n, len(s)) && s[k] == texts[0][k] {
			k++
		}
		n = k
	}
	return len(strings.ToValidUTF8(texts[0][:n], ""))
}

package pages

import (
	"slices"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelreport"
)

// manyLacking is how many parts that a report lacks, or rules that look at one, are counted and not named.
const manyLacking = 4

// notJudged is what the report does not hold of a kernel, and what could not be judged without it, but for what is
// said once of all kernels.
func notJudged(k *kernelreport.Kernel, shared []page.Text, d KernelDetail) []page.Block {
	var out []page.Block
	for _, t := range lacksOf(k, d) {
		if !contains(shared, t) {
			out = append(out, page.Prose{Indent: 4, Lead: "- ", Text: t})
		}
	}
	if len(out) > 0 && briefLacks(k, d) {
		return folded("Not judged", []page.Block{out[0], page.Fold{Title: "One by one", Blocks: oneByOne(k, d)}})
	}
	return folded("Not judged", out)
}

// briefLacks says whether what a kernel lacks is one statement.
func briefLacks(k *kernelreport.Kernel, d KernelDetail) bool {
	return len(k.Missing) > manyLacking && !d.Whole
}

// lacksOf is what a kernel lacks: line by line, or in one statement.
func lacksOf(k *kernelreport.Kernel, d KernelDetail) []page.Text {
	if briefLacks(k, d) {
		return []page.Text{muchMissing(k)}
	}
	return lackingWords(k, d)
}

// oneByOne is the lines of a kernel whose lack is one statement.
func oneByOne(k *kernelreport.Kernel, d KernelDetail) (out []page.Block) {
	for _, t := range lackingWords(k, d) {
		out = append(out, page.Prose{Indent: 4, Lead: "- ", Text: t})
	}
	return out
}

// sharedLacks is the lines that every one of several kernels would say.
func sharedLacks(kernels []kernelreport.Kernel, d KernelDetail) (out []page.Text) {
	if len(kernels) == 0 {
		return nil
	}
	for _, t := range lacksOf(&kernels[0], d) {
		of := 0
		for i := range kernels {
			if contains(lacksOf(&kernels[i], d), t) {
				of++
			}
		}
		if of == len(kernels) && (of > 1 || d.Short) {
			out = append(out, t)
		}
	}
	return out
}

// lacksOfAll says once what n kernels lack.
func lacksOfAll(shared []page.Text, n int) []page.Block {
	title := "Not judged"
	if n > 1 {
		title = "Not judged of any of these kernels"
	}
	return section(title, true, listed(shared)...)
}

// contains says whether a list has a text.
func contains(list []page.Text, t page.Text) bool {
	return slices.ContainsFunc(list, func(x page.Text) bool { return x.String() == t.String() })
}

// lackingWords is what a report lacks, each with what collects it.
func lackingWords(k *kernelreport.Kernel, d KernelDetail) (out []page.Text) {
	for _, m := range k.Missing {
		out = append(out, missingWords(&m))
	}
	for _, g := range lacking(k.Abstained) {
		words := page.Sayf("the report lacks %s", unit.List(g.missing))
		switch n := len(g.rules); {
		case n > manyLacking && !d.Whole:
			words = page.Sayf("%s, which %d rules need", words, n)
		case n == 1:
			words = page.Sayf("%s, which %s needs", words, page.Of(page.Word, g.rules[0]))
		case n > 1:
			words = page.Sayf("%s, which %s need", words, wordList(g.rules))
		}
		if g.getItWith != "" && !strings.Contains(collects(k.Missing), g.getItWith) {
			words = page.Sayf("%s; %s collects it", words, page.Of(page.Word, "ncu "+g.getItWith))
		}
		out = append(out, page.Sentence(words))
	}
	return out
}

// wordList is words of ours as "a, b and c".
func wordList(words []string) page.Text {
	var out []page.Text
	for _, w := range words {
		out = append(out, page.Of(page.Word, w))
	}
	return listOf(out)
}

// missingWords is what the report does not hold, and what collects it, if the version of ncu that wrote it could.
func missingWords(m *kernelreport.Missing) page.Text {
	text := page.Sayf("Not in the report: %s", m.Part)
	if m.GetItWith != "" {
		text = page.Sayf("%s; %s collects it", text, page.Of(page.Word, "ncu "+m.GetItWith))
	}
	return page.Sentence(text)
}

// muchMissing is what a report with few counters lacks, in short.
func muchMissing(k *kernelreport.Kernel) page.Text {
	var parts []string
	for _, m := range k.Missing {
		parts = append(parts, m.Part)
	}
	s := page.Sayf("Not in the report: %s.", unit.List(parts))
	if n := len(k.Abstained); n > 0 {
		s = page.Sayf("%s %d rules lack counters.", s, n)
	}
	return page.Sayf("%s %s collects all of it; %s names the section of each.", s,
		page.Of(page.Word, "ncu --set full --import-source yes"), page.Of(page.Word, "-v"))
}

// collects is the sections that what is missing names already.
func collects(all []kernelreport.Missing) (text string) {
	for _, m := range all {
		text += m.GetItWith + " "
	}
	return text
}

// A lack is what abstentions lack that the same section collects.
type lack struct {
	rules, missing []string
	getItWith      string
}

// lacking puts abstentions together that the same section would answer, most first.
func lacking(all []kernelreport.Abstained) []lack {
	var out []lack
	add := func(to []string, s string) []string {
		if s == "" || slices.Contains(to, s) {
			return to
		}
		return append(to, s)
	}
	for _, a := range all {
		i := slices.IndexFunc(out, func(l lack) bool { return l.getItWith == a.GetItWith })
		if i < 0 {
			i = len(out)
			out = append(out, lack{getItWith: a.GetItWith})
		}
		out[i].rules, out[i].missing = add(out[i].rules, a.Rule), add(out[i].missing, a.Missing)
	}
	slices.SortStableFunc(out, func(a, b lack) int { return len(b.rules) - len(a.rules) })
	return out
}

package pages

import (
	"fmt"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelreport"
)

// How much of what was found in a kernel is shown.
const (
	toldFindings = 3 // with evidence and fix; the others get a line or two
	toldPlaces   = 3 // source lines of each
	// tooShortUs: start and end are a good part of such a kernel, and rules predict nothing.
	tooShortUs = 10
)

// kernelFindings is what to fix in a kernel, and the limit that it is at.
func kernelFindings(k *kernelreport.Kernel, d KernelDetail) (out []page.Block) {
	if len(k.Findings) == 0 {
		return append([]page.Block{page.Gap{}, page.Prose{Indent: 2, Text: page.T(nothingFound(k))}},
			mentioned(k, d)...)
	}
	n := 0
	for i := range k.Findings {
		f := &k.Findings[i]
		mark := "-"
		if !f.Healthy {
			n++
			mark = fmt.Sprint(n)
		}
		if d.Short {
			if i < shortPriced {
				out = append(out, shortKernelFinding(k, f, mark))
			}
			continue
		}
		out = append(out, kernelFinding(k, f, mark, n <= toldFindings || d.Whole, d.Whole))
	}
	if more := len(k.Findings) - shortPriced; d.Short && more > 0 {
		out = append(out, page.Prose{Indent: 2, Text: page.T("and " + unit.Counted(more, "more finding",
			"more findings"))})
	}
	if t := k.Together; t != nil && k.DurationUs != nil {
		s := unit.ScaleOfUs(*k.DurationUs)
		words := page.Sayf("With all of these fixed: about %s (%s-%s), %s",
			page.Num(s.Number(t.PredictedUs)+" "+s.Symbol),
			s.Number(t.LowUs), s.Number(t.HighUs)+" "+s.Symbol, timesWords(*k.DurationUs, t.PredictedUs))
		if t.Next != "" {
			words = page.Sayf("%s; then limited by %s", words, t.Next)
		}
		out = append(out, page.Prose{Indent: 2, Style: page.Bold, Text: page.Sayf("%s.", words)})
	}
	out = append(out, mentioned(k, d)...)
	if len(k.Findings) == 1 && k.Findings[0].Healthy { // nothing to fix
		return append([]page.Block{page.Gap{}}, out...)
	}
	return []page.Block{page.Section{Title: page.T("Findings, most gain first"), Level: 2, Blocks: out}}
}

// nothingFound says what it means that nothing was found in a kernel.
func nothingFound(k *kernelreport.Kernel) string {
	switch {
	case k.DurationUs == nil || k.SOL == nil:
		return "No findings: the report holds too few counters."
	case k.Class == "launch" && *k.DurationUs < tooShortUs && len(k.Mentioned) > 0:
		return "Too short for its counters to predict a gain."
	case len(k.Abstained) > 0:
		return fmt.Sprintf(
			"No findings; %d rules lack counters.",
			len(k.Abstained),
		)
	}
	return "No findings."
}

// mentioned is what is true of the kernel but worth little.
func mentioned(k *kernelreport.Kernel, d KernelDetail) []page.Block {
	var titles []page.Text
	for i := range k.Mentioned {
		if i == toldFindings && !d.Whole {
			break
		}
		titles = append(titles, page.Sayf("%s [%s]", k.Mentioned[i].Title, page.Of(page.Word, k.Mentioned[i].Rule)))
	}
	if len(titles) == 0 {
		return nil
	}
	what := "Also found, but worth little here"
	if k.Class == "launch" || k.Findings != nil && k.Findings[0].Rule == "debug_build" {
		what = "Also found" // what it is worth is not known
	}
	return []page.Block{page.Prose{Indent: 2, Hang: 2, Text: page.Sayf("%s: %s.", what, page.List(titles, "; "))}}
}

// kernelFinding is one fault: what it is, what its fix saves, where it is, how to fix it.
func kernelFinding(k *kernelreport.Kernel, f *kernelreport.Finding, mark string, told, whole bool) page.Item {
	x := kernelFindingHead(k, f, mark)
	if because := kernelBecause(k, f, whole); len(because) > 0 {
		x.Body = append(x.Body, page.Fold{Title: "Why, and how to fix it", Open: told, Blocks: because})
	}
	return x
}

// shortKernelFinding is one fault in the verdict: what it is, what its fix saves, what the fix is.
func shortKernelFinding(k *kernelreport.Kernel, f *kernelreport.Finding, mark string) page.Item {
	x := kernelFindingHead(k, f, mark)
	if !f.Healthy && f.SameAs == "" && f.SymptomOf == "" {
		x.Body = append(x.Body, page.Prose{Text: firstOfFix(f.Fix)})
	}
	return x
}

// kernelFindingHead is what a fault is and what its fix saves.
func kernelFindingHead(k *kernelreport.Kernel, f *kernelreport.Finding, mark string) page.Item {
	x := page.Item{Mark: mark, Title: page.Sayf("%s [%s]", capital(f.Title), page.Of(page.Word, f.Rule))}
	add := func(t page.Text) { x.Body = append(x.Body, page.Prose{Text: t}) }
	if words := predictionWords(k, f); !words.Empty() {
		add(page.Sayf("%s; %s", words, confidenceWords(f.Confidence)))
	} else if !f.Healthy {
		add(page.Sayf("gain not predicted; %s", confidenceWords(f.Confidence)))
	}
	if f.SymptomOf != "" {
		add(page.Sayf("a symptom of %s above: fix that", page.Of(page.Word, f.SymptomOf)))
	}
	if f.SameAs != "" {
		add(page.Sayf("the fix of %s above fixes this too", page.Of(page.Word, f.SameAs)))
	}
	return x
}

// kernelBecause is the evidence of a finding, where it is and its fix; what is too much at first is folded.
func kernelBecause(k *kernelreport.Kernel, f *kernelreport.Finding, whole bool) (out []page.Block) {
	for _, e := range f.Evidence {
		out = append(out, page.Prose{Lead: "- ", Text: page.Sentence(page.T(e))})
	}
	var more []page.Block
	for i := range f.Where {
		if line := sourceLine(2, k, &f.Where[i], ""); i < toldPlaces {
			out = append(out, line)
		} else {
			more = append(more, line)
		}
	}
	first, rest := page.Cut(f.Fix)
	switch {
	case f.Healthy || f.Fix == "":
	case f.SameAs == "" && f.SymptomOf == "":
		if len(more) > 0 { // the other places stand before the fix
			out = append(out, page.Fold{Title: "Where else", Open: whole, Blocks: more})
			more = nil
		}
		out = append(out, page.Example{Text: first})
		if rest != "" {
			more = append(more, page.Example{Text: rest})
		}
	default:
		more = append(more, page.Example{Text: f.Fix})
	}
	if f.RefutedBy != "" {
		more = append(more, page.Example{Lead: "Refuted if: ", Text: f.RefutedBy})
	}
	if len(more) > 0 {
		title := "More"
		if len(more) == 1 && f.RefutedBy != "" {
			title = "What would refute it"
		}
		out = append(out, page.Fold{Title: title, Open: whole, Blocks: more})
	}
	return out
}

// sourceLine is where something is, and the line itself.
func sourceLine(indent int, k *kernelreport.Kernel, l *kernelreport.Line, note string) page.SourceLine {
	x := page.SourceLine{Indent: indent, Where: placeWords(l), Note: note, Code: lineText(l),
		At: []page.Place{{Input: k.Input, Kernel: k.Name, File: l.File, Line: l.Line}}}
	if l.Share > 0 {
		x.Share = unit.Percent(l.Share)
	}
	return x
}

// predictionWords is what a fix is predicted to save; nothing if nothing is predicted.
func predictionWords(k *kernelreport.Kernel, f *kernelreport.Finding) page.Text {
	if f.PredictedUs <= 0 || k.DurationUs == nil || f.Healthy {
		return nil
	}
	now := *k.DurationUs
	s := unit.ScaleOfUs(now)
	words := page.Sayf(
		"from %s to about %s (%s-%s), %s",
		page.Num(s.Number(now)+" "+s.Symbol),
		page.Num(s.Number(f.PredictedUs)+" "+s.Symbol),
		s.Number(f.LowUs),
		s.Number(f.HighUs)+" "+s.Symbol,
		timesWords(now, f.PredictedUs),
	)
	if f.Next != "" {
		words = page.Sayf("%s; then limited by %s", words, f.Next)
	}
	if f.AtBoostUs > 0 {
		words = page.Sayf("%s; at full clock about %s", words, page.Num(unit.Micros(f.AtBoostUs)))
	}
	return words
}

// profilerSays is what the profiler's own rules said.
func profilerSays(k *kernelreport.Kernel) []page.Block {
	var out []page.Block
	for _, s := range k.Profiler {
		text := s.Text
		if s.Title != "" {
			text = s.Title + ": " + text
		}
		out = append(out, page.Prose{Indent: 4, Lead: "- ", Text: page.T(text)})
	}
	return folded("What the profiler itself says", out)
}

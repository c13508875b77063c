package pages

import (
	"fmt"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelreport"
)

// How much of what was found in a kernel is told.
const (
	toldFindings = 3 // with evidence and repair; the others get a line or two
	toldPlaces   = 3 // source lines of each
)

// kernelFindings tells what to repair in a kernel, and at which limit it is.
func kernelFindings(k *kernelreport.Kernel, d KernelDetail) (out []page.Block) {
	if len(k.Findings) == 0 {
		return append([]page.Block{page.Gap{}, page.Prose{Indent: 2, Text: page.T(nothingFound(k))}}, mentioned(k, d)...)
	}
	n := 0
	for i := range k.Findings {
		f := &k.Findings[i]
		mark := "-"
		if !f.Healthy {
			n++
			mark = fmt.Sprint(n)
		}
		out = append(out, kernelFinding(k, f, mark, n <= toldFindings || d.Whole, d.Whole))
	}
	if t := k.Together; t != nil && k.DurationUs != nil {
		s := unit.ScaleOfUs(*k.DurationUs)
		words := page.Sayf("All of these together: about %s (%s to %s), %s", page.Num(s.Number(t.PredictedUs)+" "+s.Symbol),
			s.Number(t.LowUs), s.Number(t.HighUs), timesWords(*k.DurationUs, t.PredictedUs))
		if t.Next != "" {
			words = page.Sayf("%s; then limited by %s", words, t.Next)
		}
		out = append(out, page.Prose{Indent: 2, Style: page.Bold, Text: page.Sayf("%s.", words)})
	}
	out = append(out, mentioned(k, d)...)
	if len(k.Findings) == 1 && k.Findings[0].Healthy { // nothing to repair
		return append([]page.Block{page.Gap{}}, out...)
	}
	return []page.Block{page.Section{Title: page.T("What to repair, most gain first"), Level: 2, Blocks: out}}
}

// nothingFound says what it means that nothing was found in a kernel.
func nothingFound(k *kernelreport.Kernel) string {
	switch {
	case k.DurationUs == nil || k.SOL == nil:
		return "Too little was collected to look for faults."
	case k.Class == "launch" && len(k.Mentioned) > 0:
		return "It is too short for its counters to say what a repair brings."
	case len(k.Abstained) > 0:
		return fmt.Sprintf(
			"No fault was found in it, as far as this report goes: %d diagnoses lack counters.",
			len(k.Abstained),
		)
	}
	return "No fault was found in it."
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
	what := "Also true, but worth little here"
	if k.Class == "launch" {
		what = "True of it"
	}
	return []page.Block{page.Prose{Indent: 2, Hang: 2, Text: page.Sayf("%s: %s.", what, page.List(titles, "; "))}}
}

// kernelFinding tells one fault: what it is, what its repair brings, where it sits, how to repair it.
func kernelFinding(k *kernelreport.Kernel, f *kernelreport.Finding, mark string, told, whole bool) page.Item {
	x := page.Item{Mark: mark, Title: page.Sayf("%s [%s]", capital(f.Title), page.Of(page.Word, f.Rule))}
	add := func(t page.Text) { x.Body = append(x.Body, page.Prose{Text: t}) }
	if words := predictionWords(k, f); !words.Empty() {
		add(page.Sayf("%s; %s", words, confidenceWords(f.Confidence)))
	} else if !f.Healthy {
		add(page.Sayf("what its repair brings is not predicted; %s", confidenceWords(f.Confidence)))
	}
	if f.SymptomOf != "" {
		add(page.Sayf("a symptom of %s above: repair that", page.Of(page.Word, f.SymptomOf)))
	}
	if f.SameAs != "" {
		add(page.Sayf("the repair of %s above repairs this too", page.Of(page.Word, f.SameAs)))
	}
	if because := kernelBecause(k, f, whole); len(because) > 0 {
		x.Body = append(x.Body, page.Fold{Title: "Why, and what to do", Open: told, Blocks: because})
	}
	return x
}

// kernelBecause is the evidence of a finding, where it sits and its repair; what is too much at first is folded.
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
		if len(more) > 0 { // the other places stand before the repair
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

// predictionWords is what a repair is predicted to bring, in a sentence; nothing if nothing is predicted.
func predictionWords(k *kernelreport.Kernel, f *kernelreport.Finding) page.Text {
	if f.PredictedUs <= 0 || k.DurationUs == nil || f.Healthy {
		return nil
	}
	now := *k.DurationUs
	s := unit.ScaleOfUs(now)
	words := page.Sayf(
		"from %s to about %s (%s to %s), %s",
		page.Num(s.Number(now)+" "+s.Symbol),
		page.Num(s.Number(f.PredictedUs)+" "+s.Symbol),
		s.Number(f.LowUs),
		s.Number(f.HighUs),
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

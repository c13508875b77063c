package pages

import (
	"strings"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelname"
)

// How much of the joined kernels is shown unless all is asked for; the rest is folded away.
const (
	maxJoined        = 6
	maxJoinedDetails = 2 // findings of each
)

// JoinedKernels is only what reports on single kernels say of a timeline's.
func JoinedKernels(r *report.Report, next []page.Advice, d Detail) *page.Page {
	p := &page.Page{Title: page.T("What limits the kernels of a step")}
	p.Add(inputs(r.Inputs)...)
	p.Add(joinedKernels(r, d)...)
	p.Add(page.Next{List: next})
	return p
}

// joinedKernels says why the hot kernels of a timeline are slow, and what their fixes save in a step.
func joinedKernels(r *report.Report, d Detail) []page.Block {
	j := r.KernelReports
	if j == nil {
		return nil
	}
	var out, rest []page.Block
	for _, w := range j.Warnings {
		out = append(out, page.Prose{Indent: 2, Text: page.T(w), Style: page.Alarm, Quote: true})
	}
	if len(r.Kernels) == 0 {
		none := page.Sayf("No kernel of this timeline is in %s.", unit.List(j.Reports))
		out = append(out, page.Prose{Indent: 2, Text: none})
	}
	for i := range r.Kernels {
		k := joinedKernel(r, &r.Kernels[i], d)
		if i < maxJoined || d.Whole {
			out = append(out, k)
		} else {
			rest = append(rest, k)
		}
	}
	if n := len(rest); n > 0 {
		more := page.Sayf("and %d more kernels with a report; %s shows all.", n, page.Of(page.Word, "-v"))
		out = append(out, page.Prose{Indent: 2, Text: more}, page.Fold{Title: "The other kernels", Blocks: rest})
	}
	return section("Inside the kernels, most gain per step first", false, append(out, unjoined(j)...)...)
}

// joinedKernel is one kernel: its share, its class, what fixes save.
func joinedKernel(r *report.Report, k *report.Kernel, d Detail) page.Item {
	name := page.Seen(page.Named(kernelname.Profiled(k.Name)), page.Place{Input: r.Slowest, Kernel: k.Name})
	title := page.Sayf("%s: %s per step (%s %%)", name, page.Num(unit.About(k.MsPerStep)+" ms"),
		unit.Percent(k.ShareOfStep))
	if class := classWords(k.Class); class != "" {
		title = page.Join(title, page.T(", "+class))
	}
	var body, rest []page.Block
	if x := k.Roofline; x != nil {
		flops, share := page.Num(unit.SI(x.Flops)+"FLOP/s"), page.Num(unit.Percent(x.RoofPct/100)+" %")
		body = append(body, page.Prose{Text: page.Sayf("%s in %s at %s FLOP/byte of %s: %s of the roof.",
			flops, precisionWords(x.Precision), unit.Three(x.Intensity), levelWords(x.Level), share)})
	}
	for i := range k.Findings {
		f := &k.Findings[i]
		switch {
		case d.Whole:
			body = append(append(body, joinedFinding(k, f)...), joinedBecause(f, f.Fix)...)
		case i >= maxJoinedDetails:
			rest = append(append(rest, joinedFinding(k, f)...), joinedBecause(f, f.Fix)...)
		default:
			first, left := shortFix(f)
			body = append(append(body, joinedFinding(k, f)...), first...)
			if more := joinedBecause(f, left); len(more) > 0 {
				rest = append(append(rest, joinedTitle(f)), more...)
			}
		}
	}
	for _, n := range k.Notes {
		body = append(body, page.Prose{Text: page.Sentence(page.T(n))})
	}
	body = append(body, page.Fold{Title: "Its findings with evidence and fixes", Blocks: rest})
	return page.Item{Mark: "-", Title: title, Body: body}
}

// joinedTitle is what a finding inside a kernel is called.
func joinedTitle(f *report.KernelFinding) page.Block {
	return page.Prose{Lead: "* ", Text: page.Sayf("%s [%s]", capital(f.Title), page.Of(page.Word, f.Rule))}
}

// joinedFinding is a finding inside a kernel and its price.
func joinedFinding(k *report.Kernel, f *report.KernelFinding) []page.Block {
	out := []page.Block{joinedTitle(f)}
	price := func(text page.Text) { out = append(out, page.Prose{Indent: 2, List: 2, Text: text}) }
	switch {
	case f.Change != "":
		saves := page.Num(unit.About(f.RecoverableMs) + " ms")
		price(page.Sayf("the kernel %s; saves %s per step (%s); %s", timesWords(1, f.Ratio), saves,
			unit.Bounds(f.RecoverableMs, f.GainLowMs, f.GainHighMs), confidenceWords(f.Confidence)))
	case f.Ratio > 0 && !f.Healthy:
		most := page.Num(unit.About((1-f.Ratio)*k.MsPerStep) + " ms")
		price(page.Sayf("the kernel %s, at most %s per step; not replayed", timesWords(1, f.Ratio), most))
	}
	return out
}

// shortFix is the first paragraph of a fix, as a sentence, where it is predicted to help, and what is left of the fix.
func shortFix(f *report.KernelFinding) (first []page.Block, rest string) {
	what, rest, _ := strings.Cut(f.Fix, "\n\n")
	if what == "" || f.Ratio <= 0 || f.Healthy {
		return nil, f.Fix
	}
	what = strings.TrimRight(strings.ReplaceAll(what, "\n", " "), ":")
	return []page.Block{page.Prose{Indent: 2, List: 2, Text: page.Sentence(page.T(what))}}, rest
}

// joinedBecause is a finding's evidence, so much of its fix, and its change.
func joinedBecause(f *report.KernelFinding, fix string) (out []page.Block) {
	for _, e := range f.Evidence {
		out = append(out, page.Prose{Indent: 2, Lead: "- ", List: 2, Text: page.Sentence(page.T(e))})
	}
	if strings.TrimSpace(fix) != "" {
		out = append(out, page.Example{Indent: 2, Text: fix})
	}
	if f.Change != "" {
		change := page.Of(page.Word, "-x "+ShellWord(f.Change))
		out = append(out, page.Prose{Indent: 2, Hang: 2, Text: page.Sayf("Replayed as: %s", change)})
	}
	return out
}

// unjoined says what did not match.
func unjoined(j *report.Kernels) []page.Block {
	say := func(t page.Text) page.Block { return page.Prose{Indent: 2, Text: t} }
	s := page.Sayf("The reports cover %s of the kernel time per step.", page.Num(unit.Percent(j.MatchedShare)+" %"))
	var left []page.Text
	for _, u := range j.Unmatched {
		if u.ShareOfStep >= 0.01 {
			name := page.Named(kernelname.Profiled(u.Name))
			left = append(left, page.Sayf("%s (%s %%)", name, unit.Percent(u.ShareOfStep)))
		}
	}
	if len(left) > 0 {
		s = page.Join(s, page.Sayf(" Without a report: %s.", listOf(left)))
	}
	out := []page.Block{say(s)}
	if len(j.Reports) > 0 {
		command := page.Of(page.Word, "lacuna kernel "+ShellWord(j.Reports[0]))
		out = append(out, say(page.Sayf("Source lines and warp stall reasons of each: %s", command)))
	}
	if len(j.NotInTrace) > 0 {
		var names []page.Text
		for _, n := range j.NotInTrace {
			names = append(names, page.Named(kernelname.Profiled(n)))
		}
		out = append(out, say(page.Sayf("In the reports but not in these steps: %s.", page.List(names, ", "))))
	}
	return out
}

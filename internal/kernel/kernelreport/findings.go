package kernelreport

import (
	"slices"
	"strings"

	"lacuna/internal/kernel"
	"lacuna/internal/kernel/kernelrules"
)

// findingsOf is what is wrong with a launch, among all launches of its report.
func (out *Kernel) findingsOf(all []*kernel.Kernel, k *kernel.Kernel) {
	at := slices.Index(all, k)
	if at < 0 {
		return
	}
	found := kernelrules.Run(kernelrules.NewCase(all, at), kernelrules.All)
	for i := range found.All {
		out.Findings = append(out.Findings, findingOf(&found.All[i]))
	}
	for i := range found.Mentioned {
		out.Mentioned = append(out.Mentioned, findingOf(&found.Mentioned[i]))
	}
	out.findingsAtBoost()
	for _, a := range found.Abstained {
		x := Abstained{Rule: a.Rule.ID, Missing: a.Missing, Reason: "the report has no " + a.Missing}
		if a.Section != "" {
			x.GetItWith = "--section " + a.Section
		}
		out.Abstained = append(out.Abstained, x)
	}
	out.togetherOf(found, all, at)
}

// dramWords is how findings call device memory, whose clock is not the SMs'.
const dramWords = "DRAM bandwidth"

// findingsAtBoost gives predictions at full clock, where the profiler held clocks down: what SMs and L2 take becomes
// shorter with the clock, what DRAM takes does not.
func (out *Kernel) findingsAtBoost() {
	if out.Clock == nil {
		return
	}
	for i := range out.Findings {
		if f := &out.Findings[i]; f.PredictedUs > 0 && !f.Healthy && f.Next != dramWords {
			f.AtBoostUs = f.PredictedUs * out.Clock.SMGHz / out.Clock.BoostGHz
		}
	}
}

// togetherOf is what all fixes bring at once: gains do not add up.
func (out *Kernel) togetherOf(found *kernelrules.Findings, all []*kernel.Kernel, at int) {
	n := 0
	for i := range found.All {
		if f := &found.All[i]; f.PredictedUs > 0 && !f.Rule.Healthy && f.SameAs == "" {
			n++
		}
	}
	if n < 2 {
		return
	}
	if us, low, high, next, ok := kernelrules.NewCase(all, at).Together(found.All); ok {
		out.Together = &Together{PredictedUs: us, LowUs: low, HighUs: high, Next: next}
	}
}

func findingOf(f *kernelrules.Finding) Finding {
	out := Finding{Rule: f.Rule.ID, Title: f.Title, Confidence: f.Confidence, Healthy: f.Rule.Healthy,
		PredictedUs: f.PredictedUs, LowUs: f.LowUs, HighUs: f.HighUs,
		Next: f.Next, Evidence: f.Evidence, Fix: f.Fix, RefutedBy: strings.Trim(f.Rule.RefutedBy, "\n"),
		SameAs: f.SameAs, SymptomOf: f.SymptomOf}
	if out.Fix == "" {
		out.Fix = f.Rule.Fix
	}
	out.Fix = strings.Trim(out.Fix, "\n")
	for i := range f.Places {
		out.Where = append(out.Where, lineOf(&f.Places[i]))
	}
	return out
}

func lineOf(p *kernel.Place) Line {
	return Line{File: p.File, Line: p.Line, Text: p.Text, Function: p.Function, Offset: p.Offset, SASS: p.SASS,
		Share: p.Share}
}

// SectionsMissing is the sections of ncu that would answer what could not be judged of these kernels, as arguments of
// its command: "--section WarpStateStats --section SourceCounters". "" if nothing is missing.
func SectionsMissing(kernels []Kernel) string {
	var out []string
	for i := range kernels {
		for _, m := range kernels[i].Missing {
			for _, s := range strings.Split(m.GetItWith, "--section ") {
				if s = "--section " + strings.TrimSpace(s); s != "--section " && !slices.Contains(out, s) {
					out = append(out, s)
				}
			}
		}
		for _, a := range kernels[i].Abstained {
			if a.GetItWith != "" && !slices.Contains(out, a.GetItWith) {
				out = append(out, a.GetItWith)
			}
		}
	}
	return strings.Join(out, " ")
}

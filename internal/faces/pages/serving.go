package pages

import (
	"fmt"
	"math"
	"slices"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/timeline/facts"
)

// engineNames is what people call the engines.
var engineNames = map[string]string{"vllm": "vLLM", "sglang": "SGLang", "trtllm": "TensorRT-LLM", "atom": "ATOM"}

// engineWords is by what the steps are marked.
func engineWords(engine string) string {
	if name := engineNames[engine]; name != "" {
		return "marks of " + name
	}
	return "marks of the serving engine"
}

// whatStep is what a step is, at the beginning of a sentence: a decode step of a certain batch.
func whatStep(s report.Steps) string {
	what := "A step"
	switch {
	case s.Kind == "other", s.Kind == "":
	case s.Kind == "idle":
		what = "A step without requests"
	case s.Size != "":
		what = fmt.Sprintf("A %s step (%s)", s.Kind, s.Size)
	default:
		what = fmt.Sprintf("A %s step", s.Kind)
	}
	if s.Basis == "host" {
		what += " of the host"
	}
	return what
}

// serving is the steps of an engine by kind, what running requests see, and what lies outside.
func serving(r *report.Report) []page.Block {
	if r.Serving == nil {
		return nil
	}
	out := []page.Block{kindTable(r)}
	for _, line := range slices.Concat(gapLines(r), tokenLines(r), outsideLines(r), servingLacks(r.Serving)) {
		out = append(out, page.Prose{Indent: 2, Lead: "- ", Text: line})
	}
	return section("Serving: engine steps by kind and size", false, out...)
}

// kindTable is a row for each kind and size.
func kindTable(r *report.Report) page.Block {
	kinds, more := mostTime(r.Steps.Kinds, maxKinds)
	longest, opens, few := 0.0, 0, false
	for _, k := range kinds {
		longest = max(longest, k.P99Ms)
		opens += k.Open
	}
	digits := unit.MsDigits(longest)
	f := func(v float64) string { return unit.Fixed(v, digits) }
	var rows [][]page.Text
	for _, k := range kinds {
		name := page.T(k.Kind)
		if k.Name != "" {
			name = page.Sayf("%s: %s", k.Kind, page.Named(k.Name))
		}
		if k.Size != "" {
			name = page.Join(name, page.T(", "+k.Size))
		}
		gap, graphs := "-", "-"
		if k.HostGap != nil {
			gap = f(k.HostGapMs)
		}
		if k.GPUMs > 0 {
			graphs = unit.Percent(k.GraphShare)
		}
		p50, p90, p99 := f(k.P50Ms), f(k.P90Ms), f(k.P99Ms)
		if k.Count < facts.FewSteps {
			p50, p90, p99, few = "-", "-", "-", true
		}
		rows = append(rows, row(name, unit.FormatCount(int64(k.Count)), unit.Percent(k.ShareOfGPU), f(k.MeanMs),
			p50, p90, p99, f(k.Budget.Compute), f(k.Budget.CommExposed), f(k.Budget.Copy),
			f(k.Budget.Idle), gap, graphs))
	}
	columns := []page.Column{{Head: "kind", Flex: true}, number("steps", "", 0), number("% of time", "", 5),
		number("mean ms", "", 0), number("p50", "", 6), number("p90", "", 7), number("p99", "", 8),
		number("compute", "compute, ms per step", 2), number("comm", "exposed communication, ms per step", 9),
		number("copy", "copy, ms per step", 10), number("idle", "idle, ms per step", 1),
		number("host gap", "host gap, ms per step", 3), number("% graph", "% of kernel time from graphs", 4)}
	if !slices.ContainsFunc(kinds, func(k report.StepKind) bool { return k.Budget.CommExposed > 0 }) {
		columns, rows = without(columns, rows, 8)
	}
	t := page.Table{Columns: columns, Rows: rows}
	if more > 0 {
		t.More = fmt.Sprintf("%d more kinds and sizes, with less time", more)
	}
	if opens > 0 {
		t.Notes = append(t.Notes, page.T("A step with nothing behind it ends with its last GPU work: its host gap is "+
			"not known (-)."))
	}
	if few {
		t.Notes = append(t.Notes, page.T(fmt.Sprintf("Quantiles are of %d steps or more.", facts.FewSteps)))
	}
	return t
}

// maxKinds is how many kinds and sizes have a row, and maxGapLines of how many the host gap is divided.
const (
	maxKinds    = 12
	maxGapLines = 3
)

// mostTime keeps the n kinds with most time, in their order, and says how many it leaves out.
func mostTime(kinds []report.StepKind, n int) (kept []report.StepKind, more int) {
	if len(kinds) <= n {
		return kinds, 0
	}
	totals := make([]float64, len(kinds))
	for i, k := range kinds {
		totals[i] = -k.TotalMs
	}
	slices.Sort(totals)
	for _, k := range kinds {
		if len(kept) < n && -k.TotalMs <= totals[n-1] {
			kept = append(kept, k)
		}
	}
	return kept, len(kinds) - len(kept)
}

// without leaves a column out.
func without(columns []page.Column, rows [][]page.Text, i int) ([]page.Column, [][]page.Text) {
	for n := range rows {
		rows[n] = slices.Delete(rows[n], i, i+1)
	}
	return slices.Delete(columns, i, i+1), rows
}

// gapParts is the parts of a host gap in words, in the order of an iteration.
var gapParts = []struct{ key, words string }{
	{"sample", "waiting for or sampling tokens"}, {"other", "between the marks"}, {"schedule", "scheduling"},
	{"prepare", "preparing inputs"}, {"launch", "launching"},
}

// gapLines says what the host does between two steps, of each kind in which that is worth saying.
func gapLines(r *report.Report) (out []page.Text) {
	kinds, _ := mostTime(r.Steps.Kinds, maxGapLines)
	for _, k := range kinds {
		if k.HostGap == nil || k.MeanMs <= 0 || k.HostGapMs/k.MeanMs < worthSaying {
			continue
		}
		digits := unit.MsDigits(k.MeanMs)
		var parts []page.Text
		for _, p := range gapParts {
			if ms := k.HostGap[p.key]; ms >= worthNaming*k.MeanMs {
				parts = append(parts, page.Sayf("%s %s", p.words, page.Num(unit.Fixed(ms, digits)+" ms")))
			}
		}
		out = append(out, page.Sayf("Host gap of a %s step%s: %s, %s of the step (%s).", k.Kind, sizeWords(k.Size),
			page.Num(unit.Fixed(k.HostGapMs, digits)+" ms"), page.Num(unit.Percent(k.HostGapMs/k.MeanMs)+" %"),
			page.List(parts, ", ")))
	}
	return out
}

func sizeWords(size string) string {
	if size == "" {
		return ""
	}
	return " of " + size
}

// tokenLines is what running requests see.
func tokenLines(r *report.Report) (out []page.Text) {
	s := r.Serving
	if q := s.ITL; q != nil {
		digits := unit.MsDigits(q.P50)
		ms := func(v float64) page.Text { return page.Num(unit.Fixed(v, digits) + " ms") }
		text := page.Sayf("Between two tokens of a running request: p50 %s, p90 %s, p99 %s (of %s; server side, without "+
			"network and detokenizing).", ms(q.P50), ms(q.P90), ms(q.P99), unit.FormatCount(int64(q.Count)))
		out = append(out, text)
	}
	if v := s.DecodeTokensPerS; v != nil {
		out = append(out, page.Sayf("Decode: %s over the time of all engine steps.",
			page.Num(unit.FormatCount(int64(math.Round(*v)))+" tokens/s")))
	}
	if v := s.PrefillMsPer1k; v != nil {
		out = append(out, page.Sayf("Prefill: %s per 1,000 tokens.", page.Num(unit.About(*v)+" ms")))
	}
	if v := s.MixedPenalty; v != nil {
		out = append(out, page.Sayf("Mixed steps take %s as long as decode steps with about as many running requests.",
			page.Num(unit.Fixed(*v, 2)+" times")))
	}
	if x := s.Speculation; x != nil {
		text := page.Sayf("A round of speculation takes %s to draft and %s to verify", page.Num(unit.About(x.DraftMs)+" ms"),
			page.Num(unit.About(x.VerifyMs)+" ms"))
		if x.BreakEven != nil {
			text = page.Join(text, page.Sayf("; it is worth its time from %s per request on",
				page.Num(unit.Fixed(*x.BreakEven, 2)+" tokens")))
		}
		if x.Faster != nil {
			text = page.Join(text, page.Sayf("; with %s it is %s as fast as decoding without",
				page.Num(unit.Fixed(*x.Accepted, 2)), page.Num(unit.Fixed(*x.Faster, 2)+" times")))
		}
		out = append(out, page.Join(text, page.T(".")))
	}
	if f := s.Floor; f != nil {
		out = append(out, floorLine(f))
	}
	for _, k := range r.Steps.Kinds {
		if k.Padding >= 1.005 {
			out = append(out, page.Sayf("Graphs of %s steps%s have room for %s as many requests as there are.", k.Kind,
				sizeWords(k.Size), page.Num(unit.Fixed(k.Padding, 2)+" times")))
		}
	}
	return out
}

// floorLine is the least that a decode step can take.
func floorLine(f *report.Floor) page.Text {
	digits := unit.MsDigits(f.StepMs)
	ms := func(v float64) page.Text { return page.Num(unit.Fixed(v, digits) + " ms") }
	gpus := ""
	if f.GPUs > 1 {
		gpus = fmt.Sprintf(" on each of %d GPUs", f.GPUs)
	}
	text := page.Sayf("Floor of a step of %.4g tokens: reading %s of weights takes %s%s at %s", f.Tokens,
		page.Num(unit.About(f.WeightGB)+" GB"), ms(f.Weights), gpus,
		page.Num(unit.FormatCount(int64(f.MemoryGBs))+" GB/s"))
	least := f.Weights
	if f.KV != nil {
		least += *f.KV
		text = page.Join(text, page.Sayf(", the cache of keys and values %s", ms(*f.KV)))
	} else {
		text = page.Join(text, page.T("; the cache of keys and values comes on top: marks do not say how long requests are"))
	}
	return page.Join(text, page.Sayf(". The step takes %s, %s that.", ms(f.StepMs),
		page.Num(unit.Fixed(f.StepMs/least, 1)+" times")))
}

// outsideLines is what lies outside of all engine steps.
func outsideLines(r *report.Report) (out []page.Text) {
	x := r.Serving.Outside
	if x == nil || r.Budget.StepMs() > 0 && x.Ms/r.Budget.StepMs() < worthNaming {
		return nil
	}
	digits := unit.MsDigits(x.Ms)
	text := page.Sayf("Outside engine steps: %s, of which the GPU works %s",
		page.Num(unit.Fixed(x.Ms, digits)+" ms"), page.Num(unit.Fixed(x.GPUMs, digits)+" ms"))
	if x.Doing != "" {
		text = page.Join(text, page.Sayf("; longest idle: %s, in which the host %s",
			page.Num(unit.Fixed(x.DoingMs, digits)+" ms"), causeWords(x.Doing)))
		if x.Call != "" {
			text = page.Join(text, page.Sayf(" (%s)", page.Named(x.Call)))
		}
	}
	text = page.Join(text, page.T(". It is in no step's figures."))
	if r.Serving.Closing {
		text = page.Join(text, page.T(" The last step is in it: its mark only ends the step before."))
	}
	return append(out, text)
}

// servingLacks is what is left out and what cannot be known.
func servingLacks(s *report.Serving) (out []page.Text) {
	for _, x := range []struct {
		n    int
		what string
	}{
		{s.EmptyMarks, "Marks in which nothing is launched, passed over"},
		{s.CutMarks, "Marks that were open when the capture ended, in no length"},
	} {
		if x.n > 0 {
			out = append(out, page.Sayf("%s: %d.", x.what, x.n))
		}
	}
	if s.Pauses > 0 {
		out = append(out, page.Sayf("Pauses of the engine: %d. No mark is open for much longer than between other steps: "+
			"no requests, or the host was stopped. They are in no step.", s.Pauses))
	}
	for _, text := range s.NotKnown {
		out = append(out, page.Sayf("Not known: %s.", text))
	}
	return out
}

// endUnknown says whether the engine's steps that the report is on end with their last GPU work, since nothing follows.
func endUnknown(r *report.Report) bool {
	return slices.ContainsFunc(r.Steps.Kinds, func(k report.StepKind) bool {
		return k.Kind == r.Steps.Kind && k.Bucket == r.Steps.Bucket && k.Open == k.Count
	})
}

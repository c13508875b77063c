package report

import (
	"path/filepath"
	"slices"
	"strings"

	"lacuna/internal/base/stat"
	"lacuna/internal/timeline/facts"
)

// A StepKind is the engine steps of one kind and about one size. Figures are of steps that last to the next one's
// start, if there are such.
type StepKind struct {
	Kind   string    `json:"kind"`             // prefill, decode, mixed, verify, draft, idle, other
	Name   string    `json:"name,omitempty"`   // of kind other: the mark
	Batch  *[2]int64 `json:"batch,omitempty"`  // requests, least and most
	Tokens *[2]int64 `json:"tokens,omitempty"` // new tokens, least and most
	Bucket int64     `json:"bucket,omitempty"` // the largest batch in it, or number of tokens where prompts are read
	Size   string    `json:"size,omitempty"`   // in words: "batch 17 to 32"

	Count   int     `json:"count"`
	Open    int     `json:"open,omitempty"` // of these, steps that end with their last GPU work: no host gap is known
	MeanMs  float64 `json:"mean_ms"`
	P50Ms   float64 `json:"p50_ms"`
	P90Ms   float64 `json:"p90_ms"`
	P99Ms   float64 `json:"p99_ms"`
	TotalMs float64 `json:"total_ms"` // of all its steps

	ShareOfGPU  float64 `json:"share_of_gpu"`  // of the time of all engine steps, 0 to 1
	GPUMs       float64 `json:"gpu_ms"`        // of a mean step the GPU works: compute, communication and copies
	GraphShare  float64 `json:"graph_share"`   // of kernel time, launched by graphs
	GraphsStep  float64 `json:"graphs"`        // graph launches per step
	LaunchesOne float64 `json:"launches"`      // kernels launched singly, per step
	Padding     float64 `json:"padding_ratio"` // batch of the graph to batch; 0: the marks do not say

	Budget     KindBudget         `json:"budget_ms"`             // of a mean step
	HostGap    map[string]float64 `json:"host_gap_ms,omitempty"` // of a mean step; sums to HostGapMs
	HostGapMs  float64            `json:"host_gap_total_ms"`     // from its last GPU work to the next step's first
	Per1kMs    *float64           `json:"ms_per_1k_tokens,omitempty"`
	TokensStep *float64           `json:"tokens_per_step,omitempty"`
}

// A KindBudget is a mean step of a kind: compute + comm_exposed + copy + idle = step.
type KindBudget struct {
	Compute     float64 `json:"compute"`
	CommExposed float64 `json:"comm_exposed"`
	Copy        float64 `json:"copy"`
	Idle        float64 `json:"idle"`
	HostGap     float64 `json:"host_gap"` // the part of idle that lies behind the step's last GPU work
}

// Serving is what marks of a serving engine say beyond its steps.
type Serving struct {
	Engine string `json:"engine"` // vllm, sglang, trtllm, atom, other
	// ITL is from one step that gives a running request a token to the next, whatever lies between.
	ITL              *Quantiles   `json:"itl_ms"`              // null: no two such steps
	DecodeTokensPerS *float64     `json:"decode_tokens_per_s"` // null: not known
	PrefillMsPer1k   *float64     `json:"prefill_ms_per_1k"`   // null: no prefill, or its tokens are not marked
	MixedPenalty     *float64     `json:"mixed_penalty"`       // median mixed step to decode step of that batch
	Speculation      *Speculation `json:"speculation,omitempty"`
	Floor            *Floor       `json:"floor_ms"` // null: no model was given, or see not_known
	Outside          *OutsidePart `json:"outside,omitempty"`
	EmptyMarks       int          `json:"empty_marks"` // nothing was launched in them
	CutMarks         int          `json:"cut_marks"`   // not closed when the capture ended
	Pauses           int          `json:"pauses"`      // between two steps: nothing to do, or stopped
	// Closing says whether the last mark only ends the step before it: what was launched in it lies outside
	Closing  bool     `json:"closing_mark"`
	NotKnown []string `json:"not_known"`
}

// Quantiles is of many values.
type Quantiles struct {
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Count int     `json:"count"`
}

// Speculation is the price of drafting tokens and judging them.
type Speculation struct {
	DraftMs  float64 `json:"draft_ms"` // per round: all draft steps to one that verifies
	VerifyMs float64 `json:"verify_ms"`
	// BreakEven is how many tokens a round must give to be worth its time; null: no plain decode step to compare with
	BreakEven *float64 `json:"break_even_tokens"`
	// Accepted is what a round gives, as the user says; null: not said. Faster is how many times as fast it is then as
	// plain decode steps; null: not known.
	Accepted *float64 `json:"accepted_tokens,omitempty"`
	Faster   *float64 `json:"times_as_fast,omitempty"`
}

// judge says what so many tokens a round are worth; 0: it is not said.
func (s *Speculation) judge(accepted float64) {
	if s == nil || accepted == 0 {
		return
	}
	s.Accepted = &accepted
	if s.BreakEven != nil {
		faster := accepted / *s.BreakEven
		s.Faster = &faster
	}
}

// OutsidePart is the capture's time outside engine steps.
type OutsidePart struct {
	Ms        float64 `json:"ms"`
	GPUMs     float64 `json:"gpu_ms"` // of these the GPU works
	LongestMs float64 `json:"longest_ms"`
	Doing     string  `json:"doing"`    // what the host did in the longest idle span of that, as in idle_by_host
	DoingMs   float64 `json:"doing_ms"` // how long that is
	Call      string  `json:"call"`     // the call that lasted longest in it
}

// serving describes an engine's steps; nil: they are not an engine's.
func (o *one) serving(steps *Steps, opt ServingOptions, inputs int) *Serving {
	e := o.steps.Engine
	if e == nil {
		return nil
	}
	head := &e.Groups[e.Head]
	steps.Engine, steps.Kind, steps.Bucket = e.Engine, string(head.Kind), head.Bucket
	steps.Size = e.SizeOf(o.steps.First, o.steps.Last)
	k := kinds{o: o, e: e, each: o.f.PerStep(o.steps), more: o.f.Serving(o.steps)}
	for _, s := range o.steps.All {
		k.totalNs += s.LenNs()
	}
	steps.Kinds = []StepKind{}
	for _, g := range e.InOrder() {
		steps.Kinds = append(steps.Kinds, k.of(g))
	}
	s := &Serving{Engine: e.Engine, EmptyMarks: e.Empty, CutMarks: e.Cut, Pauses: e.Pauses,
		Closing: e.Closing != "", NotKnown: []string{}}
	s.Outside = o.outside()
	if s.Outside != nil {
		steps.OutsideMs = &s.Outside.Ms
	}
	k.tokens(s)
	s.Speculation.judge(opt.Accepted)
	floor, why := o.floor(opt, inputs)
	if s.Floor = floor; why != "" {
		s.NotKnown = append(s.NotKnown, why)
	}
	return s
}

// kinds looks at groups of engine steps.
type kinds struct {
	o       *one
	e       *facts.EngineSteps
	each    []facts.StepBudget
	more    []facts.ServingStep // nil: steps of the host
	totalNs int64
}

// of is the figures of a group.
func (k *kinds) of(g *facts.EngineGroup) StepKind {
	x := StepKind{Kind: string(g.Kind), Name: g.Name, Bucket: g.Bucket, Size: g.Size(), Count: len(g.Steps),
		TotalMs: ms(g.TotalNs), ShareOfGPU: float64(g.TotalNs) / float64(max(1, k.totalNs))}
	if g.Requests[0] != facts.NotSaid {
		batch := g.Requests
		x.Batch = &batch
	}
	if g.Tokens[0] != facts.NotSaid {
		tokens := g.Tokens
		x.Tokens = &tokens
	}
	steps := k.steady(g)
	n := float64(len(steps))
	var lengths []float64
	var kernelNs, graphNs, padded, requests int64
	gap := make(map[string]float64)
	for _, i := range g.Steps {
		if k.e.Each[i].Open {
			x.Open++
		}
	}
	for _, i := range steps {
		s, b := k.o.steps.All[i], &k.each[i]
		lengths = append(lengths, ms(s.LenNs()))
		x.Budget.Compute += b.ComputeNs / 1e6 / n
		x.Budget.CommExposed += b.CommExposedNs / 1e6 / n
		x.Budget.Copy += b.CopyNs / 1e6 / n
		x.Budget.Idle += b.IdleNs / 1e6 / n
		if e := &k.e.Each[i]; e.Padded > 0 && e.Requests > 0 {
			padded, requests = padded+e.Padded, requests+e.Requests
		}
		if k.more == nil {
			continue
		}
		m := &k.more[i]
		kernelNs, graphNs = kernelNs+m.KernelNs, graphNs+m.GraphNs
		x.GraphsStep += float64(m.Graphs) / n
		x.LaunchesOne += float64(m.Launches) / n
		for part, ns := range m.GapNs {
			gap[facts.GapNames[part]] += ms(ns) / n
		}
		x.HostGapMs += ms(m.Gap()) / n
	}
	x.GPUMs = x.Budget.Compute + x.Budget.CommExposed + x.Budget.Copy
	x.Budget.HostGap = x.HostGapMs
	if k.more != nil && x.Open < x.Count {
		x.HostGap = gap
	}
	if kernelNs > 0 {
		x.GraphShare = float64(graphNs) / float64(kernelNs)
	}
	if requests > 0 {
		x.Padding = float64(padded) / float64(requests)
	}
	slices.Sort(lengths)
	for _, v := range lengths {
		x.MeanMs += v / n
	}
	x.P50Ms, x.P90Ms, x.P99Ms = stat.Quantile(lengths, 0.5), stat.Quantile(lengths, 0.9), stat.Quantile(lengths, 0.99)
	k.perToken(&x, steps)
	return x
}

// steady is the steps that a group's figures are of: start-up left out, unless there are no others.
func (k *kinds) steady(g *facts.EngineGroup) []int {
	steps := k.e.Closed(g)
	later := slices.DeleteFunc(slices.Clone(steps), func(i int) bool {
		return slices.ContainsFunc(k.o.steps.Startup, func(st facts.StartupStep) bool { return st.Index == i })
	})
	if len(later) == 0 {
		return steps
	}
	return later
}

// perToken is the tokens of a mean step, and of one that reads prompts the time for a thousand, where marks count them.
func (k *kinds) perToken(x *StepKind, steps []int) {
	var tokens, ns int64
	for _, i := range steps {
		n := k.e.Each[i].Tokens
		if n == facts.NotSaid {
			return
		}
		tokens, ns = tokens+n, ns+k.o.steps.All[i].LenNs()
	}
	if tokens == 0 || x.Kind == string(facts.KindDraft) || x.Kind == string(facts.KindVerify) {
		return
	}
	mean := float64(tokens) / float64(len(steps))
	x.TokensStep = &mean
	if x.Kind == string(facts.KindPrefill) {
		per := ms(ns) / float64(tokens) * 1000
		x.Per1kMs = &per
	}
}

// tokens fills in what running requests see.
func (k *kinds) tokens(s *Serving) {
	e, all := k.e, k.o.steps.All
	count := make(map[facts.StepKind]int)
	var tokens, prefillTokens, prefillNs int64
	said, prefillSaid := true, true
	for i := range e.Each {
		x := &e.Each[i]
		count[x.Kind]++
		switch x.Kind {
		case facts.KindDecode, facts.KindMixed:
			if x.DecodeTokens == facts.NotSaid || x.DecodeTokens > x.Decode {
				said = false // how many drafted tokens are taken no mark says
				continue
			}
			tokens += x.DecodeTokens
		case facts.KindPrefill:
			prefillSaid = prefillSaid && x.Tokens > 0
			prefillTokens, prefillNs = prefillTokens+max(0, x.Tokens), prefillNs+all[i].LenNs()
		}
	}
	if v := slices.Sorted(slices.Values(tokenIntervals(k.o.steps))); len(v) > 0 {
		s.ITL = &Quantiles{stat.Quantile(v, 0.5), stat.Quantile(v, 0.9), stat.Quantile(v, 0.99), len(v)}
		if said && count[facts.KindVerify] == 0 && tokens > 0 {
			per := float64(tokens) / (float64(k.totalNs) / 1e9)
			s.DecodeTokensPerS = &per
		}
	}
	if !said || count[facts.KindVerify] > 0 {
		s.NotKnown = append(s.NotKnown, "tokens per second: marks do not say how many drafted tokens are accepted")
	}
	if prefillTokens > 0 && prefillSaid {
		per := ms(prefillNs) / float64(prefillTokens) * 1000
		s.PrefillMsPer1k = &per
	}
	s.MixedPenalty = k.mixedPenalty()
	s.Speculation = k.speculation()
	if count[facts.KindPrefill]+count[facts.KindDecode]+count[facts.KindMixed] == 0 {
		return
	}
	s.NotKnown = append(s.NotKnown, "time to first token: queueing, arrival and network are not in a capture; the "+
		"server's metrics have it")
}

// medianOf is the median length of closed steps that are accepted, in ms, and how many there are.
func (k *kinds) medianOf(is func(x *facts.EngineStep) bool) (median float64, count int) {
	var v []float64
	for i := range k.e.Each {
		if x := &k.e.Each[i]; !x.Open && is(x) {
			v = append(v, ms(k.o.steps.All[i].LenNs()))
		}
	}
	if len(v) == 0 {
		return 0, 0
	}
	slices.Sort(v)
	return stat.Quantile(v, 0.5), len(v)
}

// mixedPenalty is how much longer mixed steps take than decode steps with about as many running requests, weighted by
// how many mixed steps have such a partner; nil: none has.
func (k *kinds) mixedPenalty() *float64 {
	var sum, weight float64
	for bucket := int64(1); bucket <= 1<<20; bucket *= 2 {
		of := func(kind facts.StepKind) func(x *facts.EngineStep) bool {
			return func(x *facts.EngineStep) bool {
				return x.Kind == kind && x.Decode > bucket/2 && x.Decode <= bucket
			}
		}
		mixed, n := k.medianOf(of(facts.KindMixed))
		decode, m := k.medianOf(of(facts.KindDecode))
		if n > 0 && m > 0 && decode > 0 {
			sum, weight = sum+float64(n)*mixed/decode, weight+float64(n)
		}
	}
	if weight == 0 {
		return nil
	}
	mean := sum / weight
	return &mean
}

// speculation is the price of a round; nil: nothing is verified.
func (k *kinds) speculation() *Speculation {
	verify, n := k.medianOf(func(x *facts.EngineStep) bool { return x.Kind == facts.KindVerify })
	if n == 0 {
		return nil
	}
	s := &Speculation{VerifyMs: verify}
	for i := range k.e.Each {
		if k.e.Each[i].Kind == facts.KindDraft {
			s.DraftMs += ms(k.o.steps.All[i].LenNs()) / float64(n)
		}
	}
	if decode, m := k.medianOf(func(x *facts.EngineStep) bool { return x.Kind == facts.KindDecode }); m > 0 {
		tokens := (s.DraftMs + s.VerifyMs) / decode
		s.BreakEven = &tokens
	}
	return s
}

// outside is the time outside engine steps; nil: there is none, or steps are the host's.
func (o *one) outside() *OutsidePart {
	x := o.f.Outside(o.steps)
	if x.Ns <= 0 {
		return nil
	}
	out := &OutsidePart{Ms: ms(x.Ns), GPUMs: ms(x.BusyNs), LongestMs: ms(x.Longest.LenNs())}
	var gaps []facts.IdleGap
	for _, d := range o.f.Idleness(x.Longest) {
		gaps = append(gaps, d.Gaps...)
	}
	for _, g := range facts.LongestGaps(gaps, 1) {
		cause := o.mainCause(g)
		out.Doing, out.DoingMs = o.f.CauseText(cause), ms(g.LenNs())
		out.Call, _ = o.f.CallBehind(g, cause.Kind)
	}
	return out
}

// kindsDiffer says whether the steps looked at of several inputs are engine steps of different kinds or sizes.
func kindsDiffer(steps []*facts.Steps) bool {
	seen := make(map[string]bool)
	for _, s := range steps {
		name := ""
		if s.Engine != nil {
			g := &s.Engine.Groups[s.Engine.Head]
			name = KindName(string(g.Kind), g.Bucket)
		}
		seen[name] = true
	}
	return len(seen) > 1
}

// frontEnd is in the name of a capture that vLLM's front end makes of itself.
const frontEnd = ".async_llm."

// frontEnds warns of captures of an engine's front end: what the GPUs did is in those of its workers.
func frontEnds(in []*facts.Facts) (out []string) {
	for _, f := range in {
		if name := filepath.Base(f.Trace.Info.Path); strings.Contains(name, frontEnd) && f.Work().Len() == 0 {
			out = append(out, "a capture of a serving engine's front end, which launches no GPU work: those of its "+
				"workers are made beside it (*rank0*): "+name)
		}
	}
	return out
}

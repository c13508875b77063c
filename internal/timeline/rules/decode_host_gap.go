package rules

import (
	"fmt"
	"strings"

	"lacuna/internal/timeline/facts"
)

var decodeHostGap = Rule{
	ID:    "decode_host_gap",
	Title: "Between two decode steps the GPU waits for the scheduler",
	Since: "0.3",
	Doc: `
A serving engine gives each running request a token per decode step. Between the last GPU work of a step and the first
of the next the GPU is idle while the host reads the tokens, keeps its books, schedules, prepares inputs and launches.
Steps are those that the engine marks.

The rule fires where this takes 5 % of the decode steps or more, in the median and in the mean. If the host blocks until
a step's work is done, the scheduler waits for its tokens: it can work ahead, and read them a step later. If it does
not, the host needs longer for an iteration than the GPU, and only less host work helps.`,
	Limits: `
Profilers slow the host: the predicted gain comes from the replay without their overhead. Structured output and some
kinds of speculation need each step's tokens before the next is scheduled. Engines without marks are not recognised.`,
	Fix: `
Let the scheduler work on the next step while the GPU works on this one:

    vllm serve MODEL --async-scheduling
    python -m sglang.launch_server --model MODEL      # without --disable-overlap-schedule
    disable_overlap_scheduler: false                  # TensorRT-LLM, extra LLM API options

Fewer processes beside the engine on its cores, and detokenizing in another process, shorten the gap as well.`,
	FixC: `Launch the next step before the tokens of this one are read; read them from pinned memory a step later, behind
an event.`,
	Confirm: `The next mark begins while the GPU still works on the step before, and the gap falls below 5 % of the
step.`,
	RefutedBy: `The gap stays as it is with overlapped scheduling: the host needs longer for an iteration than the GPU.`,
	Check:     checkDecodeHostGap,
}

// aheadFix is what to do where the scheduler works ahead already.
const aheadFix = `
The scheduler does not wait for the GPU: an iteration takes the host longer. Make it cheaper:

    sample on the GPU, without logprobs, penalties or structured output that the host computes
    run detokenizing and the HTTP server in processes of their own, on cores of their own
    decode from CUDA graphs, larger batches`

func checkDecodeHostGap(c *Case, out *Findings) {
	if c.decodes() && c.endsUnknown() {
		out.Cannot("one step only: what comes between two decode steps is not in the capture",
			"two decode steps in a row", "a profile of 10 steps or more")
		return
	}
	g := c.hostGap()
	if !g.isLong(c) {
		return
	}
	confidence, why := 0.85, "the scheduler waits for the tokens of each step"
	if !g.waitsForTokens() {
		confidence, why = 0.7, "the host needs longer for an iteration than the GPU"
	}
	if g.steps < fewDecodes {
		confidence = 0.5
	}
	f := out.Add(confidence, g.meanNs, "Between two decode steps the GPU waits %s of %s: %s", ms(g.meanNs), ms(c.StepNs),
		why)
	f.Because(fmt.Sprintf("behind %d decode steps the GPU has nothing to do for %s in the median (%.1f %% of the step)",
		g.steps, ms(g.medianNs), 100*g.medianNs/c.StepNs), g.rows(c, 3)...)
	f.Because("meanwhile the host: " + g.words())
	if g.waitsForTokens() {
		f.Because(fmt.Sprintf("in %d of %d steps the host blocks until the step's work is done", g.waits, g.steps))
		f.Repair("overlap-schedule")
		return
	}
	f.Because(fmt.Sprintf("in %d of %d steps the host does not block until the step's work is done", g.steps-g.waits,
		g.steps))
	f.Fix = aheadFix
}

// fewDecodes is how many steps are too few to be sure that a loop does what they do.
const fewDecodes = 5

// gapWords is the parts of a gap, in the order of an iteration.
var gapWords = []struct {
	part facts.GapPart
	text string
}{
	{facts.GapSample, "waits for or samples tokens"}, {facts.GapOther, "works between the marks"},
	{facts.GapSchedule, "schedules"}, {facts.GapPrepare, "prepares inputs"}, {facts.GapLaunch, "launches"},
}

// words is what the host does in the gap.
func (g *hostGap) words() string {
	var parts []string
	for _, p := range gapWords {
		if ns := g.parts[p.part]; ns >= 0.01*g.meanNs {
			parts = append(parts, fmt.Sprintf("%s %s", p.text, ms(ns)))
		}
	}
	return strings.Join(parts, ", ")
}

// Package servesim is a model of a serving engine for tests: a scheduler with requests, chunked prefill, decoding by
// graphs or kernel by kernel, that waits for each step's tokens or works ahead. It writes the capture of a run in the
// text form of traces, and says what is true of it. Times are invented but of a usual size.
package servesim

import (
	"fmt"
	"strings"
)

// A Load is what is served, and how.
type Load struct {
	Engine   string // vllm, vllm-detailed, sglang, trtllm, atom
	Prompts  []int  // tokens of each request's prompt
	Outputs  int    // tokens that each request gets
	Arrive   int    // a request comes every so many iterations; 0: all at the start
	Chunk    int    // most prompt tokens of an iteration; 0: any
	Mixed    bool   // prompts and running requests share an iteration; else prompts go first, alone
	Graphs   bool   // decoding is launched as a graph
	Ahead    bool   // the scheduler works while the GPU does: it waits for the tokens of the step before
	CallNs   int64  // of a launch; 0: 5 µs
	KernelNs int64  // of a layer's kernel with few tokens; 0: 20 µs
	Layers   int    // kernels of a pass are two a layer, and one for the logits
	Sample   int    // sampling kernels behind the logits, each with a wait; 0: one, without
	Pads     bool   // graphs exist for batches of 1, 8, 16 …: marks say so where the engine's do
	KVNs     int64  // each decode step copies a part of the cache from pinned memory for so long; 0: none

	ScheduleNs int64 // host time between two marks
	PrepareNs  int64 // host time in a mark before the first launch
}

// A Step is an iteration as the model made it.
type Step struct {
	Kind          string
	Prefill       int // requests
	Decode        int
	PrefillTokens int
	StartNs       int64 // of its first kernel
	EndNs         int64 // of its last
}

// Costs of the model, in ns.
const (
	callNs     = 5_000 // a launch, of a kernel or of a graph
	copyNs     = 2_000 // a small copy
	latencyNs  = 3_000 // from a call to its kernel
	nodeNs     = 1_000 // from one kernel to the next
	kernelNs   = 20_000
	perTokenNs = 60 // of each kernel
	logitsNs   = 40_000
	sampleNs   = 10_000
	bookkeepNs = 20_000
)

// Run serves a load until every request has its tokens.
func (l Load) Run() (events string, steps []Step) {
	r := &run{Load: l}
	r.serve()
	return r.text.String(), r.steps
}

type request struct{ prompt, left int }

type run struct {
	Load
	text    strings.Builder
	steps   []Step
	host    int64 // time on the host
	gpu     int64 // when the device is free
	corr    int
	done    int64 // when the step before is done
	pending []request
	running []request
	n       int
}

// serve is the engine's loop.
func (r *run) serve() {
	next := 0
	for {
		for next < len(r.Prompts) && (r.Arrive == 0 || next*r.Arrive <= r.n) {
			r.pending = append(r.pending, request{r.Prompts[next], r.Outputs})
			next++
		}
		if len(r.pending)+len(r.running) == 0 && next == len(r.Prompts) {
			return
		}
		r.iterate()
		r.n++
	}
}

// iterate is a scheduler's iteration: which requests, then the pass, then its tokens.
func (r *run) iterate() {
	r.host += max(r.ScheduleNs, 1000)
	s := Step{Kind: "decode"}
	budget := r.Chunk
	if budget == 0 {
		budget = 1 << 30
	}
	var full int
	for i := range r.pending {
		take := min(budget, r.pending[i].prompt)
		if take == 0 {
			break
		}
		s.Prefill, s.PrefillTokens, budget = s.Prefill+1, s.PrefillTokens+take, budget-take
		if r.pending[i].prompt -= take; r.pending[i].prompt == 0 {
			full++
		}
	}
	if s.Prefill == 0 || r.Mixed {
		s.Decode = len(r.running)
	}
	switch {
	case s.Prefill > 0 && s.Decode > 0:
		s.Kind = "mixed"
	case s.Prefill > 0:
		s.Kind = "prefill"
	}
	start := r.host
	r.host += max(r.PrepareNs, 1000)
	r.pass(&s)
	fmt.Fprintf(&r.text, "range annotation %d+%d %s\n", start, r.host-start, r.mark(&s))
	r.finish()
	r.steps = append(r.steps, s)
	var still []request
	for _, q := range r.running {
		if s.Decode > 0 {
			q.left--
		}
		if q.left > 0 {
			still = append(still, q)
		}
	}
	for _, q := range r.pending[:full] {
		if q.left--; q.left > 0 {
			still = append(still, q)
		}
	}
	r.running, r.pending = still, r.pending[full:]
}

// pass launches a step's kernels.
func (r *run) pass(s *Step) {
	if r.KVNs > 0 && s.Kind == "decode" {
		r.call("cudaMemcpyAsync", callNs)
		begin := max(r.host+latencyNs, r.gpu)
		fmt.Fprintf(&r.text, "copy HtoD pinned->device s7 c%d bytes=%d %d+%d\n", r.corr, r.KVNs*25, begin, r.KVNs)
		r.gpu = begin + r.KVNs
	}
	tokens := int64(s.PrefillTokens + s.Decode)
	graph := r.Graphs && s.Kind == "decode"
	if graph {
		r.call("cudaGraphLaunch", callNs)
	}
	for i := range 2*max(r.Layers, 1) + 1 {
		name, ns := "ampere_gemm_layer", r.layerNs()+perTokenNs*tokens
		if i == 2*max(r.Layers, 1) {
			name, ns = "ampere_gemm_logits", logitsNs
		} else if i%2 == 1 {
			name = "flash_fwd_kernel"
		}
		if !graph {
			r.call("cudaLaunchKernel", max(r.CallNs, callNs))
		}
		begin := r.kernel(name, ns)
		if i == 0 {
			s.StartNs = begin
		}
	}
	for range max(r.Sample, 1) {
		r.call("cudaLaunchKernel", callNs)
		r.kernel("sample_kernel", sampleNs)
		if r.Sample > 0 {
			r.wait(r.gpu)
		}
	}
	s.EndNs = r.gpu
}

func (r *run) call(name string, ns int64) {
	r.corr++
	fmt.Fprintf(&r.text, "call c%d %d+%d %s\n", r.corr, r.host, ns, name)
	r.host += ns
}

// kernel is launched by the last call.
func (r *run) kernel(name string, ns int64) (begin int64) {
	begin = max(r.host+latencyNs, r.gpu+nodeNs)
	fmt.Fprintf(&r.text, "kernel s7 c%d %d+%d %s\n", r.corr, begin, ns, name)
	r.gpu = begin + ns
	return begin
}

// wait is a call that returns when the device has come to an instant.
func (r *run) wait(until int64) {
	r.call("cudaEventSynchronize", max(until-r.host, 0)+1000)
}

// finish reads the tokens: of this step, or where the scheduler works ahead of the one before.
func (r *run) finish() {
	r.call("cudaMemcpyAsync", callNs)
	begin := max(r.host+latencyNs, r.gpu+nodeNs)
	fmt.Fprintf(&r.text, "copy DtoH device->pinned s7 c%d bytes=256 %d+%d\n", r.corr, begin, copyNs)
	r.gpu = begin + copyNs
	until := r.gpu
	if r.Ahead {
		until = r.done
	}
	r.done = r.gpu
	if until > 0 {
		r.wait(until)
	}
	r.host += bookkeepNs
}

// padded is the batch that the graph was captured for.
func padded(batch int) int {
	if batch <= 1 {
		return 1
	}
	return (batch + 7) / 8 * 8
}

// mark is the step's name as the engine writes it.
func (r *run) mark(s *Step) string {
	c, g, tokens := s.Prefill, s.Decode, s.PrefillTokens
	switch r.Engine {
	case "vllm":
		return fmt.Sprintf("execute_context_%d(%d)_generation_%d(%d)", c, tokens, g, g)
	case "vllm-detailed":
		return fmt.Sprintf("execute_%d_context_%d(sq%dsk%dsqsq%dsqsk%d)_generation_%d(sq%dsk%dsqsq%dsqsk%d)", tokens+g, c,
			tokens, tokens, tokens*tokens, tokens*tokens, g, g, g*500, g, g*500)
	case "trtllm":
		return fmt.Sprintf("[Executor] _forward_step %d: %d ctx reqs, %d ctx tokens, %d gen reqs", r.n+1, c, tokens, g)
	case "sglang":
		switch {
		case c > 0 && g > 0:
			return fmt.Sprintf("step[MIXED bs=%d c=%d g=%d c_sq=%d g_sq=%d]", c+g, c, g, tokens, g)
		case c > 0:
			return fmt.Sprintf("step[EXTEND bs=%d toks=%d]", c, tokens)
		case r.Pads && r.Graphs:
			return fmt.Sprintf("step[DECODE bs=%d raw_bs=%d]", padded(g), g)
		}
		return fmt.Sprintf("step[DECODE bs=%d]", g)
	}
	switch {
	case c > 0 && g > 0:
		return fmt.Sprintf("decode[bs=%d tok=%d p=%d d=%d]", c+g, tokens+g, c, g)
	case c > 0:
		return fmt.Sprintf("prefill[bs=%d tok=%d ctx=%d]", c, tokens, tokens)
	case !r.Graphs:
		return fmt.Sprintf("eager_decode[bs=%d tok=%d d=%d]", g, g, g)
	case r.Pads:
		return fmt.Sprintf("decode[bs=%d/%d tok=%d d=%d]", g, padded(g), g, g)
	}
	return fmt.Sprintf("decode[bs=%d tok=%d d=%d]", g, g, g)
}

func (r *run) layerNs() int64 {
	if r.KernelNs > 0 {
		return r.KernelNs
	}
	return kernelNs
}

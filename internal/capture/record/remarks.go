package record

import (
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/base/unit"
)

// remarks is what the user should know of a recording with these contents, most important first. Each says what to do.
func (c *Contents) remarks(o *Options) (out []string) {
	if len(c.Agents) == 0 {
		return append(c.nothing(o), c.damage()...)
	}
	out = append(out, c.troubled()...)
	out = append(out, c.empty(o)...)
	out = append(out, c.dropped()...)
	out = append(out, c.damage()...)
	if c.work() > 0 && o.GPU == nil && o.NoGPU != "" {
		out = append(out, "clocks, power and temperature of the GPUs are not recorded: "+o.NoGPU)
	}
	return out
}

// Remarks is what the user should know of spools that were packed later, when it is not known any more how they were
// asked for.
func (c *Contents) Remarks() []string {
	return slices.Concat(c.troubled(), c.dropped(), c.damage())
}

func (c *Contents) work() (n int64) {
	for _, a := range c.Agents {
		n += a.Work
	}
	return n
}

func (c *Contents) full() bool {
	return slices.ContainsFunc(c.Agents, func(a Recorded) bool { return a.Full })
}

// nothing says why no process has written a spool.
func (c *Contents) nothing(o *Options) []string {
	if why := never(o.Window); why != "" {
		return []string{why + "; or no process of the program used CUDA or NVTX at all"}
	}
	had := "the recording holds clocks and threads only"
	if c.Counters > 0 || c.Samples > 0 {
		var parts []string
		if c.Counters > 0 {
			parts = append(parts, "the state of the GPUs")
		}
		if c.Samples > 0 {
			parts = append(parts, count(c.Samples, "sample of the CPUs", "samples of the CPUs"))
		}
		had = "the recording holds " + strings.Join(parts, " and ")
	}
	return []string{"no CUDA call was seen, and no NVTX: " + had +
		". Either no process of the program used CUDA, or those that did were started " +
		"without its environment (docker run, sudo, ssh, srun --export=NONE, a service that ran before): there, " +
		"run lacuna record inside"}
}

// troubled tells of processes whose GPU work is not recorded, equal reasons once.
func (c *Contents) troubled() (out []string) {
	by := make(map[string][]string) // processes by what is wrong
	var order []string
	add := func(a *Recorded, text string) {
		if by[text] == nil {
			order = append(order, text)
		}
		by[text] = append(by[text], fmt.Sprint(a.Pid))
	}
	for i := range c.Agents {
		a := &c.Agents[i]
		why := ""
		if a.Why != "" {
			why = " (" + a.Why + ")"
		}
		switch {
		case a.State == StateRefused && a.Holder != "":
			add(a, fmt.Sprintf("another tool uses CUPTI: %s%s. Only one can record GPU work: run the program "+
				"without it; everything else was recorded", a.Holder, why))
		case a.State == StateRefused:
			add(a, fmt.Sprintf("another tool uses CUPTI%s: torch.profiler in the program, nsys, ncu or a profiling "+
				"service. Only one can record GPU work: switch it off; everything else was recorded", why))
		case a.State == StateYielded:
			add(a, fmt.Sprintf("stood aside for another tool, as --yield asks%s", why))
		case a.State == StateFailed:
			add(a, fmt.Sprintf("CUPTI could not record%s; lacuna doctor says what it needs", why))
		case a.Fork && a.Work == 0 && a.Calls == 0 && a.Ranges > 0:
			continue // a worker, as they should be
		}
		for _, what := range a.Others {
			add(a, what)
		}
		for _, m := range a.Missing {
			add(a, fmt.Sprintf("CUPTI does not record %s: %s", m.What, m.Why))
		}
	}
	for _, text := range order {
		pids := by[text]
		who := "process " + pids[0]
		if len(pids) > 1 {
			who = fmt.Sprintf("%d processes (%s)", len(pids), few(pids))
		}
		out = append(out, who+": "+text)
	}
	return out
}

// empty says why there are processes, but no GPU work of them.
func (c *Contents) empty(o *Options) []string {
	var windows, ranges, calls int64
	cupti, troubled := false, false
	for _, a := range c.Agents {
		windows += int64(a.Windows)
		ranges += a.Ranges
		calls += a.Calls
		cupti = cupti || a.CUPTI
		troubled = troubled || a.State == StateRefused || a.State == StateYielded || a.State == StateFailed
	}
	switch {
	case c.work() > 0 || troubled:
		return nil
	case windows == 0 && never(o.Window) != "":
		return []string{never(o.Window)}
	case !cupti && calls == 0:
		return []string{fmt.Sprintf("no CUDA call was seen: %s of NVTX were recorded",
			count(ranges, "event", "events"))}
	}
	return []string{"no GPU work was seen while recording was on: CUDA was in use, but no kernel and no copy ran"}
}

// never says why a window has never opened; "" of those that always do.
func never(w Window) string {
	switch w.Kind {
	case Steps:
		name := "step, iter, iteration or batch and a number"
		if w.Range != "" {
			name = w.Range
		}
		return fmt.Sprintf("recording never began: fewer than %d NVTX ranges called %s were seen in a process (a "+
			"recording without --steps shows what ranges there are; --step-range names them)", w.From+1, name)
	case Profiler:
		return "recording never began: the program did not call cudaProfilerStart (torch.cuda.profiler.start)"
	case Delayed:
		return fmt.Sprintf("recording never began: no process lived longer than --delay %v", w.Delay)
	case Armed:
		return "recording never began: run lacuna record start while the program runs"
	}
	return ""
}

// dropped says what could not be kept, with the remedy.
func (c *Contents) dropped() (out []string) {
	var dropped, byCUPTI, records, unfinished uint64
	for _, a := range c.Agents {
		dropped += a.Account.Dropped
		byCUPTI += a.Account.CuptiDropped
		records += a.Account.Records
		unfinished += a.Account.Unfinished
	}
	if c.full() {
		out = append(out, fmt.Sprintf("the disk was full for a time, and %s dropped; --spool-dir puts them where "+
			"there is room", count(int64(dropped), "record was", "records were")))
	} else if dropped > 0 {
		out = append(out, fmt.Sprintf("%s of %s dropped: they arrived faster than they could be written. Give them "+
			"more room (--memory 1024), or record less: --kinds, a shorter --duration or --steps",
			unit.FormatCount(int64(dropped)), count(int64(records+dropped), "record was", "records were")))
	}
	if byCUPTI > 0 {
		out = append(out, fmt.Sprintf("CUPTI dropped %s: record less at a time, with --kinds, a shorter --duration "+
			"or --steps", count(int64(byCUPTI), "record", "records")))
	}
	if unfinished > 0 {
		out = append(out, fmt.Sprintf("%s not finished when recording ended; they are counted, and not shown",
			count(int64(unfinished), "kernel or copy was", "kernels and copies were")))
	}
	return out
}

// damage tells of what the spools themselves lack.
func (c *Contents) damage() []string {
	if c.Lost.Bytes == 0 && c.Lost.Chunks == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s of the spools are damaged, and %s missing; the rest is intact",
		count(c.Lost.Bytes, "byte", "bytes"), count(c.Lost.Chunks, "chunk is", "chunks are"))}
}

// few is the first of a list, and how many more there are.
func few(words []string) string {
	const most = 4
	words = slices.Clone(words)
	if n := len(words) - most; n > 0 {
		words = append(words[:most], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(words, ", ")
}

// count is "1 process" or "3 processes".
func count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return unit.FormatCount(int64(n)) + " " + many
}

// Size is a number of bytes for people.
func Size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.0f kB", float64(n)/1e3)
}

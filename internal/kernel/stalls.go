package kernel

import (
	"cmp"
	"slices"
	"strings"
)

// Stalls is what warps did between two instructions. It says why warps waited, not that the kernel
// is slow because of it: with enough other warps to issue from, waiting costs nothing.
type Stalls struct {
	Reasons []Stall      // the largest first; shares sum to 1
	Groups  []StallGroup // the same in groups, the largest first
	// CyclesPerInstruction is how many cycles pass from one instruction of a warp to its next; 0: not known.
	CyclesPerInstruction float64
	// Sampled says that shares are of samples of the program counter, as the exact counters are absent.
	Sampled bool
	Slots   *Slots // nil: not collected
}

// A Stall is one reason for which a warp does not issue in a cycle.
type Stall struct {
	Reason string // as in the profiler's metrics: "long_scoreboard"
	Share  float64
	// warps in this state per cycle with an instruction, which is cycles per instruction; 0 where only sampled
	PerIssue float64
	Group    string
	Words    string // what the warp waits for
}

// A StallGroup is reasons with one cause.
type StallGroup struct {
	Name  string
	Share float64
}

// Slots is how schedulers were fed. An SM has four; each can issue one instruction a cycle.
type Slots struct {
	Issued   float64 // share of cycles in which an instruction was issued, while the SM was active
	Eligible float64 // warps a scheduler could have chosen from, mean per cycle; -1: not known
	Active   float64 // warps a scheduler had, mean per cycle; -1: not known
	Most     float64 // warps a scheduler can have, by the launch's resources; -1: not known
}

// Groups of stall reasons.
const (
	WaitsForMemory    = "Long Scoreboard: waiting for L1TEX results"
	WaitsForShared    = "Short Scoreboard: waiting for shared memory or XU"
	WaitsInQueue      = "LG, MIO, Tex Throttle: waiting for room in a queue"
	WaitsForPipe      = "Math Pipe Throttle, Dispatch: waiting for a busy pipe"
	WaitsForOthers    = "Barrier, Membar: waiting for other warps"
	WaitsForFixed     = "Wait: fixed latency of the previous instruction"
	WaitsForCode      = "No Instruction, Branch Resolving: waiting for code"
	WaitsForConstants = "IMC Miss: waiting for constants"
	WaitsForMatrix    = "GMMA: waiting for tensor cores"
	WaitsForStores    = "Drain: waiting for stores at the end"
	NoWait            = "issuing or ready"
	WaitsElse         = "other"
)

// reasons says what each reason means. "wait" is a dependency of fixed latency, not the memory;
// "not_selected" is a warp that was ready while another was chosen: normal, and good in bulk.
var reasons = []struct{ Name, Group, Words string }{
	{"long_scoreboard", WaitsForMemory, "Long Scoreboard (L1TEX results: global, local, texture or surface memory)"},
	{"short_scoreboard", WaitsForShared, "Short Scoreboard (shared memory, or the result of a special function or " +
		"a conversion)"},
	{"mio_throttle", WaitsInQueue, "MIO Throttle (the queue to shared memory and special functions is full)"},
	{"lg_throttle", WaitsInQueue, "LG Throttle (the queue to global and local memory is full)"},
	{"tex_throttle", WaitsInQueue, "Tex Throttle (the queue to the texture unit is full)"},
	{"math_pipe_throttle", WaitsForPipe, "Math Pipe Throttle (the arithmetic pipe is busy)"},
	{"barrier", WaitsForOthers, "Barrier (the other warps of the block)"},
	{"membar", WaitsForOthers, "Membar (a memory fence: earlier writes must become visible)"},
	{"wait", WaitsForFixed, "Wait (fixed latency of the previous instruction)"},
	{"branch_resolving", WaitsForCode, "Branch Resolving (the target of a branch)"},
	{"no_instruction", WaitsForCode, "No Instruction (not in the instruction cache, or after a jump)"},
	{"imc_miss", WaitsForConstants, "IMC Miss (a constant is not in the constant cache)"},
	{"gmma", WaitsForMatrix, "GMMA (asynchronous tensor core work of the warp group)"},
	{"drain", WaitsForStores, "Drain (stores must leave before the warp can end)"},
	{"dispatch_stall", WaitsForPipe, "Dispatch Stall (register bank conflict, or a unit is not free)"},
	{"sleeping", WaitsElse, "Sleeping (the code asked for it)"},
	{"misc", WaitsElse, "Misc (a rare reason)"},
	{"not_selected", NoWait, "Not Selected (ready, but another warp was chosen)"},
	{"selected", NoWait, "Selected (issued)"},
}

// sampleNames is reasons that have another name among the samples.
var sampleNames = map[string]string{"no_instruction": "no_instructions", "gmma": "warpgroup_arrive"}

// Stalls is why warps waited; nil: not collected. From counters (WarpStateStats), else from samples of
// the program counter (SourceCounters).
func (k *Kernel) Stalls() *Stalls { return k.stalls.get(k.deriveStalls) }

func (k *Kernel) deriveStalls() *Stalls {
	s := &Stalls{Slots: k.Slots()}
	counts := k.stallCounts(func(reason string) string {
		return "smsp__average_warps_issue_stalled_" + reason + "_per_issue_active.ratio"
	})
	if counts == nil {
		s.Sampled = true
		counts = k.stallCounts(func(reason string) string {
			if other, ok := sampleNames[reason]; ok {
				reason = other
			}
			return "smsp__pcsamp_warps_issue_stalled_" + reason
		})
	}
	total := 0.0
	for _, v := range counts {
		total += max(v, 0)
	}
	if total <= 0 {
		return nil
	}
	for i, r := range reasons {
		if counts[i] < 0 { // the chip does not have it
			continue
		}
		stall := Stall{Reason: r.Name, Share: counts[i] / total, Group: r.Group, Words: r.Words}
		if !s.Sampled {
			stall.PerIssue = counts[i]
		}
		s.Reasons = append(s.Reasons, stall)
		s.group(r.Group, stall.Share)
	}
	if !s.Sampled {
		s.CyclesPerInstruction = total
	}
	slices.SortStableFunc(s.Reasons, func(a, b Stall) int { return cmp.Compare(b.Share, a.Share) })
	slices.SortStableFunc(s.Groups, func(a, b StallGroup) int { return cmp.Compare(b.Share, a.Share) })
	return s
}

// stallCounts is a number for each reason, -1 where it was not collected; nil: too few were for shares
// of a whole. (Someone may have asked for a single reason: its share is then not known.)
func (k *Kernel) stallCounts(metric func(reason string) string) []float64 {
	out := make([]float64, len(reasons))
	known := 0
	for i, r := range reasons {
		out[i] = -1
		if v, ok := k.number(metric(r.Name)); ok {
			out[i] = max(0, v)
			known++
		}
	}
	if known < fewestReasons {
		return nil
	}
	return out
}

// fewestReasons that make a whole: every chip since Volta has 16 of them or more.
const fewestReasons = 14

func (s *Stalls) group(name string, share float64) {
	i := slices.IndexFunc(s.Groups, func(g StallGroup) bool { return g.Name == name })
	if i < 0 {
		i = len(s.Groups)
		s.Groups = append(s.Groups, StallGroup{Name: name})
	}
	s.Groups[i].Share += share
}

// Share is a reason's share; 0 for one that the chip does not have.
func (s *Stalls) Share(reason string) float64 {
	for _, r := range s.Reasons {
		if r.Reason == reason {
			return r.Share
		}
	}
	return 0
}

// Stall is a reason's share of all that warps did between instructions.
func (k *Kernel) Stall(reason string) (float64, bool) {
	s := k.Stalls()
	if s == nil {
		return 0, false
	}
	return s.Share(reason), true
}

// Top is the largest reasons that are waiting, without issuing and being ready, down to a share.
func (s *Stalls) Top(least float64) []Stall {
	var out []Stall
	for _, r := range s.Reasons {
		if r.Group != NoWait && r.Share >= least {
			out = append(out, r)
		}
	}
	return out
}

// Slots is how the schedulers were fed; nil: not collected.
func (k *Kernel) Slots() *Slots {
	issued, ok := k.number("smsp__issue_active.avg.per_cycle_active")
	if !ok {
		issued, ok = k.percent("smsp__issue_active.avg.pct_of_peak_sustained_active")
	}
	if !ok {
		idle, known := k.percent("smsp__issue_inst0.avg.pct_of_peak_sustained_active")
		issued, ok = 1-idle, known
	}
	if !ok {
		perSM, known := k.number("sm__inst_issued.avg.per_cycle_active", "sm__inst_executed.avg.per_cycle_active")
		issued, ok = perSM/schedulers, known
	}
	if !ok {
		return nil
	}
	orUnknown := func(names ...string) float64 {
		if v, ok := k.number(names...); ok {
			return v
		}
		return -1
	}
	return &Slots{
		Issued:   min(max(issued, 0), 1),
		Eligible: orUnknown("smsp__warps_eligible.avg.per_cycle_active"),
		Active:   orUnknown("smsp__warps_active.avg.per_cycle_active"),
		Most:     orUnknown("smsp__maximum_warps_avg_per_active_cycle"),
	}
}

// schedulers of an SM since Volta.
const schedulers = 4

// Words says in a sentence what warps mostly did; "" if nothing stands out.
func (s *Stalls) Words() string {
	top := s.Top(stallWorthNaming)
	if len(top) == 0 {
		return ""
	}
	var parts []string
	for _, r := range top[:min(2, len(top))] {
		parts = append(parts, percentText(r.Share)+" in "+r.Words)
	}
	text := "of their time between instructions, warps spent " + strings.Join(parts, ", and ")
	if s.Slots != nil {
		text += "; an instruction was issued in " + percentText(s.Slots.Issued) + " of the cycles"
	}
	return text
}

// stallWorthNaming is the share below which a reason is not worth a word: with 19 reasons, an even
// spread is 5 %, and three times that is the least that stands out.
const stallWorthNaming = 0.15

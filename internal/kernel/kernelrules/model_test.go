package kernelrules

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/kernel"
	"lacuna/internal/kernel/cubin"
)

// streaming is a kernel of 1 ms that uses a fifth of DRAM, of issue and of L1.
const streaming = `attribute multiprocessor_count 100
kernel k grid=1000,1,1 block=256,1,1
gpu__time_duration.sum 1000000
gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed 20.0
sm__issue_active.avg.pct_of_peak_sustained_elapsed 20.0
l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed 80.0
dram__bytes_read.sum 1000000
dram__bytes_write.sum 0
`

func caseOf(t *testing.T, text string) *Case {
	t.Helper()
	return NewCase(parse(t, text), 0)
}

// The time after a fix is what the next resource needs, by hand: DRAM at 0.20 of 1000 us, of which 0.88 can be
// reached.
func TestPredict(t *testing.T) {
	c := caseOf(t, streaming)
	for _, test := range []struct {
		name   string
		repair *repair
		us     float64
		next   string
	}{
		{"nothing changes: L1 stays", asNow(), 1000 * (0.80 / 0.85), "L1 and shared memory"},
		{"L1 freed: issue and DRAM alike", asNow().times(0, kernel.L1), 1000 * 0.20 / 0.88 * math.Pow(2, 0.25),
			"DRAM bandwidth"},
		{"half of L1", asNow().leave(0.5, kernel.L1),
			1000 * math.Pow(math.Pow(0.40/0.85, 4)+2*math.Pow(0.20/0.88, 4), 0.25), "L1 and shared memory"},
		{"more than all of it is not left", asNow().leave(1.5, kernel.L1), 1000 * (0.80 / 0.85),
			"L1 and shared memory"},
		{"latency remains", &repair{wait: 0.97}, 970, "latency"},
	} {
		p := c.predict(test.repair)
		if math.Abs(p.us-startUs-test.us) > 4.5 && math.Abs(p.us-test.us) > 4.5 || p.next != test.next {
			t.Errorf("%s: %.1f us, then %s; want %.1f, then %s", test.name, p.us, p.next, test.us, test.next)
		}
		if !(p.low <= p.us && p.us <= p.high && p.high <= 1000) {
			t.Errorf("%s: %.1f us is not in [%.1f, %.1f] of 1000", test.name, p.us, p.low, p.high)
		}
	}
}

// Two fixes at once: what each leaves, multiplied; gains do not add up.
func TestTogether(t *testing.T) {
	c := caseOf(t, streaming)
	a := c.expect(&Finding{Rule: &sharedBankConflicts}, asNow().leave(0.1, kernel.L1))
	b := c.expect(&Finding{Rule: &nonFusedFP}, asNow().leave(0.5, kernel.Issue))
	us, low, high, next, ok := c.Together([]Finding{*a, *b})
	if !ok || next != "DRAM bandwidth" || us >= a.PredictedUs || low > us || us > high {
		t.Errorf("together %.1f us [%.1f, %.1f], then %s; alone %.1f and %.1f", us, low, high, next, a.PredictedUs,
			b.PredictedUs)
	}
	if _, _, _, _, ok := c.Together([]Finding{{Rule: &lowIPC}}); ok {
		t.Error("a finding without a time has one together with nothing")
	}
}

// A cause stands before its symptom whatever they gain; what gains nothing is only mentioned; the last explains
// nothing beside others.
func TestRank(t *testing.T) {
	c := caseOf(t, streaming)
	at := func(r *Rule, share float64) Finding {
		return *c.expect(&Finding{Rule: r}, &repair{wait: share, scale: map[kernel.Resource]float64{kernel.L1: 0}})
	}
	for _, test := range []struct {
		found []Finding
		want  string
	}{
		{[]Finding{at(&barrierStalls, 0.3), at(&sharedBankConflicts, 0.5)}, "shared_bank_conflicts barrier_stalls"},
		{[]Finding{at(&nonFusedFP, 0.5), at(&uncoalescedAccess, 0.4)}, "uncoalesced_access non_fused_fp"},
		{[]Finding{at(&nonFusedFP, 0.95), at(&uncoalescedAccess, 0.4)}, "uncoalesced_access | non_fused_fp"},
		{[]Finding{at(&memoryLatency, 0.3), at(&lowOccupancy, 0.5)}, "low_occupancy | memory_latency"},
		{[]Finding{at(&memoryLatency, 0.3), at(&nonFusedFP, 0.5)}, "non_fused_fp memory_latency"},
		{[]Finding{at(&threadDivergence, 0.3), at(&loadImbalance, 0.4), at(&barrierStalls, 0.35)},
			"load_imbalance thread_divergence barrier_stalls"},
	} {
		o := &Findings{All: slices.Clone(test.found)}
		o.rank(c)
		var names []string
		for _, f := range o.All {
			names = append(names, f.Rule.ID)
		}
		if len(o.Mentioned) > 0 {
			names = append(names, "|", o.Mentioned[0].Rule.ID)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// Of x = a*b; y = x+c; z = x*d the product is used twice: fusing saves nothing. Alone used, it can go; behind a
// branch it is not known.
func TestFusableSums(t *testing.T) {
	op := func(name string, dest uint16, uses ...uint16) cubin.Instruction {
		in := cubin.Instruction{Name: name, Dest: cubin.Span{First: dest, Count: 1}}
		for i, u := range uses {
			in.Uses[i] = cubin.Span{First: u, Count: 1}
		}
		return in
	}
	branch := cubin.Instruction{Name: "BRA", Branch: true}
	at := func(n int, in cubin.Instruction) cubin.Instruction { // in a loop, where it matters
		in.Offset, in.Guard = uint64(n)*cubin.InstructionBytes, 7
		return in
	}
	for _, test := range []struct {
		body []cubin.Instruction
		want string
	}{
		{[]cubin.Instruction{op("FMUL", 1, 2, 3), op("FADD", 4, 1, 5)}, "[1]"},
		{[]cubin.Instruction{op("FMUL", 1, 2, 3), op("FADD", 4, 1, 5), op("FMUL", 6, 1, 7)}, "[]"},
		{[]cubin.Instruction{op("FMUL", 1, 2, 3), branch, op("FADD", 4, 1, 5)}, "[]"},
		{[]cubin.Instruction{at(0, op("FADD", 6, 1, 7)), at(1, op("FMUL", 1, 2, 3)), at(2, op("FADD", 4, 1, 5)),
			at(3, branch)}, "[]"}, // the next round uses the product too
		{[]cubin.Instruction{at(0, op("FADD", 6, 8, 7)), at(1, op("FMUL", 1, 2, 3)), at(2, op("FADD", 4, 1, 5)),
			at(3, branch)}, "[2]"},
		{[]cubin.Instruction{op("FMUL", 1, 2, 3), op("MOV", 1, 9), op("FADD", 4, 1, 5)}, "[]"},
	} {
		if got := fmt.Sprint(fusableSums(test.body, "FADD", "FMUL")); got != test.want {
			t.Errorf("%v: %s, want %s", test.body, got, test.want)
		}
	}
}

// Counters that contradict each other give no number that is none, no range upside down, and no panic.
func TestNonsense(t *testing.T) {
	files := parse(t, streaming)
	names := files[0].Launch.Report.Names.All()
	for _, r := range All {
		for _, n := range r.Needs {
			names = append(names, n.AnyOf...)
		}
	}
	for _, s := range []string{"barrier", "wait", "no_instruction", "lg_throttle", "selected", "not_selected", "drain",
		"membar", "misc", "sleeping", "imc_miss", "math_pipe_throttle", "mio_throttle", "short_scoreboard",
		"branch_resolving", "dispatch_stall"} {
		names = append(names, "smsp__average_warps_issue_stalled_"+s+"_per_issue_active.ratio")
	}
	names = append(names, "memory_l1_tag_requests_global", "lts__t_requests_srcunit_tex.sum",
		"lts__t_sectors_srcunit_tex.sum", "derived__memory_l2_theoretical_sectors_global_excessive",
		"lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed", "smsp__inst_executed.sum",
		"sm__cycles_elapsed.sum", "sm__cycles_elapsed.max", "smsp__sass_inst_executed_op_global_ld.sum",
		"smsp__sass_inst_executed_op_global_st.sum")
	slices.Sort(names)
	names = slices.Compact(names)
	values := []string{"0", "1", "3.5", "99.0", "250.0", "1e18", "-5.0", "nan", "1000000", "64"}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var b strings.Builder
		fmt.Fprintf(&b, "attribute multiprocessor_count %s\nkernel k grid=%d,1,1 block=256,1,1\n",
			values[rng.IntN(len(values))], 1+rng.IntN(300))
		for _, n := range names {
			if rng.IntN(5) > 0 {
				fmt.Fprintf(&b, "%s %s\n", n, values[rng.IntN(len(values))])
			}
		}
		c := caseOf(t, b.String())
		out := Run(c, All)
		for _, f := range slices.Concat(out.All, out.Mentioned) {
			if !finite(f.PredictedUs, f.LowUs, f.HighUs) || f.LowUs > f.PredictedUs || f.PredictedUs > f.HighUs ||
				f.LowUs < 0 {
				t.Fatalf("%s: %v us [%v, %v] of\n%s", f.Rule.ID, f.PredictedUs, f.LowUs, f.HighUs, b.String())
			}
			if text := f.Title + strings.Join(f.Evidence, " "); strings.Contains(text, "NaN") ||
				strings.Contains(text, "Inf") {
				t.Fatalf("%s says %q", f.Rule.ID, text)
			}
		}
		if us, low, high, _, ok := c.Together(out.All); ok && !finite(us, low, high) {
			t.Fatalf("together %v [%v, %v]", us, low, high)
		}
	}
}

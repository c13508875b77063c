package kernelrules

import (
	"cmp"
	"math"
	"slices"

	"lacuna/internal/kernel"
)

const (
	// gainWorth is the modelled gain from which a fault is a finding: the model itself errs by about as much.
	gainWorth = 1.10
	// shortUs is the duration below which launch, ramp and drain are a good part of a kernel, so that no time is
	// predicted.
	shortUs = 10
)

// NewCase is the launch at a position of a report, with those around it.
func NewCase(all []*kernel.Kernel, at int) *Case { return &Case{Kernel: all[at], All: all, At: at} }

// Diagnose runs every rule on every launch of a report.
func Diagnose(all []*kernel.Kernel) []*Findings {
	out := make([]*Findings, len(all))
	for i := range all {
		out[i] = Run(NewCase(all, i), All)
	}
	return out
}

// Run runs the rules on a launch and ranks what they find.
func Run(c *Case, rules []*Rule) *Findings {
	out := &Findings{}
	run := func(is func(*Rule) bool) {
		for _, r := range rules {
			if !is(r) {
				continue
			}
			if missing := r.missing(c); missing != nil {
				out.Abstained = append(out.Abstained, Abstention{r, missing.Name, missing.Section})
				continue
			}
			out.rule = r
			r.Check(c, out)
		}
	}
	run(func(r *Rule) bool { return !r.Healthy && !r.Residual })
	out.rank(c)
	out.unoptimised()
	if len(out.All) == 0 {
		run(func(r *Rule) bool { return r.Healthy })
	}
	if !slices.ContainsFunc(out.All, insideKernel) {
		run(func(r *Rule) bool { return r.Residual })
	}
	out.rule = nil
	return out
}

// missing is the first need that the launch lacks.
func (r *Rule) missing(c *Case) *Need {
	for i, n := range r.Needs {
		if n.Name == needSchedule.Name && !math.IsNaN(c.fixedWait()) {
			continue
		}
		if math.IsNaN(c.number(n.AnyOf...)) || n.Name == needTime.Name && math.IsNaN(c.us()) ||
			n.Name == needOpcodes.Name && c.Opcodes() == nil {
			return &r.Needs[i]
		}
	}
	return nil
}

// expect prices a finding: the fix's time, its range and what limits then.
func (c *Case) expect(f *Finding, r *repair) *Finding {
	p := c.predict(r)
	if !finite(p.us, p.low, p.high) {
		return f // counters that contradict themselves: what is found stays, without a time
	}
	f.repair = r
	f.PredictedUs, f.LowUs, f.HighUs, f.Next = p.us, p.low, p.high, p.next
	return f
}

func finite(all ...float64) bool {
	for _, v := range all {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// Together is the time when several findings are fixed at once: demands that each leaves are
// multiplied, since gains do not add up. ok is false if none of them is modelled.
func (c *Case) Together(findings []Finding) (us, low, high float64, next string, ok bool) {
	var all *repair
	for _, f := range findings {
		switch {
		case f.repair == nil || f.SameAs != "":
		case all == nil:
			all = f.repair
		default:
			all = all.and(f.repair)
		}
	}
	if all == nil {
		return 0, 0, 0, "", false
	}
	p := c.predict(all)
	if !finite(p.us, p.low, p.high) {
		return 0, 0, 0, "", false
	}
	for _, f := range findings { // more fixes are not slower than one
		if f.repair != nil && f.PredictedUs < p.us {
			p.us, p.next = f.PredictedUs, f.Next
		}
		if f.repair != nil {
			p.high = math.Min(p.high, f.HighUs)
		}
	}
	p.low, p.high = math.Min(p.low, p.us), math.Max(p.high, p.us)
	return p.us, p.low, p.high, p.next, true
}

// causes says which finding is the symptom of which: the second is what one sees, the first why.
var causes = []struct{ cause, symptom string }{
	{"load_imbalance", "thread_divergence"},        // lanes idle because of trip counts
	{"thread_divergence", "barrier_stalls"},        // the others wait for slow lanes
	{"shared_bank_conflicts", "barrier_stalls"},    //
	{"uncoalesced_access", "barrier_stalls"},       //
	{"load_imbalance", "barrier_stalls"},           //
	{"register_spills", "low_occupancy"},           // raising it causes them
	{"register_spills", "uncoalesced_access"},      //
	{"tail_effect", "load_imbalance"},              // SMs idle because the last wave is nearly empty
	{"small_grid", "load_imbalance"},               //
	{"fp64_pipe", "sfu_pipe"},                      // conversions run on the XU pipe
	{"narrow_access", "memory_latency"},            //
	{"low_occupancy", "dependency_stalls"},         //
	{"small_grid", "dependency_stalls"},            // unless warps do little but wait, see rank
	{"uncoalesced_access", "memory_throttle"},      // the queue in front of the cause
	{"register_spills", "memory_throttle"},         //
	{"shared_bank_conflicts", "memory_throttle"},   //
	{"missing_tiling", "memory_throttle"},          //
	{"narrow_access", "memory_throttle"},           //
	{"tensor_cores_idle", "missing_tiling"},        //
	{"tensor_cores_idle", "shared_bank_conflicts"}, //
}

// sameRepair is findings whose fix is one: they share a prediction.
var sameRepair = []struct{ first, second string }{
	{"thread_divergence", "barrier_stalls"},
	{"l2_thrash", "extra_passes"},
	{"extra_passes", "l2_thrash"},
}

// last is the finding that explains nothing if another does, and explained those that do.
const last = "memory_latency"

var explained = []string{"low_occupancy", "small_grid", "narrow_access", "load_imbalance", "tail_effect",
	"barrier_stalls", "atomic_contention", "dependency_stalls", "register_spills"}

// rank drops to mentions what gains too little, orders the rest by gain, and puts causes before symptoms.
func (o *Findings) rank(c *Case) {
	t := c.us()
	o.All = slices.DeleteFunc(o.All, func(f Finding) bool {
		little := f.repair != nil && t < gainWorth*f.PredictedUs
		if little || t < shortUs {
			if t < shortUs {
				f.PredictedUs, f.LowUs, f.HighUs, f.Next, f.repair = 0, 0, 0, "", nil
			}
			o.Mentioned = append(o.Mentioned, f)
			return true
		}
		return false
	})
	if i := o.find(last); i >= 0 && slices.ContainsFunc(o.All,
		func(f Finding) bool {
			return slices.Contains(explained, f.Rule.ID) && (f.Rule.ID != "small_grid" || c.idleSMs())
		}) {
		o.Mentioned = append(o.Mentioned, o.All[i])
		o.All = slices.Delete(o.All, i, i+1)
	}
	// Where all SMs have blocks, more loads in flight in a warp help as much as more warps.
	behind := o.find("small_grid") < 0 || c.idleSMs()
	slices.SortStableFunc(o.All, func(a, b Finding) int {
		if x := cmp.Compare(b2i(behind && a.Rule.ID == last), b2i(behind && b.Rule.ID == last)); x != 0 {
			return x
		}
		if x := cmp.Compare(b2i(a.repair == nil), b2i(b.repair == nil)); x != 0 { // without a time behind those with
			return x
		}
		if x := cmp.Compare(a.PredictedUs, b.PredictedUs); x != 0 {
			return x
		}
		return cmp.Compare(b.Confidence, a.Confidence)
	})
	for _, p := range causes {
		if p.cause == "small_grid" && p.symptom == "dependency_stalls" && c.stall("wait") >= waitsMostly {
			continue // chains of their own: shorter ones help as much as more warps
		}
		o.after(p.cause, p.symptom)
	}
	for _, p := range sameRepair {
		i, j := o.find(p.first), o.find(p.second)
		if i >= 0 && j > i && o.All[i].repair != nil {
			a, b := &o.All[i], &o.All[j]
			b.SameAs = p.first
			b.PredictedUs, b.LowUs, b.HighUs, b.Next, b.repair = a.PredictedUs, a.LowUs, a.HighUs, a.Next, a.repair
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (o *Findings) find(id string) int {
	return slices.IndexFunc(o.All, func(f Finding) bool { return f.Rule.ID == id })
}

// after moves a symptom behind its cause.
func (o *Findings) after(cause, symptom string) {
	i, j := o.find(cause), o.find(symptom)
	if i < 0 || j < 0 {
		return
	}
	o.All[j].SymptomOf = cause
	if j < i {
		f := o.All[j]
		o.All = slices.Insert(slices.Delete(o.All, j, j+1), i, f)
	}
}

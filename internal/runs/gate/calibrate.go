package gate

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"unicode"

	"lacuna/internal/base/stat"
	"lacuna/internal/base/unit"
	"lacuna/internal/runs/measure"
)

// A Calibration is what runs of one unchanged program teach of each rule: the smallest limits without a false alarm.
type Calibration struct {
	Runs   int              `json:"runs"`
	Splits int              `json:"splits"` // ways to take the runs for two sides
	All    bool             `json:"all"`    // of all ways that there are
	Rules  []CalibratedRule `json:"rules"`
}

// A CalibratedRule is a rule with its limits learnt.
type CalibratedRule struct {
	Pattern  string  `json:"pattern"`
	Measures int     `json:"measures"`
	Change   float64 `json:"change"`       // share
	Floor    float64 `json:"floor"`        // in Unit; 0: none is needed
	Unit     string  `json:"unit"`         //
	Noise    float64 `json:"noise"`        // between runs: standard deviation as a share, of the noisiest measure
	WorstPct float64 `json:"worst_pct"`    // the largest change between the two sides of a split
	Worst    string  `json:"worst"`        // of which measure
	Alarms   int     `json:"false_alarms"` // of a check with these limits, over all splits and measures
	Passes   int     `json:"passes"`       // splits in which each measure was called a pass
	Decides  float64 `json:"decides"`      // the change with which nine of ten splits would be
	Optional bool    `json:"-"`
	Sum      bool    `json:"-"`
}

const (
	// FewestToCalibrate is two runs a side.
	FewestToCalibrate = 4
	// maxSplits bounds the ways tried: of 12 runs there are 924 ways to halve them, all of which are taken.
	maxSplits = 1000
)

// A split is which runs are taken for before and which for after.
type split struct{ before, after []int }

// splits is every way to halve n runs, the two sides told apart, or maxSplits of them at random: the same for the
// same n.
func splits(n int) (out []split, all bool) {
	half := n / 2
	if ways := binomial(n, half); ways <= maxSplits {
		pick := make([]int, 0, half)
		var walk func(from int)
		walk = func(from int) {
			if len(pick) == half {
				out = append(out, splitOf(n, pick))
				return
			}
			for i := from; i < n; i++ {
				pick = append(pick, i)
				walk(i + 1)
				pick = pick[:len(pick)-1]
			}
		}
		walk(0)
		return out, true
	}
	r := rand.New(rand.NewPCG(uint64(n), 1))
	for range maxSplits {
		out = append(out, splitOf(n, r.Perm(n)[:half]))
	}
	return out, false
}

func splitOf(n int, pick []int) split {
	s := split{before: slices.Clone(pick)}
	for i := range n {
		if !slices.Contains(pick, i) {
			s.after = append(s.after, i)
		}
	}
	return s
}

// binomial is n over k, or more than maxSplits.
func binomial(n, k int) int {
	x := 1
	for i := range k {
		x = x * (n - i) / (i + 1)
		if x > maxSplits*maxSplits {
			return x
		}
	}
	return x
}

// Calibrate learns limits from runs of one program in which nothing changed.
func Calibrate(runs []*measure.Run, rules []Rule) (*Calibration, error) {
	if len(runs) < FewestToCalibrate {
		return nil, fmt.Errorf("too few runs (%d) to learn from: at least %d of the unchanged program, better 10 "+
			"or more", len(runs), FewestToCalibrate)
	}
	for i := range rules {
		if !rules[i].Relative() {
			continue
		}
		rules[i].Change, rules[i].Floor, rules[i].Max, rules[i].Min = nil, nil, nil, nil
	}
	c := &check{before: runs, after: runs, opt: Options{Rules: rules}}
	var unused Result
	if err := c.ask(&unused); err != nil {
		return nil, err
	}
	out := &Calibration{Runs: len(runs)}
	ways, all := splits(len(runs))
	out.Splits, out.All = len(ways), all
	for i := range rules {
		var of []question
		for _, q := range c.questions {
			if q.rule == &rules[i] && q.kind == "change" && len(q.before) == len(runs) {
				of = append(of, q)
			}
		}
		if len(of) > 0 {
			out.Rules = append(out.Rules, learn(&rules[i], of, ways, len(c.questions)))
		}
	}
	if len(out.Rules) == 0 {
		return nil, fmt.Errorf("no measure is in every run")
	}
	return out, nil
}

// A moved is how far a measure moved between the sides of a split: by itself, since nothing had changed.
type moved struct{ share, amount, before float64 }

// learn finds the smallest pair of limits such that no measure moves by more than both in any split, and then counts
// what a check with them says.
func learn(rule *Rule, of []question, ways []split, family int) CalibratedRule {
	out := CalibratedRule{Pattern: rule.Pattern, Measures: len(of), Unit: of[0].like.Unit, Optional: rule.Optional,
		Sum: rule.Sum}
	var all []moved
	var levels []float64
	for _, q := range of {
		values := each(q.before)
		levels = append(levels, math.Abs(median(values)))
		out.Noise = max(out.Noise, scatter(values))
		for _, w := range ways {
			b, a := median(pick(values, w.before)), median(pick(values, w.after))
			m := moved{math.Inf(1), math.Abs(a - b), b}
			if b != 0 {
				m.share = m.amount / math.Abs(b)
			} else if a == b {
				m.share = 0
			}
			if 100*m.share > out.WorstPct && !math.IsInf(m.share, 0) {
				out.WorstPct, out.Worst = 100*m.share, q.name
			}
			all = append(all, m)
		}
	}
	out.Change, out.Floor = smallestPair(all, levels)
	out.try(of, ways, family)
	return out
}

// candidateShares is the shares that are tried: what people write.
var candidateShares = []float64{0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.06,
	0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1}

// smallestPair is a share and an amount of which nothing exceeded both: of all such pairs that which leaves the
// measures, whose levels are given, the least room; of equals the larger share. A measure's room is the larger of
// both limits.
func smallestPair(all []moved, levels []float64) (share, amount float64) {
	sort.Slice(all, func(i, j int) bool { return all[i].share > all[j].share })
	best := math.Inf(1)
	k, floor := 0, 0.0
	for i := len(candidateShares) - 1; i >= 0; i-- {
		x := candidateShares[i]
		for ; k < len(all) && all[k].share > x; k++ {
			floor = max(floor, all[k].amount)
		}
		y := roundUp(floor)
		room := 0.0
		for _, level := range levels {
			if level > 0 {
				room += math.Log(max(x, y/level))
			}
		}
		if room < best-1e-9 {
			best, share, amount = room, x, y
		}
	}
	if math.IsInf(best, 1) { // nothing was ever more than zero
		return DefaultChange, roundUp(floor)
	}
	return share, amount
}

// roundUp is x with two digits, not less than it.
func roundUp(x float64) float64 {
	if x <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Round(math.Ceil(x/unit*(1-1e-12))*unit*1e12) / 1e12
}

// scatter is the standard deviation of the logarithm of values; of values that have none, their share.
func scatter(values []float64) float64 {
	if slices.Min(values) <= 0 {
		return 0
	}
	mean, ss := 0.0, 0.0
	for _, x := range values {
		mean += math.Log(x) / float64(len(values))
	}
	for _, x := range values {
		d := math.Log(x) - mean
		ss += d * d
	}
	return math.Sqrt(ss / float64(len(values)-1))
}

func pick[T any](values []T, at []int) []T {
	out := make([]T, len(at))
	for i, k := range at {
		out[i] = values[k]
	}
	return out
}

// decided is in how many of ten splits a check should come to a verdict.
const decided = 0.9

// try judges every split with the limits learnt.
func (r *CalibratedRule) try(of []question, ways []split, family int) {
	var needed []float64 // the limit with which each split passes
	for _, w := range ways {
		pass, bound := true, 0.0
		for _, q := range of {
			floor := r.Floor
			if floor == 0 {
				floor = floorOf(q.names[0], q.like.Unit, r.Change, 0)
			}
			e := stat.Compare(stat.Question{Before: pick(q.before, w.before), After: pick(q.before, w.after),
				MinEffect: r.Change, MinAbsolute: floor, Family: family,
				Noise: stat.Noise{SD: r.Noise, Runs: float64(len(q.before) - 1)}})
			verdict, _ := gateVerdict(e, q.like.Better)
			if verdict == Regression {
				r.Alarms++
			}
			pass = pass && verdict != Regression && verdict != Inconclusive
			bound = max(bound, worstOf(e, q.like.Better))
		}
		if pass {
			r.Passes++
		}
		needed = append(needed, bound)
	}
	sort.Float64s(needed)
	r.Decides = max(r.Change, roundUp(needed[int(math.Ceil(decided*float64(len(needed))))-1]))
}

// worstOf is how much worse a measure may have become, as a share.
func worstOf(e stat.Effect, better measure.Better) float64 {
	worst := e.High
	switch better {
	case measure.Higher:
		worst = -e.Low
	case measure.Neither:
		worst = max(e.High, -e.Low)
	}
	if math.IsInf(worst, 0) || math.IsNaN(worst) {
		return 0 // no limit helps; passes says it
	}
	return worst
}

// YAML is the rules learnt as lines of a lacuna.yaml, with what they are from.
func (c *Calibration) YAML() string {
	text := fmt.Sprintf("# Learnt by lacuna check --calibrate from %d runs of an unchanged program, halved in %s "+
		"ways:\n# the smallest change and floor that nothing exceeded. A change must exceed both.\ncheck:\n  "+
		"measures:\n", c.Runs, c.waysWords())
	for _, r := range c.Rules {
		note := ""
		if r.Worst != "" {
			note = fmt.Sprintf(" (%s)", r.Worst)
		}
		text += fmt.Sprintf("    # moved by up to %.2g%% by itself%s; with these limits %d false alarms, %d of %d "+
			"ways pass\n", r.WorstPct, comment(note), r.Alarms, r.Passes, c.Splits)
		if r.Decides > r.Change {
			text += fmt.Sprintf("    # %d runs per side decide nine times in ten only from a change of %s%% on\n",
				c.Runs/2, short(100*r.Decides))
		}
		text += fmt.Sprintf("    %s:\n      change: %s%%\n", quoted(r.Pattern), short(100*r.Change))
		if r.Floor > 0 {
			text += fmt.Sprintf("      floor: %s\n", amountText(r.Floor, r.Unit))
		}
		if r.Sum {
			text += "      sum: true\n"
		}
		if r.Optional {
			text += "      optional: true\n"
		}
		text += fmt.Sprintf("      noise: %s%%\n      noise_runs: %d\n", short(100*roundUp(r.Noise)), c.Runs)
	}
	return text
}

func (c *Calibration) waysWords() string {
	if c.All {
		return fmt.Sprintf("all %d", c.Splits)
	}
	return fmt.Sprintf("%d random", c.Splits)
}

func short(x float64) string { return unit.Quantity{Value: math.Round(x*1e4) / 1e4}.String() }

// quoted is a text as YAML reads it back, plain where that is safe.
func quoted(s string) string {
	plain := func(r rune) bool { return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	var b strings.Builder
	e := json.NewEncoder(&b) // YAML has all escapes of JSON
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSpace(b.String())
}

// comment is a text that stays in its line.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

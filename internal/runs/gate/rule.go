package gate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lacuna/internal/base/stat"
	"lacuna/internal/base/unit"
	"lacuna/internal/runs/measure"
)

// A Rule says which measures are judged and what they may do. Nil and "" are: not said.
type Rule struct {
	Pattern      string          // a measure's name, with * and ?; :p90 and the like behind it
	Max, Min     *unit.Quantity  // absolute budgets
	Change       *float64        // the share of before that a measure may get worse by
	Floor        *unit.Quantity  // and the amount; a change must exceed both
	Better       *measure.Better // nil: as the measure says
	Inconclusive string          // "", pass, fail: what an inconclusive verdict comes to
	Family       string          // measures that share one false alarm in a hundred suites
	Sum          bool            // all that match are one measure, their sum
	Optional     bool            // nothing may match
	Noise        *float64        // how much runs are known to scatter: standard deviation as a share
	NoiseRuns    float64         // from how many runs that is known
	From         string          // who says so: "lacuna.yaml line 4", "--limit", "default"
	Line         int             // of the file; 0: none
}

// Relative says whether a rule compares with a baseline: it does unless it has only budgets.
func (r *Rule) Relative() bool {
	return r.Max == nil && r.Min == nil || r.Change != nil || r.Floor != nil
}

// over is the rule with what is said in r, and what o says of the rest.
func (r Rule) over(o Rule) Rule {
	if r.Max == nil {
		r.Max = o.Max
	}
	if r.Min == nil {
		r.Min = o.Min
	}
	if r.Change == nil {
		r.Change = o.Change
	}
	if r.Floor == nil {
		r.Floor = o.Floor
	}
	if r.Better == nil {
		r.Better = o.Better
	}
	if r.Inconclusive == "" {
		r.Inconclusive = o.Inconclusive
	}
	if r.Family == "" {
		r.Family = o.Family
	}
	if r.Noise == nil {
		r.Noise, r.NoiseRuns = o.Noise, o.NoiseRuns
	}
	r.Sum, r.Optional = r.Sum || o.Sum, r.Optional || o.Optional
	if r.Line == 0 {
		r.Line = o.Line
	}
	return r
}

// Override puts rules of the command line before those of a file; of the same pattern, what the command line says wins.
func Override(flags, file []Rule) []Rule {
	var out []Rule
	for _, f := range flags {
		if at := slices.IndexFunc(out, func(r Rule) bool { return r.Pattern == f.Pattern }); at >= 0 {
			out[at] = f.over(out[at])
			continue
		}
		out = append(out, f)
	}
	for _, r := range file {
		if at := slices.IndexFunc(out, func(o Rule) bool { return o.Pattern == r.Pattern }); at >= 0 {
			out[at] = out[at].over(r)
			continue
		}
		out = append(out, r)
	}
	return out
}

// ParseLimit reads "step=5%,20us" as it stands behind --limit: a pattern, a share of before, an amount; either may be
// left out.
func ParseLimit(text string) (Rule, error) {
	at := strings.LastIndexByte(text, '=')
	if at <= 0 {
		return Rule{}, fmt.Errorf("--limit %s: want MEASURE=SHARE,AMOUNT such as 'step=5%%,20us'", text)
	}
	r := Rule{Pattern: strings.TrimSpace(text[:at]), From: "--limit"}
	for _, part := range strings.Split(text[at+1:], ",") {
		q, err := unit.ParseQuantity(part)
		if err != nil {
			return Rule{}, fmt.Errorf("--limit %s: %w", text, err)
		}
		switch {
		case q.Value < 0:
			return Rule{}, fmt.Errorf("--limit %s: %s is negative; which way is worse is the measure's own, or "+
				"better: in the file", text, strings.TrimSpace(part))
		case q.Symbol == "%" && r.Change == nil:
			share := q.Value / 100
			r.Change = &share
		case r.Floor == nil:
			r.Floor = &q
		default:
			return Rule{}, fmt.Errorf("--limit %s: more than a share and an amount; want MEASURE=SHARE,AMOUNT such "+
				"as 'step=5%%,20us'", text)
		}
	}
	return r, nil
}

// ParseBudget reads "step<=12ms" or "gpu_busy>=90%" as it stands behind --budget.
func ParseBudget(text string) (Rule, error) {
	for _, op := range []string{"<=", ">="} {
		at := strings.LastIndex(text, op)
		if at <= 0 {
			continue
		}
		q, err := unit.ParseQuantity(text[at+2:])
		if err != nil {
			return Rule{}, fmt.Errorf("--budget %s: %w", text, err)
		}
		r := Rule{Pattern: strings.TrimSpace(text[:at]), From: "--budget"}
		if op == "<=" {
			r.Max = &q
		} else {
			r.Min = &q
		}
		return r, nil
	}
	return Rule{}, fmt.Errorf("--budget %s: want MEASURE<=AMOUNT or MEASURE>=AMOUNT such as 'step<=12ms'", text)
}

// A pattern is a rule's: which names, and what of their samples.
type pattern struct {
	glob string
	of   string  // ":p90" as written; "" the median
	q    float64 // quantile; with mean, none
	mean bool
}

// patternOf splits a statistic off a pattern, unless a measure is called so.
func patternOf(text string, names []string) pattern {
	at := strings.LastIndexByte(text, ':')
	if at <= 0 || slices.Contains(names, text) {
		return pattern{glob: text}
	}
	glob, of := text[:at], text[at:]
	switch of {
	case ":mean":
		return pattern{glob: glob, of: of, mean: true}
	case ":min":
		return pattern{glob: glob, of: of, q: 0}
	case ":max":
		return pattern{glob: glob, of: of, q: 1}
	}
	digits, ok := strings.CutPrefix(of, ":p")
	if n, err := strconv.ParseUint(digits, 10, 8); ok && err == nil && n < 100 {
		return pattern{glob: glob, of: of, q: float64(n) / 100}
	}
	return pattern{glob: text}
}

// isGlob says whether a pattern may match several names.
func isGlob(text string) bool { return strings.ContainsAny(text, "*?") }

// matches says whether a name is of the glob: * is any characters, ? one. Kernels' names have stars of their own,
// which match themselves. Linear in time but for the last star, as in Kleene's two-pointer walk.
func matches(glob, name string) bool {
	g, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, mark = g, n
			g++
		case g < len(glob) && (glob[g] == '?' || glob[g] == name[n]):
			g++
			n++
		case star >= 0:
			mark++
			g, n = star+1, mark
		default:
			return false
		}
	}
	for g < len(glob) && glob[g] == '*' {
		g++
	}
	return g == len(glob)
}

// What holds where nothing is said.
const (
	// DefaultChange is 2 %: under it, five repeats of GPU-bound programs on one machine differ by themselves in one
	// of ten cases (bench/gpu/results/truth-h200.json). lacuna diff has the same.
	DefaultChange = 0.02
	// stepFloorMs is 20 us of a step, as in lacuna diff: a kernel of 5 us moves by as much as its clock.
	stepFloorMs = 0.02
	// kernelFloorUs is about three ticks of the timer behind gpu__time_duration, which counts in 32 ns.
	kernelFloorUs = 0.1
	// memoryFloor is one segment of PyTorch's caching allocator: 2 MiB.
	memoryFloor = 2 << 20
	// pointFloor is one percentage point.
	pointFloor = 0.01
)

// floorOf is the amount that a change must exceed, in the measure's unit, where the rule does not say.
// stepMs is a step before.
func floorOf(name, symbol string, change, stepMs float64) float64 {
	switch {
	case symbol == "ms" && measure.IsRest(name):
		return max(stepFloorMs, change*stepMs)
	case symbol == "ms":
		return stepFloorMs
	case symbol == "us":
		return kernelFloorUs
	case symbol == "bytes" && name == "peak_memory":
		return memoryFloor
	case symbol == "share":
		return pointFloor
	case symbol == "%":
		return 100 * pointFloor
	}
	return 0
}

// Defaults is the rules where a user has none: the time and the memory that people pay for, of kernel reports each
// kernel's time and spills; of a program that measures none of these itself, everything that it measures.
func Defaults(runs []*measure.Run) []Rule {
	names := measure.Names(runs)
	var out []Rule
	for _, p := range []string{"step", "peak_memory", "kernel:*:duration", "kernel:*:spills"} {
		if slices.ContainsFunc(names, func(n string) bool { return matches(p, n) }) {
			out = append(out, Rule{Pattern: p, From: "default"})
		}
	}
	if len(out) == 0 {
		out = append(out, Rule{Pattern: "*", From: "default"})
	}
	return out
}

// noise is what is known of a measure's scatter: as the rule says, else, with a single run on a side, of programs at
// large.
func (r *Rule) noise(name string, of pattern, before, after []*measure.Run) stat.Noise {
	switch {
	case r.Noise != nil:
		return stat.Noise{SD: *r.Noise, Runs: max(1, r.NoiseRuns-1)}
	case of.of != "" || len(before) > 1 && len(after) > 1:
		return stat.Noise{}
	}
	return measure.KnownNoise(name, slices.Concat(before, after))
}

package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

var (
	levels  = []float64{0.002, 0.01, 0.02, 0.05, 0.1}
	effects = []float64{0.01, 0.02, 0.03, 0.05, 0.08, 0.1}
	sides   = []int{3, 6, 10, 20}
)

// write makes the page.
func write(w io.Writer, pool []measured, suites, trials int) {
	fmt.Fprintf(w, `# The gate: false alarms, power, and others' rules on the same data

`+"`lacuna diff`, `check` and `bench`"+` judge by one rule (decisions/0008-verdicts.md). This page simulates it. Steps are
stretches of steps measured on an H200 (bench/gpu/gate: three loops, twelve processes each); runs scatter by the
stated coefficient of variation (CV) of their medians, log-normal, and by a kind of noise on top. Two sides run in
turn, six runs each unless stated. A suite is %d measures judged together, independent of each other, which is the
hard case. Seed %d:

    go run ./tools/gateproof          # about a minute of one core; the same page each time

`, measuresOfSuite, seed)
	writeRules(w)
	writeRepeats(w, pool, trials)
	writeAlarms(w, pool, suites)
	writePower(w, pool, trials)
	writeNeeded(w, pool, trials)
}

func writeRules(w io.Writer) {
	fmt.Fprint(w, "| rule | says slower if |\n|---|---|\n")
	for _, r := range rules {
		fmt.Fprintf(w, "| %s | %s |\n", r.name, r.doc)
	}
	fmt.Fprint(w, "\n| noise | what |\n|---|---|\n")
	for _, x := range weathers {
		fmt.Fprintf(w, "| %s | %s |\n", x.name, x.doc)
	}
}

func ruleNames() string {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	return strings.Join(names, " | ")
}

func cells[T any](format string, values []T) string {
	var out []string
	for _, v := range values {
		out = append(out, fmt.Sprintf(format, v))
	}
	return strings.Join(out, " | ")
}

func align(n int) string { return strings.Repeat("--:|", n) + "\n" }

func writeRepeats(w io.Writer, pool []measured, trials int) {
	fmt.Fprintf(w, "\n## The measured runs themselves\n\nTwelve runs of one program, six drawn against the other "+
		"six, %d draws; of a hundred, how many are called slower.\n\n"+
		"| loop | CV between runs, %% | CV of steps within a run, %% | %s |\n|---|--:|--:|%s", trials, ruleNames(),
		align(len(rules)))
	for i, m := range pool {
		within := 0.0
		for _, run := range m.steps {
			within += cv(run) / float64(len(m.steps))
		}
		var shares []float64
		for _, n := range sidesOfRepeats(m, trials, uint64(9000+i)) {
			shares = append(shares, 100*float64(n)/float64(trials))
		}
		fmt.Fprintf(w, "| %s | %.2f | %.1f | %s |\n", m.kind, 100*cv(m.medians), 100*within, cells("%.1f", shares))
	}
}

func writeAlarms(w io.Writer, pool []measured, suites int) {
	fmt.Fprintf(w, "\n## False alarms\n\nOf a hundred suites without any change, how many a rule calls slower in "+
		"at least one measure; %d suites per row.\n\n"+
		"| noise | CV, %% | %s |\n|---|--:|%s", suites, ruleNames(), align(len(rules)))
	lines := make([]string, len(weathers)*len(levels))
	worst := make([]float64, len(lines))
	parallel(len(lines), func(i int) {
		under, level := weathers[i/len(levels)], levels[i%len(levels)]
		hits, _ := alarms(pool, level, under, 6, suites, uint64(1000+i))
		var shares []float64
		for _, n := range hits {
			shares = append(shares, 100*float64(n)/float64(suites))
		}
		worst[i] = shares[0]
		lines[i] = fmt.Sprintf("| %s | %.1f | %s |\n", under.name, 100*level, cells("%.1f", shares))
	})
	most, all := 0.0, 0.0
	for i, l := range lines {
		io.WriteString(w, l)
		most, all = math.Max(most, worst[i]), all+worst[i]/float64(len(lines))
	}
	fmt.Fprintf(w, "\nOver all %d suites lacuna raises %.2f per hundred; in one row at most %.1f, where the "+
		"standard error of one per\nhundred is %.1f.\n",
		len(lines)*suites, all, most, 100*math.Sqrt(0.01*0.99/float64(suites)))
}

func writePower(w io.Writer, pool []measured, trials int) {
	fmt.Fprintf(w, "\n## Power\n\nOf a hundred changes of the given size, how many lacuna finds; %d trials per "+
		"cell, 20 measures judged together.\nChanges of 2 %% and less count as no change.\n\n"+
		"| CV, %% | runs per side | %s |\n|--:|--:|%s", trials, cells("%.2g %%", percent(effects)), align(len(effects)))
	n := len(levels) * len(sides)
	found := make([][]float64, n)
	wrong := make([]float64, n)
	parallel(n, func(i int) {
		level, runs := levels[i/len(sides)], sides[i%len(sides)]
		for k, effect := range effects {
			hits, misses := verdictsOf(pool, level, effect, runs, trials, uint64(2000+10*i+k))
			found[i] = append(found[i], hits)
			if effect >= 0.03 {
				wrong[i] = math.Max(wrong[i], misses)
			}
		}
	})
	most := 0.0
	for i, row := range found {
		fmt.Fprintf(w, "| %.1f | %d | %s |\n", 100*levels[i/len(sides)], sides[i%len(sides)], cells("%.0f", row))
		most = math.Max(most, wrong[i])
	}
	fmt.Fprintf(w, "\nWhat is not found is inconclusive: of changes of 3 %% and more at most %.1f of a hundred are "+
		"called the same, or faster.\n", most)
	fmt.Fprintf(w, "\nA change of 5 %%, six runs per side, by each rule:\n\n| noise | CV, %% | %s |\n|---|--:|%s",
		ruleNames(), align(len(rules)))
	lines := make([]string, len(weathers)*3)
	parallel(len(lines), func(i int) {
		under, level := weathers[i/3], levels[i%3]
		found := foundOf(pool, level, 0.05, under, 6, trials, uint64(5000+i))
		lines[i] = fmt.Sprintf("| %s | %.1f | %s |\n", under.name, 100*level, cells("%.0f", found))
	})
	fmt.Fprint(w, strings.Join(lines, ""))
}

func percent(shares []float64) (out []float64) {
	for _, x := range shares {
		out = append(out, 100*x)
	}
	return out
}

func writeNeeded(w io.Writer, pool []measured, trials int) {
	fmt.Fprintf(w, "\n## Runs needed\n\nWhere a change of 5 %% is inconclusive with six runs per side, lacuna says "+
		"how many would decide. That many new runs\nwere made.\n\n"+
		"| CV, %% | inconclusive with six, of 100 | runs advised, median | of those decided, of 100 "+
		"|\n|--:|--:|--:|--:|\n")
	list := []float64{0.01, 0.02, 0.03, 0.05}
	lines := make([]string, len(list))
	parallel(len(list), func(i int) {
		undecided, needed, decided := neededOf(pool, list[i], 0.05, trials, uint64(7000+i))
		said, share := "-", "-"
		if len(needed) > 0 {
			said, share = fmt.Sprintf("%.0f", medianOf(needed)),
				fmt.Sprintf("%.0f", 100*float64(decided)/float64(len(needed)))
		}
		lines[i] = fmt.Sprintf("| %.1f | %.0f | %s | %s |\n", 100*list[i], 100*float64(undecided)/float64(trials),
			said, share)
	})
	fmt.Fprint(w, strings.Join(lines, "")+"\n")
}

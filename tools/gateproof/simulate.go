package main

import (
	"math/rand/v2"
	"runtime"
	"sync"

	"lacuna/internal/base/stat"
)

// measuresOfSuite is how many measures are judged together.
const measuresOfSuite = 20

// seed makes every number of the page the same each time: cases get the streams after it, in their order.
const seed = 13

// alarms counts, for each rule, the suites in which it says "slower" of any measure although nothing changed, and the
// measures of which it says so.
func alarms(pool []measured, level float64, under weather, runs, suites int, stream uint64) (ofSuites,
	ofMeasures []int) {
	d := &drawer{rand.New(rand.NewPCG(seed, stream)), pool, level, under}
	ofSuites, ofMeasures = make([]int, len(rules)), make([]int, len(rules))
	for range suites {
		hit := make([]bool, len(rules))
		for range measuresOfSuite {
			before, after := d.pair(runs, 0)
			for i, r := range rules {
				if r.slower(before, after, measuresOfSuite) {
					hit[i] = true
					ofMeasures[i]++
				}
			}
		}
		for i := range hit {
			if hit[i] {
				ofSuites[i]++
			}
		}
	}
	return ofSuites, ofMeasures
}

// foundOf is how often each rule says slower of a change, of a hundred.
func foundOf(pool []measured, level, effect float64, under weather, runs, trials int, stream uint64) []float64 {
	d := &drawer{rand.New(rand.NewPCG(seed, stream)), pool, level, under}
	found := make([]float64, len(rules))
	for range trials {
		before, after := d.pair(runs, effect)
		for i, r := range rules {
			if r.slower(before, after, measuresOfSuite) {
				found[i] += 100 / float64(trials)
			}
		}
	}
	return found
}

// verdictsOf is how often lacuna finds a change, of a hundred, and how often it calls it the same or faster.
func verdictsOf(pool []measured, level, effect float64, runs, trials int, stream uint64) (found, wrong float64) {
	d := &drawer{rand.New(rand.NewPCG(seed, stream)), pool, level, weathers[0]}
	for range trials {
		before, after := d.pair(runs, effect)
		switch ask(before, after, measuresOfSuite).Verdict {
		case stat.Higher:
			found += 100 / float64(trials)
		case stat.Lower, stat.Same:
			wrong += 100 / float64(trials)
		}
	}
	return found, wrong
}

// neededOf asks, where six runs leave a change inconclusive, for the runs that are said to be needed, makes as many
// anew, and counts how often these decide.
func neededOf(pool []measured, level, effect float64, trials int, stream uint64) (undecided int, needed []float64,
	decided int) {
	d := &drawer{rand.New(rand.NewPCG(seed, stream)), pool, level, weathers[0]}
	for range trials {
		before, after := d.pair(6, effect)
		e := ask(before, after, measuresOfSuite)
		if e.Verdict != stat.Undecided {
			continue
		}
		undecided++
		if e.RunsNeeded == 0 {
			continue
		}
		needed = append(needed, float64(e.RunsNeeded))
		before, after = d.pair(e.RunsNeeded, effect)
		if ask(before, after, measuresOfSuite).Verdict != stat.Undecided {
			decided++
		}
	}
	return undecided, needed, decided
}

// sidesOfRepeats draws six of the measured runs against the six others, again and again: nothing is simulated but
// the draw. It counts by rule the pairs that are called slower.
func sidesOfRepeats(m measured, trials int, stream uint64) (slower []int) {
	rng := rand.New(rand.NewPCG(seed, stream))
	slower = make([]int, len(rules))
	for range trials {
		order := rng.Perm(len(m.steps))
		var sides [2][][]float64
		for k, at := range order {
			run := make([]float64, len(m.steps[at]))
			for i, x := range m.steps[at] {
				run[i] = x * m.medians[at]
			}
			sides[k%2] = append(sides[k%2], run)
		}
		for i, r := range rules {
			if r.slower(sides[0], sides[1], measuresOfSuite) {
				slower[i]++
			}
		}
	}
	return slower
}

// parallel runs work for each i below n on all processors.
func parallel(n int, work func(i int)) {
	var group sync.WaitGroup
	next := make(chan int)
	for range runtime.NumCPU() {
		group.Go(func() {
			for i := range next {
				work(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
}

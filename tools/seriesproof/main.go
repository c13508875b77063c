// Command seriesproof measures how well change points are found, and writes docs/gate-series.md:
//
//	go run ./tools/seriesproof ../shared/corpus/series >docs/gate-series.md
package main

import (
	"bufio"
	"fmt"
	"os"

	"lacuna/internal/base/changepoint"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: seriesproof FOLDER-WITH-INDEX.tsv")
		os.Exit(2)
	}
	list, err := readIndex(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "seriesproof:", err)
		os.Exit(2)
	}
	w := bufio.NewWriter(os.Stdout)
	page(w, list)
	if err := w.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "seriesproof:", err)
		os.Exit(2)
	}
}

// A finder is a way to find change points: the first point of each new level.
type finder struct {
	name string
	find func(z []float64) []int
}

func finders() []finder {
	otava := func(window int, p, magnitude float64) func(z []float64) []int {
		return func(z []float64) []int { return changepoint.Otava(filled(z), window, p, magnitude) }
	}
	return []finder{
		{"lacuna", ours},
		{"Otava 50, 0.001, 0", otava(50, 0.001, 0)},
		{"Otava 30, 0.001, 0", otava(30, 0.001, 0)},
		{"Otava 50, 0.001, 5 %", otava(50, 0.001, 0.05)},
	}
}

// ours is lacuna's. A drift counts where it begins and where it ends, unless that is an end of the series.
func ours(z []float64) (out []int) {
	for _, c := range changepoint.Find(z, changepoint.Options{}).Changes {
		if c.Kind == changepoint.Shift {
			out = append(out, c.Index)
			continue
		}
		if c.First > 0 {
			out = append(out, c.First)
		}
		if c.Last < len(z)-1 {
			out = append(out, c.Last)
		}
	}
	return out
}

package main

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A series of the corpus, with what is said of it.
type series struct {
	file, kind string
	z          []float64
	annotators []annotator // points, by whom
	windows    [][2]int    // of anomalies: first and last point
	expected   int         // number of change points by the algorithm of the series' authors; -1: not said
}

// An annotator is whoever marked the first points of new levels.
type annotator struct {
	name string
	at   []int
}

// margin is how far a point found may be from one marked, as in Van den Burg and Williams 2020 (arXiv 2003.06222).
const margin = 5

func readIndex(dir string) ([]series, error) {
	f, err := os.Open(filepath.Join(dir, "INDEX.tsv"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []series
	lines := bufio.NewScanner(f)
	lines.Scan() // heads
	for lines.Scan() {
		cells := strings.Split(lines.Text(), "\t")
		if len(cells) < 7 {
			return nil, fmt.Errorf("INDEX.tsv: a row of %d cells", len(cells))
		}
		s := series{file: cells[0], kind: cells[5], expected: -1}
		if s.z, err = readSeries(filepath.Join(dir, s.file)); err != nil {
			return nil, err
		}
		s.label(cells[6])
		out = append(out, s)
	}
	return out, lines.Err()
}

func readSeries(path string) (z []float64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, row := range rows[1:] {
		x, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			x = math.NaN()
		}
		z = append(z, x)
	}
	return z, nil
}

// label understands the labels of INDEX.tsv by their kind.
func (s *series) label(text string) {
	switch s.kind {
	case "human":
		for part := range strings.SplitSeq(text, "|") {
			name, at, _ := strings.Cut(strings.TrimSpace(part), ": ")
			s.annotators = append(s.annotators, annotator{name, points(at, ";")})
		}
	case "human windows":
		for part := range strings.SplitSeq(text, ";") {
			first, last, ok := strings.Cut(part, "-")
			a, err1 := strconv.Atoi(first)
			b, err2 := strconv.Atoi(last)
			if ok && err1 == nil && err2 == nil {
				s.windows = append(s.windows, [2]int{a, b})
			}
		}
	case "algorithm (constructed)":
		s.annotators = []annotator{{"constructed", points(text, ";")}}
	case "algorithm+eye":
		// The row has three readings: two settings of Otava, and its authors' eye.
		parts := strings.Split(text, ";")
		s.annotators = []annotator{{"Otava's authors by eye", []int{16, 71, 97}},
			{"Otava, 5 %", points(strings.Join(parts[:2], ";"), ";")}}
	case "algorithm":
		if _, after, ok := strings.Cut(text, "expects "); ok {
			if n, err := strconv.Atoi(strings.Fields(after)[0]); err == nil {
				s.expected = n
			}
		}
	}
}

// points is the numbers in a list.
func points(text, by string) (out []int) {
	for part := range strings.SplitSeq(text, by) {
		if n, err := strconv.Atoi(strings.Fields(strings.TrimSpace(part) + " -")[0]); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// filled is a series without holes, each the value before it: what Otava does with them.
func filled(z []float64) []float64 {
	out := make([]float64, len(z))
	for i, x := range z {
		if math.IsNaN(x) && i > 0 {
			x = out[i-1]
		}
		out[i] = x
	}
	return out
}

package main

import (
	"fmt"
	"io"
	"strings"
)

// page writes docs/gate-series.md.
func page(w io.Writer, list []series) {
	fmt.Fprintf(w, `# Change points, measured

Made by `+"`go run ./tools/seriesproof ../shared/corpus/series >docs/gate-series.md`"+`. How they are found:
`+"`internal/base/changepoint`"+`.

Compared with Apache Otava's algorithm at three settings (window, p, least magnitude); the first is its default
today. Our implementation of it meets the ten lists of change points in Otava's own tests. A point found counts if it
is at most %d points from a marked one, each marked point once. A drift of ours counts at both of its ends.

## By people's marks

Each cell is precision / recall. The people of TCPD disagree: nobody can agree with all of them. Some marked trends
and seasons, which neither algorithm looks for.

`, margin)
	all := finders()
	head(w, "series", "by", "marked", all)
	sums := make([]float64, len(all))
	series, ratings := 0, 0
	for _, s := range list {
		for _, a := range s.annotators {
			cells := []string{s.file, a.name, fmt.Sprint(len(a.at))}
			for i, f := range all {
				x := scoreOf(f.find(s.z), a.at)
				sums[i] += x.f1()
				cells = append(cells, fmt.Sprintf("%.2f / %.2f", x.precision, x.recall))
			}
			ratings++
			row(w, cells)
		}
		if len(s.annotators) > 0 {
			series++
		}
	}
	cells := []string{"**mean F1**", "", ""}
	for _, x := range sums {
		cells = append(cells, fmt.Sprintf("**%.2f**", x/float64(ratings)))
	}
	row(w, cells)
	fmt.Fprintf(w, "\n%d ratings of %d series.\n", ratings, series)
	windows(w, list, all)
	repeated(w, list, all)
	unlabelled(w, list, all)
	simulated(w, all)
}

// windows is the series with anomaly windows: everything outside is a false alarm.
func windows(w io.Writer, list []series, all []finder) {
	fmt.Fprintf(w, "\n## Anomaly windows (NAB)\n\nWindows with a point found in them, of those marked / points "+
		"found outside. A level that really moves outside of a\nwindow counts against the finder: the marks are of "+
		"anomalies.\n\n")
	head(w, "series", "points", "windows", all)
	for _, s := range list {
		if s.kind != "human windows" {
			continue
		}
		cells := []string{s.file, fmt.Sprint(len(s.z)), fmt.Sprint(len(s.windows))}
		for _, f := range all {
			hit, outside := make([]bool, len(s.windows)), 0
			for _, at := range f.find(s.z) {
				in := false
				for i, x := range s.windows {
					if at >= x[0]-margin && at <= x[1]+margin {
						hit[i], in = true, true
					}
				}
				if !in {
					outside++
				}
			}
			hits := 0
			for _, h := range hit {
				if h {
					hits++
				}
			}
			cells = append(cells, fmt.Sprintf("%d / %d", hits, outside))
		}
		row(w, cells)
	}
}

// repeated is MongoDB's one series laid end to end.
func repeated(w io.Writer, list []series, all []finder) {
	fmt.Fprintf(w, "\n## One series again and again (MongoDB)\n\nNumbers of change points. All but the first are "+
		"173 points 2, 3, 7 and 14 times; MongoDB's own\nE-divisive with permutations is beside them.\n\n")
	head(w, "series", "points", "MongoDB's", all)
	for _, s := range list {
		if s.expected < 0 {
			continue
		}
		cells := []string{s.file, fmt.Sprint(len(s.z)), fmt.Sprint(s.expected)}
		for _, f := range all {
			cells = append(cells, fmt.Sprint(len(f.find(s.z))))
		}
		row(w, cells)
	}
}

// unlabelled is the series of which nothing is said.
func unlabelled(w io.Writer, list []series, all []finder) {
	fmt.Fprintf(w, "\n## Not labelled\n\nNumbers of change points, for the record.\n\n")
	head(w, "series", "points", "", all)
	for _, s := range list {
		if s.kind != "none" {
			continue
		}
		cells := []string{s.file, fmt.Sprint(len(s.z)), ""}
		for _, f := range all {
			cells = append(cells, fmt.Sprint(len(f.find(s.z))))
		}
		row(w, cells)
	}
}

// simulated is noise of known kind, on which nothing was tuned by hand but falseAlarms.
func simulated(w io.Writer, all []finder) {
	fmt.Fprintf(w, "\n## Simulated\n\n%d series per cell. First: series without any change in which something is "+
		"found (less is better; the aim is 1 %%).\nThen series with one shift in the middle, by standard "+
		"deviations of the noise, that is found within the margin (more\nis better).\n\n", trials)
	head(w, "noise", "points", "shift", all)
	for _, d := range draws() {
		for _, n := range []int{20, 100, 400} {
			cells := []string{d.name, fmt.Sprint(n), "none"}
			for _, f := range all {
				cells = append(cells, fmt.Sprintf("%.1f %%", 100*falseAlarms(f, d, n)))
			}
			row(w, cells)
		}
	}
	for _, d := range draws() {
		for _, shift := range []float64{1.5, 3, 6} {
			cells := []string{d.name, "100", fmt.Sprintf("%g SD", shift)}
			for _, f := range all {
				cells = append(cells, fmt.Sprintf("%.0f %%", 100*found(f, d, 100, shift)))
			}
			row(w, cells)
		}
	}
}

func head(w io.Writer, a, b, c string, all []finder) {
	cells := []string{a, b, c}
	for _, f := range all {
		cells = append(cells, f.name)
	}
	row(w, cells)
	fmt.Fprintln(w, "|"+strings.Repeat("---|", 2)+strings.Repeat("--:|", len(cells)-2))
}

func row(w io.Writer, cells []string) { fmt.Fprintln(w, "| "+strings.Join(cells, " | ")+" |") }

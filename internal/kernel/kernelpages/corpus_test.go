package kernelpages

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/kernel/profile"
	"lacuna/internal/reader"
	"lacuna/internal/readers/ncu"
)

// A printedPage is a file beside a report, and how we print it.
type printedPage struct {
	file, page string
	opt        Options
	skip       string // a column that is not compared
}

var printed = []printedPage{
	{"raw", "raw", Options{}, ""},
	{"raw_base", "raw", Options{Units: "base"}, ""},
	{"details", "details", Options{}, ""},
	{"session", "session", Options{}, ""},
	{"source_sass", "source", Options{View: "sass"}, "Source"}, // the text needs a disassembler
	{"source_cuda", "source", Options{View: "cuda"}, ""},
	{"source_cuda_sass", "source", Options{View: "cuda,sass"}, "Source"},
}

// Every page is held against what was printed of it; none that is gone is.
func TestEveryPageIsCompared(t *testing.T) {
	for _, name := range Names() {
		if !slices.ContainsFunc(printed, func(p printedPage) bool { return p.page == name }) {
			t.Errorf("page %s: no printed page is named for it in printed", name)
		}
	}
	for _, p := range printed {
		if Find(p.page) == nil {
			t.Errorf("printed has the page %s, which is gone", p.page)
		}
	}
}

// known are pages that are not equal, each with its reason.
var known = map[string]string{
	"jaxtoolbox-gb200-2025.3-graph source_sass": "ncu 2024.1.1 does not know the chip and takes its code for " +
		"that of compute capability 5.0: instructions of 8 bytes, all \"???\". We print those of 16.",
	"cs599k-gh200-2025.1-memset source_cuda_sass": "ncu leaves out the row \"File Path\"; we print it.",
	"indexspaces-a40-2022.1 source_cuda_sass": "In code inlined many times over, ncu prints a few rows of gaps " +
		"and instructions more; by what rule is not known.",
	"indexspaces-a40-2022.4 source_cuda_sass": "As of indexspaces-a40-2022.1.",
}

// differencesTable is known as it stands in docs/formats/ncu-pages.md, without the sums.
func differencesTable() string {
	text := "| page | why it differs |\n|---|---|\n"
	for _, name := range slices.Sorted(maps.Keys(known)) {
		text += "| " + name + " | " + known[name] + " |\n"
	}
	return text + "\n"
}

// holdsTable holds the page of documentation against the table; -update writes it.
func holdsTable(t *testing.T, table string) {
	t.Helper()
	const path, begin, end = "../../../docs/formats/ncu-pages.md", "<!-- measured -->\n", "<!-- end -->"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), begin)
	have, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s: no marks around the table", path)
	}
	if have == table {
		return
	}
	if !golden.Updating() {
		t.Errorf("%s has not the table below; run go test ./internal/kernel/kernelpages -run Pages -update\n%s", path,
			table)
		return
	}
	if err := os.WriteFile(path, []byte(before+begin+table+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPages walks every page that Nsight Compute printed of every report of the corpus. Cells pair by column name and
// line number. What differs is in known, with its reason.
func TestPages(t *testing.T) {
	reports := reports(t)
	type sum struct{ equal, all, cases, whole int }
	sums := make(map[string]*sum)
	var differences []difference
	for _, path := range reports {
		folder := filepath.Dir(path)
		var report *profile.Report
		for _, p := range printed {
			want := rows(t, filepath.Join(folder, p.file+".csv"))
			if want == nil {
				continue
			}
			if report == nil {
				report = open(t, path)
			}
			opt := p.opt
			opt.Format = "csv"
			var out bytes.Buffer
			if err := Write(&out, report, p.page, opt); err != nil {
				t.Errorf("%s %s: %v", filepath.Base(folder), p.file, err)
				continue
			}
			got := parse(t, &out)
			if p.file == "source_sass" {
				want, got = once(want), once(got)
			}
			equal, all, found := compare(p.file, want, got, p.skip)
			for i := range found {
				found[i].report = filepath.Base(folder)
			}
			differences = append(differences, found...)
			s := sums[p.file]
			if s == nil {
				s = new(sum)
				sums[p.file] = s
			}
			s.equal, s.all, s.cases = s.equal+equal, s.all+all, s.cases+1
			whole := float64(equal) >= 0.999*float64(all) && len(want) == len(got)
			reason := known[filepath.Base(folder)+" "+p.file]
			switch {
			case whole && reason == "":
				s.whole++
			case whole:
				t.Errorf("%s %s is equal now: take it out of the known differences", filepath.Base(folder), p.file)
			case reason != "":
				t.Logf("%s %s: %d of %d cells equal: %s", filepath.Base(folder), p.file, equal, all, reason)
			default:
				t.Errorf("%s %s: %d of %d cells equal, %d lines of %d", filepath.Base(folder), p.file, equal, all,
					len(got), len(want))
			}
		}
	}
	for _, p := range printed {
		if sums[p.file] == nil {
			t.Errorf("%s: no report of the corpus has it, so that nothing holds page %s", p.file, p.page)
		}
		if s := sums[p.file]; s != nil {
			t.Logf("%-17s %8d of %8d cells equal (%.4f %%), %d of %d pages", p.file, s.equal, s.all,
				100*float64(s.equal)/float64(s.all), s.whole, s.cases)
		}
	}
	for _, d := range differences {
		if known[d.report+" "+d.page] == "" {
			t.Log(d)
		}
	}
	table := differencesTable()
	for _, p := range printed {
		if s := sums[p.file]; s != nil {
			table += fmt.Sprintf("%s: %d of %d cells, %d of %d pages.\n", p.file, s.equal, s.all, s.whole, s.cases)
		}
	}
	holdsTable(t, table)
}

// A difference is a cell that is not as printed.
type difference struct {
	report, page, column, want, got string
	line                            int
}

func (d difference) String() string {
	return fmt.Sprintf("%s %s line %d, %s: printed %q, ours %q", d.report, d.page, d.line, d.column, clip(d.want),
		clip(d.got))
}

func clip(s string) string { return s[:min(len(s), 200)] }

// compare counts equal cells. Columns pair by the name in the nearest header above, lines by position.
func compare(page string, want, got [][]string, skip string) (equal, all int, differences []difference) {
	var head, gotHead []string
	if len(want) != len(got) {
		differences = append(differences, difference{page: page, column: "lines", want: fmt.Sprint(len(want)),
			got: fmt.Sprint(len(got))})
	}
	for n, w := range want {
		var g []string
		if n < len(got) {
			g = got[n]
		}
		header := strings.HasPrefix(page, "raw") && n == 0 || w[0] == "Address" || w[0] == "ID" || w[0] == "Line No"
		if header {
			head, gotHead = w, g
		}
		if page == "session" && w[0] == "Created" {
			continue
		}
		for i, cell := range w {
			name := fmt.Sprint(i)
			at := i
			if i < len(head) {
				name = head[i]
				if name == skip && skip != "" && !header {
					continue
				}
				if j := slices.Index(gotHead, name); j >= 0 {
					at = j
				}
			}
			all++
			mine := "nothing"
			if at < len(g) {
				mine = g[at]
			}
			if mine == cell {
				equal++
			} else {
				differences = append(differences, difference{page: page, column: name, want: cell, got: mine, line: n +
					1})
			}
		}
	}
	return equal, all, differences
}

// once leaves out a function that follows its own copy: ncu 2025.3.1 prints each twice when a report has several
// results.
func once(rows [][]string) (out [][]string) {
	var blocks [][][]string
	for _, r := range rows {
		if r[0] == "Kernel Name" || blocks == nil {
			blocks = append(blocks, nil)
		}
		blocks[len(blocks)-1] = append(blocks[len(blocks)-1], r)
	}
	for i, block := range blocks {
		if i == 0 || !slices.EqualFunc(blocks[i-1], block, func(a, b []string) bool { return slices.Equal(a, b) }) {
			out = append(out, block...)
		}
	}
	return out
}

// reports is every report of the corpus, by folder.
func reports(t testing.TB) (all []string) {
	t.Helper()
	for _, glob := range []string{"kernel/*/report.ncu-rep*", "public/ncu/*/report.ncu-rep*"} {
		found, err := filepath.Glob(filepath.Join(golden.Corpus(t), glob))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		t.Fatal("no reports in the corpus")
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(filepath.Dir(a), filepath.Dir(b)) })
	return all
}

func open(t testing.TB, path string) *profile.Report {
	t.Helper()
	r, err := reader.OpenProfile(context.Background(), path, []*reader.Format{&ncu.Format}, reader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rows reads a printed page, packed or not; nil: there is none.
func rows(t testing.TB, path string) [][]string {
	t.Helper()
	var in io.Reader
	if f, err := os.Open(path); err == nil {
		defer f.Close()
		in = f
	} else if f, err := os.Open(path + ".gz"); err == nil {
		defer f.Close()
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	} else {
		return nil
	}
	return parse(t, in)
}

// parse reads CSV line by line, without remarks of the profiler and empty lines, as the corpus' check does.
func parse(t testing.TB, in io.Reader) [][]string {
	t.Helper()
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.SplitSeq(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n") {
		if !strings.HasPrefix(line, "==") && line != "" {
			kept = append(kept, line)
		}
	}
	r := csv.NewReader(strings.NewReader(strings.Join(kept, "\n")))
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	all, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(row []string) bool { return strings.Join(row, "") == "" })
}

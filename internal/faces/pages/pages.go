// Package pages is the shelf of answers as documents: one file an answer, from its type to a page. What an answer says
// to people is decided here, once for all forms; package page prints the forms.
package pages

import (
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
)

// maxInputs is how many files of a job are named.
const maxInputs = 4

// inputs says what was read. Several are a list.
func inputs(list []report.Input) (out []page.Block) {
	level := 0
	if len(list) > 1 {
		level = 1
	}
	for i, in := range list {
		if i == maxInputs && len(list) > maxInputs+1 {
			what := "files"
			if oneFile(list) {
				what = "ranks"
			}
			return append(out, page.Prose{List: level, Text: page.Sayf("and %d more %s", len(list)-maxInputs, what)})
		}
		var about []string
		for _, s := range []string{in.Producer, gpuNames(in.GPUs), in.Host} {
			if s != "" {
				about = append(about, s)
			}
		}
		if in.Rank != nil && len(list) > 1 {
			about = append(about, fmt.Sprintf("rank %d", *in.Rank))
		}
		if i == 0 || in.Path != list[i-1].Path || in.Rank == nil {
			out = append(out, page.Prose{Hang: 2, List: level, Text: page.Of(page.Path, in.Path)})
		}
		if len(about) > 0 {
			out = append(out, page.Prose{Indent: 2, List: 2 * level, Text: page.T(strings.Join(about, ", "))})
		}
	}
	return out
}

// oneFile says whether several inputs are the ranks that one file holds.
func oneFile(list []report.Input) bool {
	return len(list) > 1 && !slices.ContainsFunc(list,
		func(x report.Input) bool { return x.Rank == nil || x.Path != list[0].Path })
}

// inputWord is what one of the inputs is called.
func inputWord(list []report.Input) string {
	if oneFile(list) {
		return "rank"
	}
	return "input"
}

// gpuNames counts GPUs of the same name: "2 x NVIDIA H200".
func gpuNames(gpus []report.GPU) string {
	var names []string
	counts := make(map[string]int)
	for _, g := range gpus {
		if counts[g.Name] == 0 {
			names = append(names, g.Name)
		}
		counts[g.Name]++
	}
	for i, n := range names {
		if n == "" {
			n = "unnamed GPU"
		}
		if c := counts[names[i]]; c > 1 {
			n = fmt.Sprintf("%d x %s", c, n)
		}
		names[i] = n
	}
	return strings.Join(names, ", ")
}

// tableSection is a table whose title stands in the head of its first column in text; nothing without rows.
func tableSection(title string, fold bool, x page.Table) []page.Block {
	if len(x.Rows) == 0 {
		return nil
	}
	return []page.Block{page.Section{Title: page.T(title), Level: 1, Fold: fold, InHead: true, Blocks: []page.Block{x}}}
}

// section is blocks under a heading of the page, in Markdown and HTML on a click if fold; nothing without blocks.
func section(title string, fold bool, blocks ...page.Block) []page.Block {
	if len(blocks) == 0 {
		return nil
	}
	return []page.Block{page.Section{Title: page.T(title), Level: 1, Fold: fold, Blocks: blocks}}
}

// listed is sentences as the lines of a list.
func listed(texts []page.Text) (out []page.Block) {
	for _, t := range texts {
		out = append(out, page.Prose{Indent: 2, Lead: "- ", Text: t})
	}
	return out
}

// vague is the width of a range, as a share of the estimate, from which on the estimate is no answer: the bounds are.
const vague = 0.5

// isVague says whether an estimate is no answer by itself.
func isVague(ms, low, high float64) bool { return high-low > vague*ms }

// freeWords is what something takes without the profiler.
func freeWords(ms, low, high float64) page.Text {
	if !isVague(ms, low, high) {
		return page.Sayf("%s (estimate: %s)", page.Num(unit.About(ms)+" ms"), unit.Bounds(ms, low, high))
	}
	return page.Sayf("%s (estimate)", page.Num(unit.Bounds(ms, low, high)))
}

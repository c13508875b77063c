package kernelpages

import (
	"bufio"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"lacuna/internal/kernel/profile"
)

// sourceText lists instructions with their lines, how often warps executed them, samples, and what warps waited for
// there.
func sourceText(w *bufio.Writer, r *profile.Report, opt Options) error {
	if opt.View == "cuda" {
		for _, f := range sourceFiles(r) {
			fmt.Fprintf(w, "%s\n", printable(f.Path))
			for n, line := range fileLines(f.Text) {
				fmt.Fprintf(w, "%6d  %s\n", n+1, printable(strings.ReplaceAll(line, "\t", "    ")))
			}
		}
		return nil
	}
	m := modulesOf(r, opt)
	for _, l := range r.Launches {
		heading(w, l)
		for _, f := range listings(l, m) {
			f.decode()
			fmt.Fprintf(w, "\n %s at %#x\n", printable(m.printedName(f.name)), f.address)
			listingText(w, &f)
		}
	}
	return nil
}

func listingText(w *bufio.Writer, f *listing) {
	fmt.Fprintf(w, "  %7s %-12s %-20s %12s %8s  %s\n", "offset", "operation", "line", "executed", "samples",
		"waiting, most first")
	for _, i := range f.code {
		address := f.address + i.Offset
		line := ""
		if at := f.fn.Lines(i.Offset); len(at) > 0 {
			line = fmt.Sprintf("%s:%d", path.Base(at[0].File), at[0].Line)
		}
		row := fmt.Sprintf("  %7s %-12s %-20s %12s %8s  %s", fmt.Sprintf("%#x", i.Offset), printable(f.sass(i)),
			printable(line),
			f.count("inst_executed", address), f.count("smsp__pcsamp_sample_count", address), f.waiting(address))
		fmt.Fprintln(w, strings.TrimRight(row, " "))
	}
}

// count is a metric of an instruction; "" if it was not collected.
func (f *listing) count(metric string, address uint64) string {
	for _, c := range f.columns {
		if c.metric == metric {
			return c.cell(address)
		}
	}
	return ""
}

// maxWaits is how many reasons to wait are told of an instruction.
const maxWaits = 2

// waiting is the reasons for which most warps were sampled at an instruction, with their samples.
func (f *listing) waiting(address uint64) string {
	var waits []*sourceColumn
	for _, c := range f.columns {
		reason, isStall := strings.CutPrefix(c.metric, "smsp__pcsamp_warps_issue_stalled_")
		if isStall && !strings.HasSuffix(reason, "_not_issued") && reason != "selected" && c.number(address) > 0 {
			waits = append(waits, c)
		}
	}
	slices.SortStableFunc(waits, func(a, b *sourceColumn) int {
		return cmp.Compare(b.number(address),
			a.number(address))
	})
	var said []string
	for _, c := range waits[:min(len(waits), maxWaits)] {
		said = append(said, fmt.Sprintf("%s %.0f", printable(strings.TrimPrefix(c.label, "stall_")), c.number(address)))
	}
	return strings.Join(said, ", ")
}

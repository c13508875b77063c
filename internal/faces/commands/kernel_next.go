package commands

import (
	"fmt"
	"regexp"
	"strings"

	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
	"lacuna/internal/kernel/kernelreport"
)

// kernelNext is which commands to run after lacuna kernel, most useful first.
func kernelNext(r *kernelreport.Report) []page.Advice {
	var out []page.Advice
	if len(r.Kernels) == 0 {
		return nil
	}
	k := &r.Kernels[0]
	in := &r.Inputs[k.Input]
	path := pages.ShellWord(in.Path)
	if x := unmeasured(r); x != nil && k.DurationUs != nil {
		out = append(out, page.Advice{Command: profileAgain(&r.Inputs[x.Input], x, "--set full"),
			Why: fmt.Sprintf("%s was not measured, and may be the one that matters; if it fails again, add "+
				"--replay-mode application", x.Base)})
	}
	if sections := kernelreport.SectionsMissing(r.Kernels[:1]); sections != "" && len(k.Missing)+len(k.Abstained) > 1 {
		out = append(out, page.Advice{Command: profileAgain(in, k, sections),
			Why: "collects what the first kernel lacks"})
	}
	if o := k.Occupancy; o != nil && o.TheoreticalPct != nil && *o.TheoreticalPct < 100 && k.Class == "latency" {
		out = append(out, page.Advice{Command: fmt.Sprintf(
			"lacuna kernel %s --launch %d --what-if regs=%d,smem=%d,block=%d", path, k.Launch, o.Registers,
			o.SharedBytes, o.Threads),
			Why: "the occupancy with other resources: change the numbers"})
	}
	if len(k.Roofline) > 0 {
		out = append(out, page.Advice{Command: fmt.Sprintf("lacuna kernel %s --svg roofline.svg", path),
			Why: "the roofline as a picture"})
	}
	if len(k.Findings) > 0 && !k.Findings[0].Healthy {
		out = append(out, page.Advice{Command: fmt.Sprintf("lacuna diff %s AFTER.ncu-rep", path),
			Why: "what a fix has changed, once it is profiled"})
	}
	return append(out, page.Advice{Command: fmt.Sprintf("lacuna kernel %s --page details", path),
		Why: "what ncu itself prints"})
}

// unmeasured is the first kernel of which the report holds nothing but its name, none of whose other launches was
// measured either; nil: there is none.
func unmeasured(r *kernelreport.Report) *kernelreport.Kernel {
	measured := make(map[string]bool)
	for i := range r.Kernels {
		if r.Kernels[i].DurationUs != nil {
			measured[r.Kernels[i].Name] = true
		}
	}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		none := k.DurationUs == nil && k.SOL == nil && k.Stalls == nil && k.Occupancy == nil
		if none && k.Base != "" && !measured[k.Name] {
			return k
		}
	}
	return nil
}

// maxSections is how many sections are named one by one.
const maxSections = 4

// profileAgain is the ncu command that profiles a kernel once more with sections.
func profileAgain(in *kernelreport.Input, k *kernelreport.Kernel, sections string) string {
	if strings.Count(sections, "--section") > maxSections {
		sections = "--set full"
	}
	program := in.Program
	if program == "" {
		program = "PROGRAM"
	}
	return fmt.Sprintf("ncu %s --import-source yes -k %s -c 1 -o again %s", sections,
		pages.ShellWord("regex:^"+regexp.QuoteMeta(k.Base)+"$"), program)
}

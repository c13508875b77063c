package commands

import (
	"fmt"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
)

// worthLooking is the least share of a step for which a command is advised.
const worthLooking = 0.05

// nextSteps is which commands to run after a report, most useful first.
func nextSteps(r *report.Report, markersFree bool) []page.Advice {
	path := pages.InputWord(r)
	var out []page.Advice
	add := func(command, why string) {
		out = append(out, page.Advice{Command: "lacuna " + command, Why: why})
	}
	table := func(name, why string) {
		if _, err := findTable(name); err == nil {
			add("stats "+path+" -r "+name, why)
		}
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Change != "" {
			add("whatif "+pages.InputWord(r)+" "+f.Args(pages.ShellWord),
				"replays the first fix; lacuna whatif --list has others, and -x may be repeated")
			break
		}
	}
	b, step := r.Budget, r.Budget.StepMs()
	if step <= 0 || len(r.PerDevice) == 0 {
		add("info "+path, "what the file holds and what it lacks")
		add("stats "+path, "the tables that have data")
		return out
	}
	named := r.Capture.Ranges > 0
	if named && markersFree && (r.Steps.Source == "none" || r.Steps.Source == "periodicity") {
		add("report "+path+" --step-range NAME", "if one of your ranges marks a step; lacuna info lists them")
	}
	if named && b.Idle/step >= worthLooking {
		table("phases", "each named range: its time, GPU work and GPU idle time")
	}
	if len(r.TopSyncs) > 0 && r.TopSyncs[0].MsPerStep/step >= worthLooking {
		table("cuda_api_sum", "every CUDA call: count and time")
	}
	if (b.Compute+b.CommExposed)/step >= worthLooking {
		table("cuda_gpu_kern_sum", "every kernel, most time first")
	}
	out = append(out, insideAdvice(r)...)
	if b.Copy/step >= worthLooking {
		table("cuda_gpu_mem_time_sum", "every kind of copy: count and time")
	}
	add("export "+path+" --to chrome -o timeline.json.gz", "the timeline, for ui.perfetto.dev")
	return out
}

// mostHot is how many hot kernels advice names; maxHotName is the longest name there.
const (
	mostHot    = 2
	maxHotName = 40
)

// hottest names the kernels that are worth a look inside.
func hottest(x *report.Inside) string {
	var names []string
	for _, name := range x.Kernels {
		if len(names) < mostHot {
			names = append(names, page.Layout{}.Fit(page.Printable(name), maxHotName))
		}
	}
	if more := len(x.Kernels) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s (%s %% of the step)", unit.List(names), unit.Percent(x.ShareOfStep))
}

// insideAdvice is how to look inside the hot kernels, unless that was done.
func insideAdvice(r *report.Report) []page.Advice {
	x := r.Inside
	if x == nil || r.KernelReports != nil {
		return nil
	}
	program := x.Program
	if program == "" {
		program = "PROGRAM"
	}
	joined := "lacuna report " + pages.InputWord(r) + " --kernels kernels.ncu-rep"
	if len(r.Inputs) > 1 || r.Inputs[0].Path == "-" { // kernel --from takes one file
		return []page.Advice{
			{Command: x.Command + " " + program, Why: "profiles " + hottest(x) + " in a warm step; raise " +
				"--launch-skip by the launches before the capture started"},
			{Command: joined, Why: "then: why they are slow, and what that costs per step"},
		}
	}
	return []page.Advice{
		{Command: fmt.Sprintf("lacuna kernel --from %s --top %d -- %s", pages.InputWord(r), len(x.Kernels), program),
			Why: "runs the program (give its arguments) under ncu for " + hottest(x) + ": why slow, and what that " +
				"costs per step"},
		{Command: joined, Why: "the same, from a report of ncu that you have"},
	}
}

package commands

import (
	"strings"

	"lacuna/internal/report"
	"lacuna/internal/writers"
)

// worthLooking is the least share of a step for which a command is advised.
const worthLooking = 0.05

// nextSteps is which commands to run after a report, most useful first.
func nextSteps(r *report.Report, markersFree bool) []writers.Advice {
	path := pathOf(r)
	var out []writers.Advice
	add := func(command, why string) {
		out = append(out, writers.Advice{Command: "lacuna " + command, Why: why})
	}
	table := func(name, why string) {
		if _, err := findTable(name); err == nil {
			add("stats "+path+" -r "+name, why)
		}
	}
	for i := range r.Findings {
		if c := r.Findings[i].Change; c != "" {
			add("whatif "+pathOf(r)+" -x "+shellWord(c), "the first change replayed; lacuna whatif --list has others, and -x may be repeated")
			break
		}
	}
	b, step := r.Budget, r.Budget.StepMs()
	if step <= 0 || len(r.PerDevice) == 0 {
		add("info "+path, "what the file holds, and what it lacks")
		add("stats "+path, "the tables that it has something for")
		return out
	}
	named := r.Capture.Ranges > 0
	if named && markersFree && (r.Steps.Source == "none" || r.Steps.Source == "periodicity") {
		add("report "+path+" --step-range NAME", "if one of your ranges marks a step; lacuna info names them")
	}
	if named && b.Idle/step >= worthLooking {
		table("phases", "each named range: its time, the GPU work in it, the idle in it")
	}
	if len(r.TopSyncs) > 0 && r.TopSyncs[0].MsPerStep/step >= worthLooking {
		table("cuda_api_sum", "every CUDA call: how often, how long")
	}
	if (b.Compute+b.CommExposed)/step >= worthLooking {
		table("cuda_gpu_kern_sum", "every kernel, most time first")
	}
	if b.Copy/step >= worthLooking {
		table("cuda_gpu_mem_time_sum", "every kind of copy")
	}
	add("export "+path+" --to chrome -o timeline.json.gz", "the timeline, for ui.perfetto.dev")
	return out
}

// pathOf is the input that lists and findings are of, as a word of a command.
func pathOf(r *report.Report) string {
	if r.Slowest >= len(r.Inputs) || r.Inputs[r.Slowest].Path == "-" {
		return "FILE"
	}
	return shellWord(r.Inputs[r.Slowest].Path)
}

// shellWord quotes a path so that it can be pasted into a POSIX shell.
func shellWord(s string) string {
	plain := s != "" && !strings.HasPrefix(s, "-")
	for _, r := range s {
		plain = plain && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+=:,@%", r))
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

package writers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lacuna/internal/facts"
	"lacuna/internal/model"
	"lacuna/internal/report"
	"lacuna/internal/unit"
)

// A shower makes a name that came out of a file fit to be shown.
type shower func(name string) string

// headline is the answer in two or three sentences.
func headline(r *report.Report, show shower) string {
	step := r.Budget.StepMs()
	if step <= 0 || r.Steps.Count == 0 {
		return "There is no GPU work and no step in this capture."
	}
	digits := unit.MsDigits(step)
	ms := func(v float64) string { return unit.Fixed(v, digits) }
	var s strings.Builder
	what := "A step"
	if r.Steps.Basis == "host" {
		what = "A step of the host"
	}
	switch {
	case r.Steps.Source == "none":
		fmt.Fprintf(&s, "The capture covers %s ms.", ms(step))
	case r.Steps.Count == 1:
		fmt.Fprintf(&s, "%s takes %s ms (one step%s).", what, ms(r.Steps.MeanMs), foundBy(r.Steps.Source))
	default:
		slowest := ""
		if len(r.Inputs) > 1 {
			slowest = "slowest " + inputWord(r.Inputs) + ": "
		}
		fmt.Fprintf(&s, "%s takes %s ms (%smedian %s, p10 %s, p90 %s; %s steps%s).", what, ms(r.Steps.MeanMs), slowest, ms(r.Steps.MedianMs),
			ms(r.Steps.P10Ms), ms(r.Steps.P90Ms), unit.FormatCount(int64(r.Steps.Count)), foundBy(r.Steps.Source))
	}
	s.WriteString(whereItGoes(r, show))
	return s.String()
}

// worthSaying is the least share of a step that the headline names.
const worthSaying = 0.05

// whereItGoes says what the GPU does with the step.
func whereItGoes(r *report.Report, show shower) string {
	b, step := r.Budget, r.Budget.StepMs()
	share := func(ms float64) string { return unit.Percent(ms/step) + " %" }
	if b.Compute+b.CommExposed+b.Copy <= 0 {
		return " No GPU works in it."
	}
	s := " Of it the GPU computes "
	if n := len(r.PerDevice); n > 1 {
		s = fmt.Sprintf(" Of it a GPU (mean of %d) computes ", n)
	}
	s += share(b.Compute)
	if b.CommExposed/step >= worthSaying {
		s += fmt.Sprintf(", communicates without computing %s", share(b.CommExposed))
	}
	if b.Copy/step >= worthSaying {
		s += fmt.Sprintf(", only copies %s", share(b.Copy))
	}
	s += fmt.Sprintf(" and waits %s", share(b.Idle))
	causes := causesOf(b, show)
	if len(causes) > 0 && causes[0].ms/step >= worthSaying {
		switch ms := causes[0].ms; {
		case ms >= 0.995*b.Idle:
			s += ", all of it"
		case ms >= 0.5*b.Idle:
			s += fmt.Sprintf(", mostly (%s)", share(ms))
		default:
			s += fmt.Sprintf(", the largest part (%s)", share(ms))
		}
		s += " while the host " + causes[0].words
	}
	return s + "."
}

// foundBy says how the steps were found, where the report's note does not.
func foundBy(source string) string {
	if source == "periodicity" {
		return ""
	}
	return " by " + sourceWords(source)
}

// sourceWords names what marks the steps.
func sourceWords(source string) string {
	switch source {
	case "nvtx":
		return "NVTX ranges"
	case "annotation":
		return "annotations"
	case "profiler_step":
		return "ProfilerStep"
	case "periodicity":
		return "the rhythm of the launches"
	case "none":
		return "no marker"
	}
	return source
}

// A cause is a part of the idle time.
type cause struct {
	key   string // as in idle_by_host
	words string // what the host did, as the end of "the host ..."
	ms    float64
}

// causesOf is a budget's idle by host, most first; ties by name. Calls that take long do not launch: they are told by name.
func causesOf(b report.Budget, show shower) []cause {
	var out []cause
	inCalls := 0.0
	for _, call := range slices.Sorted(maps.Keys(b.IdleInLongCalls)) {
		ms := b.IdleInLongCalls[call]
		held := facts.HeldIn(call)
		out = append(out, cause{held.Key(), held.Clause().With(show), ms})
		inCalls += ms
	}
	for key, ms := range b.IdleByHost {
		if key == facts.CauseLaunch {
			ms = max(0, ms-inCalls)
		}
		out = append(out, cause{key, causeWords(key, show), ms})
	}
	slices.SortFunc(out, func(a, b cause) int {
		if a.ms != b.ms {
			if a.ms > b.ms {
				return -1
			}
			return 1
		}
		return strings.Compare(a.key, b.key)
	})
	return out
}

// causeWords says what the host did, as the end of a sentence that begins with "the host".
func causeWords(key string, show shower) string { return facts.ParseCause(key).Clause().With(show) }

// gapKey is the cause of a gap, by name if it is one call that takes long: such a call does not launch.
func gapKey(g report.Gap, b report.Budget) string {
	if g.Cause == facts.CauseLaunch && b.IdleInLongCalls[g.Call] > 0 && 2*g.CallMs >= g.DurMs {
		return facts.HeldIn(g.Call).Key()
	}
	return g.Cause
}

// lossWords says what a loss means. Codes of one reader only are shown as they are.
func lossWords(code string) string {
	switch model.LossCode(code) {
	case model.LossTruncated:
		return "the file ends too early; what came before was read"
	case model.LossBadEvent:
		return "events that could not be understood were left out"
	case model.LossBadTime:
		return "events without a usable time were left out"
	case model.LossNegative:
		return "events that end before they start count as instants"
	case model.LossZeroTime:
		return "GPU work whose times the profiler did not collect was left out"
	case model.LossUnknownEvent:
		return "events of a kind that lacuna does not know were left out"
	case model.LossWidth:
		return "values that are out of range were left out"
	case model.LossUnclosed:
		return "ranges that never ended are kept as open"
	case model.LossDuplicateCorr:
		return "calls share a correlation ID with an earlier one; work is credited to the first"
	case model.LossUnreadableTable:
		return "a part of the file is damaged and was left out"
	case model.LossDropped:
		return "the profiler itself says that it dropped records"
	case model.LossForeignDevice:
		return "work of devices that are no known GPU was left out"
	}
	return strings.ReplaceAll(code, "-", " ")
}

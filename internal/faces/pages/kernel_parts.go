package pages

import (
	"fmt"
	"math"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
	"lacuna/internal/kernel/kernelreport"
)

// How many rows the parts of a kernel's page have at most.
const (
	maxUnits  = 6 // of the device, or kinds of instructions
	maxStalls = 6 // groups of stall reasons
	maxLines  = 5 // source lines
)

// shareOf is a meter of a share of 0 to 1.
func shareOf(name string, share float64, style page.Style) page.Meter {
	return page.Meter{Name: page.T(name), Share: share, Figure: unit.Percent(share), Style: style}
}

// speedOfLight is how near the kernel is to what the device can do.
func speedOfLight(k *kernelreport.Kernel) []page.Block {
	s := k.SOL
	if s == nil {
		return nil
	}
	var rows []page.Meter
	if s.SMPct != nil {
		rows = append(rows, shareOf("compute (SM)", *s.SMPct/100, page.Green))
	}
	if s.MemoryPct != nil {
		rows = append(rows, shareOf("memory", *s.MemoryPct/100, page.Cyan))
	}
	for i, u := range s.Parts {
		if i == maxUnits || i > 1 && u.Pct < 10 {
			break
		}
		row := shareOf(u.What, u.Pct/100, "")
		row.Inner = true
		rows = append(rows, row)
	}
	return []page.Block{page.Section{Title: page.T("Speed of light (SOL), % of the peak of the device"), Level: 2,
		Blocks: []page.Block{page.Meters{Rows: rows}}}}
}

// shortSpeed is compute and memory only.
func shortSpeed(k *kernelreport.Kernel) []page.Block {
	for _, s := range speedOfLight(k) {
		s := s.(page.Section)
		for _, b := range s.Blocks {
			var rows []page.Meter
			for _, row := range b.(page.Meters).Rows {
				if !row.Inner {
					rows = append(rows, row)
				}
			}
			return []page.Block{page.Gap{}, page.Meters{Rows: rows}}
		}
	}
	return nil
}

// stalls is what warps wait for, by the names of ncu.
func stalls(k *kernelreport.Kernel) []page.Block {
	if len(k.StallParts) == 0 {
		return nil
	}
	var rows []page.Meter
	rest, n := 0.0, 0
	for i, s := range k.StallParts {
		if i >= maxStalls || s.Share < 0.02 && i > 0 {
			rest += s.Share
			n++
			continue
		}
		row := shareOf(stallWords(s.Name, s.Reasons), s.Share, "")
		if s.Cycles != nil && i < 3 {
			row.Note = page.Sayf("%s cycles per instruction", page.Num(unit.Three(*s.Cycles)))
		}
		rows = append(rows, row)
	}
	if n > 0 && rest >= 0.001 {
		rows = append(rows, shareOf(unit.Counted(n, "other", "others"), rest, ""))
	}
	return folded("Warp stalls, % of a warp's time between instructions", []page.Block{page.Meters{Rows: rows}})
}

// reasonNames is the stall reasons that ncu does not call by their words alone.
var reasonNames = map[string]string{"mio_throttle": "MIO Throttle", "lg_throttle": "LG Throttle",
	"imc_miss": "IMC Miss",
	"gmma":     "GMMA", "dispatch_stall": "Dispatch"}

// reasonWords is a stall reason as ncu calls it: "Long Scoreboard".
func reasonWords(reason string) string {
	if name, ok := reasonNames[reason]; ok {
		return name
	}
	words := strings.Split(reason, "_")
	for i, w := range words {
		words[i] = capital(w)
	}
	return strings.Join(words, " ")
}

// mostReasons is how many stall reasons of a group are named one by one.
const mostReasons = 2

// stallWords is a group of stall reasons: ncu's names of those that occur, most first, then what they wait for.
func stallWords(group string, reasons []string) string {
	if group == kernelreport.NoWait {
		return "Selected, Not Selected: " + group
	}
	names, what, ok := strings.Cut(group, ": ")
	if !ok {
		return group
	}
	if n := len(reasons); n > 0 && n <= mostReasons {
		var list []string
		for _, r := range reasons {
			list = append(list, reasonWords(r))
		}
		names = strings.Join(list, ", ")
	}
	return names + ": " + strings.TrimPrefix(what, "waiting for ")
}

// stallName is a group of stall reasons by ncu's names alone.
func stallName(group string) string {
	if group == kernelreport.NoWait {
		return "Selected"
	}
	names, _, _ := strings.Cut(group, ": ")
	return names
}

// hotLines is the source lines where most of it happens.
func hotLines(k *kernelreport.Kernel) []page.Block {
	what := k.LinesOf
	if what == "" {
		what = "samples"
	}
	if what == "the time that warps wait" {
		what = "warp stall time"
	}
	var out []page.Block
	for i := range k.Lines {
		if i == maxLines || i > 0 && k.Lines[i].Share < 0.01 {
			break
		}
		note := stallName(k.Lines[i].Why)
		if note != "" && k.Lines[i].Reason != "" {
			note = reasonWords(k.Lines[i].Reason)
		}
		out = append(out, sourceLine(4, k, &k.Lines[i], note))
	}
	return folded("Hot source lines, % of "+what, out)
}

// occupancy is how many warps the SMs hold, what limits them and what more would take.
func occupancy(k *kernelreport.Kernel) []page.Block {
	o := k.Occupancy
	if o == nil {
		return nil
	}
	var rows []page.Meter
	if o.TheoreticalPct != nil {
		rows = append(rows, shareOf("theoretical", *o.TheoreticalPct/100, ""))
	}
	if o.AchievedPct != nil {
		rows = append(rows, shareOf("achieved", *o.AchievedPct/100, ""))
	}
	out := []page.Block{page.Meters{Rows: rows}}
	for _, s := range occupancyWords(o) {
		out = append(out, page.Prose{Indent: 4, Text: page.T(s)})
	}
	return folded("Occupancy: warps per SM, % of the most that it can hold", out)
}

// occupancyWords is what limits occupancy and what the next steps up need, in sentences.
func occupancyWords(o *kernelreport.Occupancy) (out []string) {
	var uses []string
	if o.Registers > 0 {
		uses = append(uses, fmt.Sprintf("%d registers per thread", o.Registers))
	}
	if o.SharedBytes > 0 {
		uses = append(uses, unit.FormatBinary(int64(o.SharedBytes))+" of shared memory per block")
	}
	if o.Threads > 0 {
		uses = append(uses, unit.FormatCount(int64(o.Threads))+" threads per block")
	}
	s := ""
	if o.BlocksPerSM > 0 {
		s = unit.Counted(o.BlocksPerSM, "block", "blocks") + " per SM"
	}
	if len(o.Limiting) > 0 {
		s = strings.TrimPrefix(s+", limited by "+unit.List(o.Limiting), ", ")
	}
	if len(uses) > 0 {
		s = strings.TrimPrefix(s+": "+unit.List(uses), ": ")
	}
	if s != "" {
		out = append(out, page.Sentence(page.T(s)).String())
	}
	if w := o.Waves; w != nil {
		s := fmt.Sprintf("The grid is %s waves of blocks", unit.Three(*w))
		if *w < 1 {
			s = fmt.Sprintf("The grid fills %s %% of one wave of blocks", unit.Percent(*w))
		} else if o.TailPct != nil && *o.TailPct >= 1 {
			s += fmt.Sprintf("; %s %% of the last one stays empty, %s %% of all", unit.Percent(math.Ceil(*w)-*w),
				unit.Percent(*o.TailPct/100))
		}
		out = append(out, s+".")
	}
	for i, x := range o.Steps {
		what := "Or"
		if i == 0 {
			what = "Next step up:"
		}
		out = append(out, fmt.Sprintf("%s %s %% with %s.", what, unit.Percent(x.Pct/100), x.Needs))
	}
	return out
}

// mix is what instructions are executed.
func mix(k *kernelreport.Kernel) []page.Block {
	m := k.Mix
	if m == nil || len(m.Parts)+len(m.Notes) == 0 {
		return nil
	}
	head := "Instruction mix"
	if m.Instructions != nil && *m.Instructions > 0 {
		head += fmt.Sprintf(": %s executed warp instructions", strings.TrimSpace(unit.SI(*m.Instructions)))
	}
	if len(m.Parts) > 0 {
		head += ", % of them by kind"
	}
	var rows []page.Meter
	for i, x := range m.Parts {
		if i >= maxUnits || x.Share < 0.01 && i > 0 {
			break
		}
		rows = append(rows, shareOf(x.Name, x.Share, ""))
	}
	return folded(head, append([]page.Block{page.Meters{Rows: rows}}, notes(m.Notes)...))
}

// notes is what stands out in a part of a kernel's page.
func notes(list []string) (out []page.Block) {
	for _, n := range list {
		out = append(out, page.Prose{Indent: 4, Lead: "- ", Text: page.Sentence(page.T(n))})
	}
	return out
}

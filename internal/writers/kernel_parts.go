package writers

import (
	"fmt"
	"math"
	"strings"

	"lacuna/internal/kernelreport"
	"lacuna/internal/unit"
)

// meterWidth is how wide a bar of 0 to 100 % is, at most.
const meterWidth = 40

// meter draws a share of 0 to 1 over width columns: at least one column for anything.
func (p *printer) meter(share float64, width int, style string) string {
	n := min(max(int(math.Round(share*float64(width))), 0), width)
	if n == 0 && share > 0 {
		n = 1
	}
	return p.paint(style, strings.Repeat(p.pick("█", "#"), n)) + strings.Repeat(p.pick("░", "."), width-n)
}

// minMeter is how narrow a bar is made before its label is shortened.
const minMeter = 10

// A meterRow is a share with its name and a remark.
type meterRow struct {
	name, note, style string
	share             float64
}

// meters draws shares below each other.
func (p *printer) meters(rows []meterRow) {
	label, notes := 0, 0
	for _, r := range rows {
		label, notes = max(label, shown(r.name)), max(notes, shown(r.note))
	}
	const figures = 7 // "100.0 %"
	label = min(label, max(12, p.width()/2), max(12, p.width()-4-2-2-figures-minMeter))
	width := min(meterWidth, p.width()-4-label-2-2-figures)
	if room := p.width() - 4 - label - 2 - 2 - figures - 2 - notes; room >= 10 {
		width = min(width, room)
	}
	width = max(width, 4)
	for _, r := range rows {
		line := fmt.Sprintf("    %s  %s  %5s %%", pad(p.fit(r.name, label), label, false), p.meter(r.share, width, r.style), unit.Percent(r.share))
		used := 4 + label + 2 + width + 2 + figures
		if room := p.width() - used - 2; r.note != "" && room >= 8 {
			line += "  " + p.paint(dim, p.fit(r.note, room))
		}
		p.line(line)
	}
}

// maxUnits is how many units are drawn.
const maxUnits = 6

// speedOfLight draws how near the kernel is to what the device can do.
func (p *printer) speedOfLight(k *kernelreport.Kernel) {
	s := k.SOL
	if s == nil {
		return
	}
	p.subheading("Speed of light: % of what the device can do at most")
	var rows []meterRow
	if s.SMPct != nil {
		rows = append(rows, meterRow{name: "compute", share: *s.SMPct / 100, style: green})
	}
	if s.MemoryPct != nil {
		rows = append(rows, meterRow{name: "memory", share: *s.MemoryPct / 100, style: cyan})
	}
	for i, u := range s.Parts {
		if i == maxUnits || i > 1 && u.Pct < 10 {
			break
		}
		rows = append(rows, meterRow{name: "  " + p.clean(u.What), share: u.Pct / 100})
	}
	p.meters(rows)
}

// maxStalls is how many groups of stall reasons are drawn.
const maxStalls = 6

// stalls draws what warps wait for.
func (p *printer) stalls(k *kernelreport.Kernel) {
	if len(k.StallParts) == 0 {
		return
	}
	p.subheading("What a warp waits for, % of its time between instructions")
	var rows []meterRow
	rest, n := 0.0, 0
	for i, s := range k.StallParts {
		if i >= maxStalls || s.Share < 0.02 && i > 0 {
			rest += s.Share
			n++
			continue
		}
		row := meterRow{name: p.clean(waitWords(s.Name)), share: s.Share}
		if s.Cycles != nil && i < 3 {
			row.note = unit.Three(*s.Cycles) + " cycles an instruction"
		}
		rows = append(rows, row)
	}
	if n > 0 && rest >= 0.001 {
		rows = append(rows, meterRow{name: unit.Counted(n, "other", "others"), share: rest})
	}
	p.meters(rows)
}

// waitWords is a group of stall reasons under a heading that says "waits for".
func waitWords(name string) string {
	if name == kernelreport.NoWait {
		return "nothing: issuing or ready"
	}
	return strings.TrimPrefix(name, "waiting for ")
}

// maxLines is how many hot lines are shown.
const maxLines = 5

// hotLines shows the source lines where most of it happens.
func (p *printer) hotLines(k *kernelreport.Kernel) {
	if len(k.Lines) == 0 {
		return
	}
	what := k.LinesOf
	if what == "" {
		what = "samples"
	}
	p.subheading("Where the time goes, % of " + p.clean(what))
	for i := range k.Lines {
		if i == maxLines || i > 0 && k.Lines[i].Share < 0.01 {
			break
		}
		note := waitWords(k.Lines[i].Why)
		if note != "" {
			note = "for " + note
		}
		p.place(4, &k.Lines[i], note)
	}
}

// occupancy says how many warps the SMs hold, what limits them and what more would take.
func (p *printer) occupancy(k *kernelreport.Kernel) {
	o := k.Occupancy
	if o == nil {
		return
	}
	p.subheading("Occupancy: warps on an SM, of those that it can hold")
	var rows []meterRow
	if o.TheoreticalPct != nil {
		rows = append(rows, meterRow{name: "theoretical", share: *o.TheoreticalPct / 100})
	}
	if o.AchievedPct != nil {
		rows = append(rows, meterRow{name: "achieved", share: *o.AchievedPct / 100})
	}
	p.meters(rows)
	for _, s := range occupancyWords(o) {
		p.prose("    ", 4, p.clean(s))
	}
}

// occupancyWords is what limits occupancy and what the next steps up need, in sentences.
func occupancyWords(o *kernelreport.Occupancy) (out []string) {
	var uses []string
	if o.Registers > 0 {
		uses = append(uses, fmt.Sprintf("%d registers a thread", o.Registers))
	}
	if o.SharedBytes > 0 {
		uses = append(uses, unit.FormatBytes(int64(o.SharedBytes))+" of shared memory a block")
	}
	if o.Threads > 0 {
		uses = append(uses, unit.FormatCount(int64(o.Threads))+" threads a block")
	}
	s := ""
	if o.BlocksPerSM > 0 {
		s = unit.Counted(o.BlocksPerSM, "block", "blocks") + " on an SM"
	}
	if len(o.Limiting) > 0 {
		s = strings.TrimPrefix(s+", limited by "+unit.List(o.Limiting), ", ")
	}
	if len(uses) > 0 {
		s = strings.TrimPrefix(s+": "+unit.List(uses), ": ")
	}
	if s != "" {
		out = append(out, sentence(s))
	}
	if w := o.Waves; w != nil {
		s := fmt.Sprintf("The grid is %s waves of blocks", unit.Three(*w))
		if *w < 1 {
			s = fmt.Sprintf("The grid fills %s %% of the places for blocks", unit.Percent(*w))
		} else if o.TailPct != nil && *o.TailPct >= 1 {
			s += fmt.Sprintf("; %s %% of their places stay empty in the last one", unit.Percent(*o.TailPct/100))
		}
		out = append(out, s+".")
	}
	for i, x := range o.Steps {
		if i == 0 {
			out = append(out, fmt.Sprintf("Next step up: %s %% with %s.", unit.Percent(x.Pct/100), x.Needs))
		} else {
			out = append(out, fmt.Sprintf("Or %s %% with %s.", unit.Percent(x.Pct/100), x.Needs))
		}
	}
	return out
}

// mix draws what instructions are executed.
func (p *printer) mix(k *kernelreport.Kernel) {
	m := k.Mix
	if m == nil || len(m.Parts)+len(m.Notes) == 0 {
		return
	}
	head := "Instructions"
	if m.Instructions != nil && *m.Instructions > 0 {
		head += fmt.Sprintf(": %s executed by warps", strings.TrimSpace(unit.SI(*m.Instructions)))
	}
	if len(m.Parts) > 0 {
		head += ", % of them by kind"
	}
	p.subheading(head)
	var rows []meterRow
	for i, x := range m.Parts {
		if i >= maxUnits || x.Share < 0.01 && i > 0 {
			break
		}
		rows = append(rows, meterRow{name: p.clean(x.Name), share: x.Share})
	}
	p.meters(rows)
	for _, n := range m.Notes {
		p.prose("    - ", 6, p.clean(sentence(n)))
	}
}

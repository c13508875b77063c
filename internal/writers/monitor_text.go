package writers

import (
	"fmt"
	"io"
	"strings"

	"lacuna/internal/monitor"
	"lacuna/internal/unit"
)

// MonitorText prints the state of all GPUs: a line each, what holds their clocks down, the processes on them.
func MonitorText(w io.Writer, s *monitor.Snapshot, page Page) error {
	p := &printer{Page: page, w: w}
	p.prose("", 0, p.clean(s.Time.Format("2006-01-02 15:04:05 UTC")+", "+s.Host+", driver "+s.Driver))
	p.prose("", 0, p.clean(monitorNames(s)))
	p.line("")
	rows := make([][]string, len(s.GPUs))
	for i := range s.GPUs {
		rows[i] = p.monitorRow(&s.GPUs[i])
	}
	p.grid(p.monitorColumns(), rows)
	p.monitorTroubles(s)
	p.monitorProcesses(s)
	return p.err
}

// monitorNames is which GPUs there are: "GPU 0 to 7: NVIDIA H200".
func monitorNames(s *monitor.Snapshot) string {
	var words []string
	for from := 0; from < len(s.GPUs); {
		to := from
		for to+1 < len(s.GPUs) && s.GPUs[to+1].Name == s.GPUs[from].Name {
			to++
		}
		span := fmt.Sprint("GPU ", from)
		if to > from {
			span += fmt.Sprint(" to ", to)
		}
		words = append(words, span+": "+s.GPUs[from].Name)
		from = to + 1
	}
	return strings.Join(words, ", ")
}

// monitorColumns is the columns of a line: all fit into 80, which is what drop is tuned for.
func (p *printer) monitorColumns() []gridColumn {
	return []gridColumn{
		{head: "GPU", right: true}, {head: "util %", right: true}, {head: "mem %", right: true, drop: 4}, {head: "memory GiB", right: true},
		{head: "SM MHz", right: true, drop: 1}, {head: "power W", right: true}, {head: p.pick("°C", "C"), right: true},
		{head: "PCIe GB/s", right: true, drop: 2}, {head: "NVLink GB/s", right: true, drop: 3},
	}
}

func (p *printer) monitorRow(g *monitor.GPU) []string {
	const gib, gB = 1 << 30, 1e9
	return []string{
		fmt.Sprint(g.Index), told(g.UtilPct, 1, 0), told(g.MemoryUtilPct, 1, 0),
		both(told(g.MemoryUsedBytes, gib, 1), told(g.MemoryTotalBytes, gib, 0)),
		both(told(g.SMClockMHz, 1, 0), told(g.MaxSMClockMHz, 1, 0)),
		both(told(g.PowerW, 1, 0), told(g.PowerLimitW, 1, 0)),
		told(g.TemperatureC, 1, 0),
		both(told(g.PCIeTxBps, gB, 2), told(g.PCIeRxBps, gB, 2)),
		both(told(g.NVLinkTxBps, gB, 1), told(g.NVLinkRxBps, gB, 1)),
	}
}

// told is a value in a scale; "-": the device does not tell.
func told(v *float64, scale float64, decimals int) string {
	if v == nil {
		return "-"
	}
	return unit.Fixed(*v/scale, decimals)
}

// both is two values of one thing: what is and what may be, what is sent and what is received.
func both(a, b string) string {
	if a == "-" && b == "-" {
		return "-"
	}
	return a + "/" + b
}

// monitorTroubles says what holds clocks down, what is split and what cannot be read.
func (p *printer) monitorTroubles(s *monitor.Snapshot) {
	first := true
	say := func(style, text string) {
		if first {
			p.line("")
			first = false
		}
		for i, l := range p.wrap(p.clean(text), p.width()-4) {
			p.line(strings.Repeat(" ", 2+2*min(i, 1)) + p.paint(style, l))
		}
	}
	for i := range s.GPUs {
		switch g := &s.GPUs[i]; {
		case g.Error != "":
			say(red, g.Error)
		case len(g.Throttle) > 0:
			say(magenta, fmt.Sprintf("GPU %d: clocks are held down by %s", g.Index, strings.Join(g.Throttle, ", ")))
		case g.MIG:
			say("", fmt.Sprintf("GPU %d is split into instances (MIG): its utilisation is not told", g.Index))
		}
	}
}

func (p *printer) monitorProcesses(s *monitor.Snapshot) {
	var rows [][]string
	for _, g := range s.GPUs {
		for _, x := range g.Processes {
			name := x.Name
			if name == "" {
				name = "(not visible from here)"
				if p.width() < 28+len(name) { // the other columns, with a PID of seven digits
					name = "(hidden)"
				}
			}
			rows = append(rows, []string{fmt.Sprint(g.Index), fmt.Sprint(x.PID), told(x.MemoryBytes, 1<<20, 0), p.clean(name)})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.line("")
	p.grid([]gridColumn{{head: "GPU", right: true}, {head: "PID", right: true}, {head: "memory MiB", right: true}, {head: "process", flex: true}}, rows)
}

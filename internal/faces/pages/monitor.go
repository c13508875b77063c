package pages

import (
	"fmt"
	"strings"

	"lacuna/internal/base/unit"
	"lacuna/internal/capture/monitor"
	"lacuna/internal/faces/page"
)

// Monitor is the state of all GPUs: a line each, what holds their clocks down, the processes on them. It is laid out
// for a screen of a number of columns.
func Monitor(s *monitor.Snapshot, columns int) *page.Page {
	p := &page.Page{Title: page.T("GPUs of " + s.Host)}
	p.Add(page.Prose{Text: page.T(s.Time.Format("2006-01-02 15:04:05 UTC") + ", " + s.Host + ", driver " + s.Driver)},
		page.Prose{Text: page.T(monitorNames(s))}, page.Gap{})
	rows := make([][]page.Text, len(s.GPUs))
	for i := range s.GPUs {
		rows[i] = monitorRow(&s.GPUs[i])
	}
	p.Add(page.Table{Rows: rows, Columns: []page.Column{ // all fit into 80, which is what Drop is tuned for
		{Head: "GPU", Right: true}, {Head: "util %", Right: true}, {Head: "mem %", Right: true, Drop: 4},
		{Head: "memory GiB", Right: true},
		{Head: "SM MHz", Right: true, Drop: 1}, {Head: "power W", Right: true}, {Head: "°C", Right: true},
		{Head: "PCIe GB/s", Right: true, Drop: 2}, {Head: "NVLink GB/s", Right: true, Drop: 3},
	}})
	if list := monitorTroubles(s); len(list) > 0 {
		p.Add(page.Gap{})
		p.Add(list...)
	}
	if rows := monitorProcesses(s, columns); len(rows) > 0 {
		p.Add(page.Gap{}, page.Table{Rows: rows, Columns: []page.Column{{Head: "GPU", Right: true},
			{Head: "PID", Right: true},
			{Head: "memory MiB", Right: true}, {Head: "process", Flex: true}}})
	}
	return p
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

func monitorRow(g *monitor.GPU) []page.Text {
	const gib, gB = 1 << 30, 1e9
	return page.Row(
		fmt.Sprint(g.Index), told(g.UtilPct, 1, 0), told(g.MemoryUtilPct, 1, 0),
		both(told(g.MemoryUsedBytes, gib, 1), told(g.MemoryTotalBytes, gib, 0)),
		both(told(g.SMClockMHz, 1, 0), told(g.MaxSMClockMHz, 1, 0)),
		both(told(g.PowerW, 1, 0), told(g.PowerLimitW, 1, 0)),
		told(g.TemperatureC, 1, 0),
		both(told(g.PCIeTxBps, gB, 2), told(g.PCIeRxBps, gB, 2)),
		both(told(g.NVLinkTxBps, gB, 1), told(g.NVLinkRxBps, gB, 1)),
	)
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
func monitorTroubles(s *monitor.Snapshot) (out []page.Block) {
	say := func(style page.Style, text string) {
		out = append(out, page.Prose{Indent: 2, Hang: 2, Style: style, Text: page.T(text)})
	}
	for i := range s.GPUs {
		switch g := &s.GPUs[i]; {
		case g.Error != "":
			say(page.Red, g.Error)
		case len(g.Throttle) > 0:
			say(page.Magenta, fmt.Sprintf("GPU %d: clocks are throttled by %s", g.Index,
				strings.Join(g.Throttle, ", ")))
		case g.MIG:
			say("", fmt.Sprintf("GPU %d is split into instances (MIG): its utilization is not reported", g.Index))
		}
	}
	return out
}

func monitorProcesses(s *monitor.Snapshot, columns int) (rows [][]page.Text) {
	for _, g := range s.GPUs {
		for _, x := range g.Processes {
			name := x.Name
			if name == "" {
				name = "(not visible from here)"
				if columns < 28+len(name) { // the other columns, with a PID of seven digits
					name = "(hidden)"
				}
			}
			rows = append(rows, append(page.Row(fmt.Sprint(g.Index), fmt.Sprint(x.PID), told(x.MemoryBytes, 1<<20, 0)),
				page.Named(name)))
		}
	}
	return rows
}

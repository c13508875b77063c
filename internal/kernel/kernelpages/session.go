package kernelpages

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lacuna/internal/kernel/profile"
)

var session = Page{
	Name: "session",
	Doc: `Where and how the report was made: the profiler's command line, host and target, versions, the processes that
were profiled, the devices. "Created" is in UTC; ncu prints it in the time zone of whoever reads.`,
	csv:  sessionCSV,
	text: sessionText,
}

// A block is a part of the session page: a title and a table.
type block struct {
	title string
	head  []string
	rows  [][]string
}

// sessionBlocks are the parts of the page. What the report does not say has no row.
func sessionBlocks(r *profile.Report) []block {
	launch := block{title: "Launch Settings", head: []string{"Launch Attribute", "Value"}}
	launch.add("Profiler Command Line", r.Session.CommandLine)
	processes := block{title: "Processes", head: []string{"Process Id", "Process Name"}}
	for _, p := range r.Session.Processes {
		processes.rows = append(processes.rows, []string{strconv.FormatUint(p.PID, 10), p.Path})
	}
	return []block{launch, sessionBlock(&r.Session), processes, deviceBlock(r.Session.Devices)}
}

func (b *block) add(name, value string) {
	if value != "" {
		b.rows = append(b.rows, []string{name, value})
	}
}

func sessionBlock(s *profile.Session) block {
	b := block{title: "Session Info", head: []string{"Session Attribute", "Value"}}
	if s.Created != 0 {
		b.add("Created", time.Unix(s.Created, 0).UTC().Format("2006-Jan-02 15:04:05"))
	}
	for _, side := range []struct {
		name   string
		system *profile.System
	}{{"Host", &s.Host}, {"Target", &s.Target}} {
		b.add(side.name+" Name", side.system.Name)
		b.add(side.name+" IP Addresses", strings.Join(side.system.Addresses, ", "))
		b.add(side.name+" OS", strings.Trim(side.system.OS+" - "+side.system.Build, " -"))
		b.add(side.name+" Architecture", side.system.Architecture)
		b.add(side.name+" Processor", side.system.Processor)
	}
	for _, v := range s.Versions {
		b.add(v.Name, v.Value)
	}
	return b
}

// shown are the device attributes that the page has, in its order.
var shown = [...]string{
	"confidential_computing_mode", "multiprocessor_count", "display_name", "compute_capability_major",
	"compute_capability_minor", "total_memory",
}

// deviceBlock has a column for each device.
func deviceBlock(devices []profile.Device) block {
	devices = slices.Clone(devices)
	slices.SortStableFunc(devices, func(a, b profile.Device) int { return cmp.Compare(a.ID, b.ID) })
	b := block{title: "Device Attributes", head: []string{"Device Attribute"}}
	for _, d := range devices {
		b.head = append(b.head, "Device "+strconv.Itoa(d.ID))
	}
	for _, name := range shown {
		row, known := []string{name}, false
		for i := range devices {
			value, ok := deviceAttribute(&devices[i], name)
			row, known = append(row, value), known || ok
		}
		if known {
			b.rows = append(b.rows, row)
		}
	}
	return b
}

func deviceAttribute(d *profile.Device, name string) (text string, ok bool) {
	for i := range d.Attributes {
		if a := &d.Attributes[i]; strings.TrimPrefix(a.Name, "device__attribute_") == name {
			return plain(&profile.Metric{Value: a.Value}), true
		}
	}
	return "", false
}

func sessionCSV(s *sheet, r *profile.Report, opt Options) error {
	for i, b := range sessionBlocks(r) {
		if i > 0 {
			s.title("")
		}
		s.title(b.title)
		s.line(b.head...)
		for _, row := range b.rows {
			s.line(row...)
		}
	}
	return nil
}

func sessionText(w *bufio.Writer, r *profile.Report, opt Options) error {
	for i, b := range sessionBlocks(r) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\n", b.title)
		width := 0
		for _, row := range b.rows {
			width = max(width, len(row[0]))
		}
		for _, row := range b.rows {
			value := strings.Join(row[1:], "  ")
			if line, _, more := strings.Cut(value, "\n"); more { // some versions put /proc/cpuinfo into the processor
				value = line
			}
			fmt.Fprintf(w, "  %-*s  %s\n", width, row[0], printable(value))
		}
	}
	return nil
}

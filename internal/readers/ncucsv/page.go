package ncucsv

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lacuna/internal/kernel/profile"
)

// A page is a table that is being read, and the report that it fills.
type page struct {
	report *profile.Report
	labels labels
	header []string // of the table that is read now; nil: none yet
	quoted bool     // its cells are, so that other lines that begin with a digit are not its rows
	column map[string]int
	units  []string // of the raw page's columns, once its second row is read
	names  []profile.NameID
	row    []string // scratch
	last   *profile.Launch
	id     string            // of last, as printed
	bytes  int64             // of the file, read so far
	of     []int             // scratch: per name, the last launch that has it
	paths  map[uint64]string // of processes, as ==PROF== lines say

	commaDecimal bool // numbers are written 1.234,50
}

func newPage(path string) *page {
	return &page{report: &profile.Report{Path: path, Tool: "ncu"}, labels: parseLabels(labelText),
		paths: make(map[uint64]string)}
}

func (p *page) warn(format string, a ...any) {
	p.report.Warnings = append(p.report.Warnings, fmt.Sprintf(format, a...))
}

func (p *page) firstLoss() string {
	for _, l := range p.report.Losses.All() {
		return "; " + l.Example
	}
	return ""
}

// line reads one line of the file, which may be none of the table.
func (p *page) line(line []byte) {
	line = bytes.TrimPrefix(line, []byte(mark))
	switch {
	case isHeader(line):
		p.newTable(line)
	case bytes.HasPrefix(line, []byte("==PROF==")):
		p.said(string(line))
	case p.header != nil && isRow(line) && (line[0] == '"' || !p.quoted):
		row, ok := cells(line, p.row[:0])
		p.row = row
		if !ok || len(row) < 5 {
			p.report.Losses.Add(lossBadRow, 1, fmt.Sprintf("%.60q", line))
			return
		}
		p.tableRow(row)
	}
}

// said reads what the profiler says of a process: ==PROF== Connected to process 42 (/tmp/program).
func (p *page) said(line string) {
	_, rest, ok := strings.Cut(line, "Connected to process ")
	number, path, ok2 := strings.Cut(rest, " (")
	pid, err := strconv.ParseUint(number, 10, 64)
	if ok && ok2 && err == nil && len(p.paths) < 1<<16 {
		p.paths[pid] = strings.TrimSuffix(strings.TrimSpace(path), ")")
	}
}

// newTable begins a table with its column names.
func (p *page) newTable(line []byte) {
	header, ok := cells(line, nil)
	if !ok {
		p.report.Losses.Add(lossBadRow, 1, fmt.Sprintf("%.60q", line))
		return
	}
	p.header, p.units, p.last, p.id = header, nil, nil, ""
	p.quoted = line[0] == '"'
	p.column = make(map[string]int, len(header))
	for i, name := range header {
		if _, twice := p.column[name]; !twice {
			p.column[name] = i
		}
	}
	p.names = make([]profile.NameID, len(header))
}

// cell is a row's cell in the column of that name; "" if there is none.
func (p *page) cell(row []string, name string) string {
	if at, ok := p.column[name]; ok && at < len(row) {
		return row[at]
	}
	return ""
}

// tableRow reads a row: the units of a raw page, a launch of one, or a metric or rule of the details page.
func (p *page) tableRow(row []string) {
	_, details := p.column["Metric Name"]
	if row[0] == "" && !details {
		if p.units == nil {
			p.units = slices.Clone(row)
		}
		return
	}
	if _, err := strconv.ParseUint(row[0], 10, 64); err != nil {
		p.report.Losses.Add(lossBadRow, 1, fmt.Sprintf("ID %.40q", row[0]))
		return
	}
	if !details || p.last == nil || p.id != row[0] {
		if int64(len(p.report.Launches))*launchBytes > memoryPerByte*p.bytes+memoryFree {
			p.report.Losses.Add(lossTooMany, 1, "ID "+row[0])
			return
		}
		p.newLaunch(row)
	}
	if details {
		p.detailsRow(p.last, row)
	} else {
		p.rawRow(p.last, row)
	}
}

// newLaunch begins a launch with what the first columns say.
func (p *page) newLaunch(row []string) {
	l := &profile.Launch{
		ID: len(p.report.Launches), Name: p.cell(row, "Kernel Name"), Host: p.cell(row, "Host Name"),
		Process: p.cell(row, "Process Name"), Report: p.report,
		PID: number(p.cell(row, "Process ID")), Context: number(p.cell(row, "Context")),
		Stream: number(p.cell(row, "Stream")),
		Device: int(number(p.cell(row, "Device")) & (1<<31 - 1)),
		Grid:   axes(p.cell(row, "Grid Size")), Block: axes(p.cell(row, "Block Size")),
	}
	if path, ok := p.paths[l.PID]; ok {
		l.Process = path
	}
	l.Base = base(l.Name)
	major, minor, ok := strings.Cut(p.cell(row, "CC"), ".")
	if a, err := strconv.ParseUint(major, 10, 16); ok && err == nil {
		if b, err := strconv.ParseUint(minor, 10, 16); err == nil {
			p.add(l, profile.AttributePrefix+"compute_capability_major", profile.Value{Kind: profile.Unsigned, Uint: a})
			p.add(l, profile.AttributePrefix+"compute_capability_minor", profile.Value{Kind: profile.Unsigned, Uint: b})
		}
	}
	p.report.Launches = append(p.report.Launches, l)
	p.last, p.id = l, row[0]
}

// base is a kernel's name without what it returns, its parameters, template arguments and namespaces.
func base(name string) string {
	name = strings.ReplaceAll(name, "(anonymous namespace)::", "")
	depth, end := 0, len(name)
	for i, c := range name { // the first bracket outside of others ends the name
		if c == '<' || c == '(' {
			if depth == 0 {
				end = i
				break
			}
			depth++
		}
	}
	name = strings.TrimSpace(name[:end])
	if at := strings.LastIndexByte(name, ' '); at >= 0 {
		name = name[at+1:]
	}
	if at := strings.LastIndex(name, "::"); at >= 0 {
		name = name[at+2:]
	}
	return name
}

// number is a cell as a whole number; 0 if it is none.
func number(cell string) uint64 {
	n, _ := strconv.ParseUint(cell, 10, 64)
	return n
}

// axes reads "(16, 16, 1)". Pages before 2022 have "(16,16,1)" too.
func axes(cell string) (v [3]uint32) {
	cell = strings.Trim(cell, "() ")
	v = [3]uint32{1, 1, 1}
	for i, part := range strings.SplitN(cell, ",", 3) {
		n, err := strconv.ParseUint(strings.TrimSpace(part), 10, 32)
		if err != nil {
			return [3]uint32{}
		}
		v[i] = uint32(n)
	}
	return v
}

// add gives a launch a metric, unless it has it: pages say some things twice.
func (p *page) add(l *profile.Launch, name string, v profile.Value) {
	p.addID(l, p.report.Names.ID(name), v)
}

func (p *page) addID(l *profile.Launch, id profile.NameID, v profile.Value) {
	for int(id) >= len(p.of) {
		p.of = append(p.of, -1)
	}
	if p.of[id] != l.ID {
		p.of[id] = l.ID
		l.Metrics = append(l.Metrics, profile.NewMetric(id, v, false, nil))
	}
}

// finish sorts, and says what the page as a whole shows.
func (p *page) finish() {
	r := p.report
	seen := make(map[profile.Process]bool)
	devices := make(map[int]bool)
	for _, l := range r.Launches {
		l.SortMetrics()
		if one := (profile.Process{PID: l.PID, Host: l.Host, Path: l.Process}); !seen[one] {
			seen[one] = true
			r.Session.Processes = append(r.Session.Processes, one)
		}
		if !devices[l.Device] {
			devices[l.Device] = true
			r.Session.Devices = append(r.Session.Devices, p.device(l))
		}
	}
	if n := r.Losses.Count(lossUnknownLabel); n > 0 {
		p.warn("%d values of the details page stand under labels that this version does not know; print --page raw "+
			"instead", n)
	}
}

// device is the GPU of a launch with the attributes that the page shows.
func (p *page) device(l *profile.Launch) profile.Device {
	d := profile.Device{ID: l.Device}
	for _, m := range l.Metrics {
		if name, ok := strings.CutPrefix(p.report.Names.Text(m.Name), profile.AttributePrefix); ok {
			d.Attributes = append(d.Attributes, profile.Attribute{Name: name, Value: m.Value})
			if name == "display_name" {
				d.Name = m.Value.String
			}
		}
	}
	slices.SortFunc(d.Attributes, func(a, b profile.Attribute) int { return strings.Compare(a.Name, b.Name) })
	return d
}

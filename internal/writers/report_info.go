package writers

import (
	"fmt"
	"io"
	"strings"

	"lacuna/internal/report"
	"lacuna/internal/unit"
)

// ContentsJSON writes what captures hold: an object for one, a list for several.
func ContentsJSON(w io.Writer, list []*report.Contents) error {
	if len(list) == 1 {
		return JSON(w, list[0])
	}
	return JSON(w, list)
}

// ContentsText prints what a capture holds for people.
func ContentsText(w io.Writer, c *report.Contents, page Page) error {
	p := &printer{Page: page, w: w}
	p.line(p.paint(bold, p.fit(p.clean(c.Path), p.width())))
	p.fields(originFields(c))
	p.deviceFields(c)
	p.ranks(c.Ranks)
	if len(c.Ranks) == 0 {
		p.heading("Steps")
		p.prose("  ", 2, p.clean(stepsWords(c.Steps)))
	}
	p.counts("Tables", "rows", c.Tables)
	p.streams(c.Streams)
	p.processes(c.Processes)
	title := "Range names"
	if len(c.Ranges) == report.MaxRangeNames {
		title = "Most frequent range names"
	}
	p.counts(title, "times", c.Ranges)
	if len(c.Domains) > 0 {
		p.heading("NVTX domains")
		p.prose("  ", 2, p.clean(strings.Join(c.Domains, ", ")))
	}
	p.meta(c.Meta)
	p.trust(&report.Report{Capture: c.Capture, Abstained: c.Missing}, Detail{Abstained: true})
	return p.err
}

// A field is a name and a value of text.
type field struct{ name, value string }

func (p *printer) fields(list []field) {
	const label = 12
	for _, f := range list {
		if f.value != "" {
			p.prose("  "+pad(f.name, label, false), label+2, p.fit(p.clean(f.value), 4*p.width()))
		}
	}
}

func originFields(c *report.Contents) []field {
	out := []field{{"format", c.Format}, {"made by", c.Producer}, {"schema", c.FileSchema}, {"size", unit.FormatBytes(c.Bytes)},
		{"events", unit.FormatCount(c.Capture.Events)}, {"taken", c.Taken}}
	if c.SpanMs[1] > c.SpanMs[0] {
		out = append(out, field{"covers", unit.Fixed(c.SpanMs[1]-c.SpanMs[0], unit.MsDigits(c.SpanMs[1]-c.SpanMs[0])) + " ms"})
	}
	out = append(out, field{"clock", c.Clock}, field{"host", c.Host}, field{"command", c.Command})
	var versions []string
	for _, v := range []struct {
		name    string
		version int
	}{{"driver API", c.Driver}, {"runtime", c.Runtime}} {
		if v.version > 0 {
			versions = append(versions, fmt.Sprintf("%s %d.%d", v.name, v.version/1000, v.version%1000/10))
		}
	}
	switch n := c.CUPTI; { // up to CUDA 12.9, which is 28, its versions counted up; 130001 is 13.0.1
	case n >= 10_000:
		versions = append(versions, fmt.Sprintf("CUPTI %d.%d.%d", n/10_000, n/100%100, n%100))
	case n > 0:
		versions = append(versions, fmt.Sprintf("CUPTI API %d", n))
	}
	out = append(out, field{"CUDA", strings.Join(versions, ", ")})
	if c.Rank != nil {
		rank := fmt.Sprint(*c.Rank)
		if c.World > 0 {
			rank += fmt.Sprintf(" of %d", c.World)
		}
		if c.Backend != "" {
			rank += ", " + c.Backend
		}
		out = append(out, field{"rank", rank})
	}
	return append(out, ranksField(c)...)
}

// ranksField says which ranks a file of several holds.
func ranksField(c *report.Contents) []field {
	if len(c.Ranks) == 0 {
		return nil
	}
	var names []string
	for _, r := range c.Ranks {
		names = append(names, fmt.Sprint(r.Rank))
	}
	text := strings.Join(names, ", ")
	if c.World > 0 {
		text += fmt.Sprintf(" of %d", c.World)
	}
	if c.Backend != "" {
		text += ", " + c.Backend
	}
	return []field{{"ranks", text}}
}

// ranks is a line for each rank of a file that holds several.
func (p *printer) ranks(list []report.RankInfo) {
	if len(list) == 0 {
		return
	}
	var rows [][]string
	count := func(n int) string { return unit.FormatCount(int64(n)) }
	for _, r := range list {
		rows = append(rows, []string{fmt.Sprintf("rank %d", r.Rank), numbers(r.Pids), numbers(r.Devices), count(r.Counts[0]), count(r.Counts[1]),
			count(r.Steps.Device), count(r.Steps.Host), p.clean(sourceWords(r.Steps.Source))})
	}
	p.line("")
	p.grid([]gridColumn{{head: "Ranks"}, {head: "pid", right: true}, {head: "GPU", right: true}, {head: "kernels", right: true}, {head: "copies", right: true},
		{head: "GPU steps", right: true}, {head: "host steps", right: true}, {head: "steps by", flex: true}}, rows)
	p.prose("  ", 2, "Each is taken for a capture of its own; --rank N of other commands chooses one.")
}

// numbers is a few numbers as 1, 2, 3.
func numbers[N int64 | uint32](list []N) string {
	const most = 3
	var words []string
	for i, n := range list {
		if i == most {
			words = append(words, "...")
			break
		}
		words = append(words, fmt.Sprint(n))
	}
	return strings.Join(words, ", ")
}

// deviceFields describes the GPUs; neighbours that are alike share a line.
func (p *printer) deviceFields(c *report.Contents) {
	list := c.Devices
	for i := 0; i < len(list); {
		words, n := deviceWords(list[i]), 1
		for i+n < len(list) && deviceWords(list[i+n]) == words {
			n++
		}
		name := fmt.Sprintf("GPU %d", list[i].Ordinal)
		if n > 1 {
			name = fmt.Sprintf("GPU %d to %d", list[i].Ordinal, list[i+n-1].Ordinal)
		}
		p.fields([]field{{name, words}})
		i += n
	}
}

func deviceWords(d report.DeviceInfo) string {
	var about []string
	add := func(known bool, format string, args ...any) {
		if known {
			about = append(about, fmt.Sprintf(format, args...))
		}
	}
	add(d.Name != "", "%s", d.Name)
	add(d.Name == "", "unnamed")
	add(d.ComputeMajor > 0, "compute %d.%d", d.ComputeMajor, d.ComputeMinor)
	add(d.SMs > 0, "%d SMs", d.SMs)
	add(d.ClockHz > 0, "up to %s MHz", unit.FormatCount(d.ClockHz/1e6))
	add(d.MemoryBytes > 0, "%s", unit.FormatBytes(d.MemoryBytes))
	add(d.BandwidthBps > 0, "%s GB/s peak", unit.FormatCount(d.BandwidthBps/1e9))
	add(d.L2Bytes > 0, "%s of L2", unit.FormatBytes(d.L2Bytes))
	add(!d.Used, "not used in the capture")
	return strings.Join(about, ", ")
}

// stepsWords says which step markers there are.
func stepsWords(s report.StepsInfo) string {
	if s.Source == "none" {
		return "no step markers: the report takes the capture as one step."
	}
	text := "by " + sourceWords(s.Source)
	if s.Marker != "" && s.Source != "profiler_step" {
		text += fmt.Sprintf(" (%s)", s.Marker)
	}
	if s.Device == 0 {
		return fmt.Sprintf("steps of the host: %s %s; none with GPU work.", unit.FormatCount(int64(s.Host)), text)
	}
	return fmt.Sprintf("steps of the device: %s, of the host: %s, %s.", unit.FormatCount(int64(s.Device)), unit.FormatCount(int64(s.Host)), text)
}

func (p *printer) counts(title, what string, list []report.NameCount) {
	if len(list) == 0 {
		return
	}
	var rows [][]string
	for _, x := range list {
		rows = append(rows, []string{p.clean(x.Name), unit.FormatCount(int64(x.Count))})
	}
	p.line("")
	p.grid([]gridColumn{{head: title, flex: true}, {head: what, right: true}}, rows)
}

// maxListed is how many streams or processes are listed one by one.
const maxListed = 16

func (p *printer) streams(list []report.StreamInfo) {
	if len(list) == 0 {
		return
	}
	var rows [][]string
	for _, s := range list[:min(len(list), maxListed)] {
		rows = append(rows, []string{fmt.Sprintf("GPU %d, stream %d", s.Device, int32(s.Stream)), unit.FormatCount(int64(s.Counts[0])), unit.FormatCount(int64(s.Counts[1])), unit.FormatCount(int64(s.Counts[2]))})
	}
	p.line("")
	p.grid([]gridColumn{{head: "Streams", flex: true}, {head: "kernels", right: true}, {head: "copies", right: true}, {head: "sets", right: true}}, rows)
	if more := len(list) - maxListed; more > 0 {
		p.line(fmt.Sprintf("  and %d more", more))
	}
}

func (p *printer) processes(list []report.ProcessInfo) {
	if len(list) == 0 {
		return
	}
	var rows [][]string
	for _, x := range list[:min(len(list), maxListed)] {
		rank := ""
		if x.Rank != nil {
			rank = fmt.Sprint(*x.Rank)
		}
		name := p.clean(x.Name)
		if name == "" {
			name = "(no name)"
		}
		rows = append(rows, []string{name, fmt.Sprint(x.Pid), rank, unit.FormatCount(int64(x.Threads))})
	}
	p.line("")
	p.grid([]gridColumn{{head: "Processes", flex: true}, {head: "pid", right: true}, {head: "rank", right: true}, {head: "threads", right: true}}, rows)
	if more := len(list) - maxListed; more > 0 {
		p.line(fmt.Sprintf("  and %d more", more))
	}
}

// maxMetaBytes is the longest value of metadata that is shown: some are whole configurations.
const maxMetaBytes = 300

func (p *printer) meta(list []report.NameText) {
	if len(list) == 0 {
		return
	}
	p.heading("What the file says of itself")
	for _, kv := range list {
		p.prose("  ", 4, p.fit(p.clean(kv.Name+": "+kv.Text), maxMetaBytes))
	}
}

package pages

import (
	"fmt"
	"strings"

	"lacuna/internal/answer/report"
	"lacuna/internal/base/unit"
	"lacuna/internal/faces/page"
)

// Contents is what a capture holds.
func Contents(c *report.Contents) *page.Page {
	p := &page.Page{Title: page.T("What this capture holds")}
	p.Add(page.Prose{Text: page.Of(page.Path, c.Path), Style: page.Bold},
		page.Fields{List: append(originFields(c), deviceFields(c.Devices)...)})
	p.Add(ranks(c.Ranks)...)
	if len(c.Ranks) == 0 {
		p.Add(section("Steps", false, page.Prose{Indent: 2, Text: stepsWords(c.Steps)})...)
	}
	p.Add(counts("Tables", "table", "rows", c.Tables)...)
	p.Add(streams(c.Streams)...)
	p.Add(processes(c.Processes)...)
	title := "Range names"
	if len(c.Ranges) == report.MaxRangeNames {
		title = "Most frequent range names"
	}
	p.Add(counts(title, "range", "times", c.Ranges)...)
	if len(c.Domains) > 0 {
		p.Add(section("NVTX domains", false, page.Prose{Indent: 2, Text: words(c.Domains)})...)
	}
	p.Add(meta(c.Meta)...)
	p.Add(trust(c.Capture, c.Missing, true)...)
	return p
}

// words is names, each whole.
func words(names []string) page.Text {
	var out []page.Text
	for _, n := range names {
		out = append(out, page.Of(page.Word, n))
	}
	return page.List(out, ", ")
}

func originFields(c *report.Contents) []page.Field {
	var out []page.Field
	add := func(name, value string) { out = append(out, page.Field{Name: name, Value: page.T(value)}) }
	add("format", c.Format)
	add("made by", c.Producer)
	add("schema", c.FileSchema)
	add("size", unit.FormatBytes(c.Bytes))
	add("events", unit.FormatCount(c.Capture.Events))
	add("taken", c.Taken)
	if span := c.SpanMs[1] - c.SpanMs[0]; span > 0 {
		add("covers", unit.Fixed(span, unit.MsDigits(span))+" ms")
	}
	add("clock", c.Clock)
	add("host", c.Host)
	add("command", c.Command)
	add("CUDA", versions(c))
	if c.Rank != nil {
		add("rank", fmt.Sprint(*c.Rank)+worldWords(c))
	}
	if len(c.Ranks) > 0 {
		var names []string
		for _, r := range c.Ranks {
			names = append(names, fmt.Sprint(r.Rank))
		}
		add("ranks", strings.Join(names, ", ")+worldWords(c))
	}
	return out
}

// worldWords is how many ranks there are and what they talk by, behind a rank.
func worldWords(c *report.Contents) (s string) {
	if c.World > 0 {
		s = fmt.Sprintf(" of %d", c.World)
	}
	if c.Backend != "" {
		s += ", " + c.Backend
	}
	return s
}

// versions is the versions of CUDA's parts.
func versions(c *report.Contents) string {
	var list []string
	for _, v := range []struct {
		name    string
		version int
	}{{"driver API", c.Driver}, {"runtime", c.Runtime}} {
		if v.version > 0 {
			list = append(list, fmt.Sprintf("%s %d.%d", v.name, v.version/1000, v.version%1000/10))
		}
	}
	switch n := c.CUPTI; { // up to CUDA 12.9, which is 28, its versions counted up; 130001 is 13.0.1
	case n >= 10_000:
		list = append(list, fmt.Sprintf("CUPTI %d.%d.%d", n/10_000, n/100%100, n%100))
	case n > 0:
		list = append(list, fmt.Sprintf("CUPTI API %d", n))
	}
	return strings.Join(list, ", ")
}

// deviceFields describes the GPUs; neighbours that are alike share a line.
func deviceFields(list []report.DeviceInfo) (out []page.Field) {
	for i := 0; i < len(list); {
		about, n := deviceWords(list[i]), 1
		for i+n < len(list) && deviceWords(list[i+n]) == about {
			n++
		}
		name := fmt.Sprintf("GPU %d", list[i].Ordinal)
		if n > 1 {
			name = fmt.Sprintf("GPU %d to %d", list[i].Ordinal, list[i+n-1].Ordinal)
		}
		out = append(out, page.Field{Name: name, Value: page.T(about)})
		i += n
	}
	return out
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
	add(d.MemoryBytes > 0, "%s", unit.FormatBinary(d.MemoryBytes))
	add(d.BandwidthBps > 0, "%s GB/s peak", unit.FormatCount(d.BandwidthBps/1e9))
	add(d.L2Bytes > 0, "%s of L2", unit.FormatBinary(d.L2Bytes))
	add(!d.Used, "not used in the capture")
	return strings.Join(about, ", ")
}

func count(n int) string { return unit.FormatCount(int64(n)) }

// ranks is a line for each rank of a file that holds several.
func ranks(list []report.RankInfo) []page.Block {
	if len(list) == 0 {
		return nil
	}
	var rows [][]page.Text
	for _, r := range list {
		rows = append(rows, page.Row(fmt.Sprintf("rank %d", r.Rank), numbers(r.Pids), numbers(r.Devices),
			count(r.Counts[0]), count(r.Counts[1]), count(r.Steps.Device), count(r.Steps.Host),
			sourceWords(r.Steps.Source)))
	}
	columns := numbered(page.Column{Head: "rank"}, "pid", "GPU", "kernels", "copies", "GPU steps", "host steps")
	columns = append(columns, page.Column{Head: "steps by", Flex: true})
	flag := page.Of(page.Word, "--rank N")
	return append(tableSection("Ranks", false, page.Table{Columns: columns, Rows: rows}), page.Prose{Indent: 2,
		Text: page.Sayf("Each counts as a capture of its own; %s of other commands picks one.", flag)})
}

// numbered is a first column and columns of numbers.
func numbered(first page.Column, heads ...string) []page.Column {
	out := []page.Column{first}
	for _, h := range heads {
		out = append(out, page.Column{Head: h, Right: true})
	}
	return out
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

// stepsWords says which step markers there are.
func stepsWords(s report.StepsInfo) page.Text {
	if s.Source == "none" {
		return page.T("No step markers: the report takes the capture as one step.")
	}
	text := page.T("by " + sourceWords(s.Source))
	if s.Marker != "" && s.Source != "profiler_step" {
		text = page.Sayf("%s (%s)", text, page.Of(page.Word, s.Marker))
	}
	host := count(s.Host)
	if s.Device == 0 {
		return page.Sayf("Steps of the host: %s %s; none with GPU work.", host, text)
	}
	return page.Sayf("Steps of the device: %s, of the host: %s, %s.", count(s.Device), host, text)
}

// counts is names and how often each occurs.
func counts(title, first, what string, list []report.NameCount) []page.Block {
	var rows [][]page.Text
	for _, x := range list {
		rows = append(rows, row(page.Named(x.Name), count(x.Count)))
	}
	columns := numbered(page.Column{Head: first, Flex: true}, what)
	return tableSection(title, true, page.Table{Columns: columns, Rows: rows})
}

// maxListed is how many streams or processes are listed one by one.
const maxListed = 16

// moreThan says how many of n are not listed.
func moreThan(n int) string {
	if n <= maxListed {
		return ""
	}
	return fmt.Sprintf("and %d more", n-maxListed)
}

func streams(list []report.StreamInfo) []page.Block {
	var rows [][]page.Text
	for _, s := range list[:min(len(list), maxListed)] {
		name := page.T(fmt.Sprintf("GPU %d, stream %d", s.Device, int32(s.Stream)))
		name = page.Seen(name, page.Place{Device: &s.Device, Stream: &s.Stream})
		rows = append(rows, row(name, count(s.Counts[0]), count(s.Counts[1]), count(s.Counts[2])))
	}
	columns := numbered(page.Column{Head: "stream", Flex: true}, "kernels", "copies", "sets")
	return tableSection("Streams", true, page.Table{Columns: columns, Rows: rows, More: moreThan(len(list))})
}

func processes(list []report.ProcessInfo) []page.Block {
	var rows [][]page.Text
	for _, x := range list[:min(len(list), maxListed)] {
		rank := ""
		if x.Rank != nil {
			rank = fmt.Sprint(*x.Rank)
		}
		name := page.Named(x.Name)
		if x.Name == "" {
			name = page.T("(no name)")
		}
		rows = append(rows, row(name, fmt.Sprint(x.Pid), rank, count(x.Threads)))
	}
	columns := numbered(page.Column{Head: "process", Flex: true}, "pid", "rank", "threads")
	return tableSection("Processes", true, page.Table{Columns: columns, Rows: rows, More: moreThan(len(list))})
}

// maxMeta is how many columns of a line of metadata are shown: some are whole configurations.
const maxMeta = 300

// meta is what the file says of itself.
func meta(list []report.NameText) []page.Block {
	var out []page.Block
	for _, kv := range list {
		out = append(out, page.Prose{Indent: 2, Hang: 2, List: 1, Text: page.Excerpt(kv.Name+": "+kv.Text, maxMeta)})
	}
	return section("What the file says of itself", false, out...)
}

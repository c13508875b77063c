package exporters

import (
	"bufio"
	"io"
	"slices"
	"strconv"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var chrome = Exporter{
	Name:  "chrome",
	Title: "JSON of trace events: open it in ui.perfetto.dev or chrome://tracing",
	Doc: `
Host processes keep their threads. Each GPU of a process is a process of its own
with a track for each stream. Viewers drop an event that overlaps another of its
track without lying in it, so such an event goes to a sub-track, "stream 7 (2)".
Arrows lead from the launching call to the GPU work and from forward to backward
operators. Times are microseconds since the capture's own time 0.

The capture itself lies packed in otherData, which viewers pass over: lacuna
reads the file again as the capture that it was made of.`,
	Write: writeChrome,
}

// writeChrome writes a capture as JSON of trace events, which ui.perfetto.dev and chrome://tracing open.
//
//  1. Every row of every timed table becomes an event on a track (chrome_tables.go).
//  2. Track by track the events are put on lanes and written (chrome_tracks.go), host tracks first.
//  3. Writing GPU work also writes the arrow from its call, whose lane is known by then.
//
// The capture stands before them, packed, so that the file can be read again: boxes on tracks hold less than it does.
func writeChrome(w io.Writer, t *model.Trace) error {
	c := &chromeWriter{
		out: bufio.NewWriterSize(w, 1<<16), t: t, fields: evtext.Fields(t), quoted: make([]string, t.Strings.Len()),
		launches: facts.Of(t).Launches(), index: make(map[trackKey]int), pids: make(map[int64]bool),
		tids: make(map[[2]int64]bool), owners: make(map[[2]uint32]trackKey),
		callTid: make([]int64, t.Calls.Len()), nextTid: firstOwnID,
	}
	c.processes()
	c.tables()
	c.write(`{"displayTimeUnit":"ns","otherData":{"producer":"lacuna","capture":"`)
	if c.err == nil {
		whole := *t
		whole.Info.Path = "" // such files are sent around
		c.err = evtext.Pack(c.out, &whole)
	}
	c.write(`"`)
	if t.Epoch.UnixNs != 0 {
		c.write(`,"time_0_unix_ns":"` + strconv.FormatInt(t.Epoch.UnixNs, 10) + `"`)
	}
	c.write(`},"traceEvents":[`)
	c.processNames()
	for _, host := range []bool{true, false} {
		for i := range c.tracks {
			if (c.tracks[i].kind == hostTrack) == host {
				c.writeTrack(&c.tracks[i], i)
			}
		}
	}
	c.links()
	c.write("\n]}\n")
	if c.err != nil {
		return c.err
	}
	return c.out.Flush()
}

// firstOwnID is where process and thread IDs begin that no system gave: above those of Linux, whose largest is 2^22.
const firstOwnID = 1 << 24

type chromeWriter struct {
	out    *bufio.Writer
	err    error
	buf    []byte
	events int64 // written so far, for the commas

	t        *model.Trace
	fields   map[string][]evtext.Field
	quoted   []string // JSON texts of StringIDs, made on first use
	launches *facts.Launches

	hostPid []int64        // by process row
	pids    map[int64]bool // taken
	nextTid int64

	kinds        []chromeTable
	tracks       []chromeTrack
	index        map[trackKey]int
	tids         map[[2]int64]bool      // process and thread IDs that are taken
	owners       map[[2]uint32]trackKey // the first stream track of a device's stream
	callTid      []int64                // of each call, once it is written
	arrows       int64
	counterNames []string // by track, made on first use

	lastKey   trackKey // what stream found last
	lastTrack int

	endNs int64 // of the last event: where open ranges end
}

func (c *chromeWriter) write(s string) {
	if c.err == nil {
		_, c.err = c.out.WriteString(s)
	}
}

// begin starts an event; end finishes it.
func (c *chromeWriter) begin(ph string, pid, tid int64) []byte {
	b := append(c.buf[:0], ",\n{\"ph\":\""...)
	if c.events++; c.events == 1 {
		b = append(c.buf[:0], "\n{\"ph\":\""...)
	}
	b = append(append(b, ph...), `","pid":`...)
	b = strconv.AppendInt(b, pid, 10)
	return strconv.AppendInt(append(b, `,"tid":`...), tid, 10)
}

func (c *chromeWriter) end(b []byte) {
	c.buf = append(b, '}')
	if c.err == nil {
		_, c.err = c.out.Write(c.buf)
	}
}

// appendUs writes nanoseconds as microseconds with all three decimals.
func appendUs(b []byte, ns int64) []byte {
	n := uint64(ns)
	if ns < 0 {
		b, n = append(b, '-'), -n
	}
	b = append(strconv.AppendUint(b, n/1000, 10), '.')
	return append(b, '0'+byte(n/100%10), '0'+byte(n/10%10), '0'+byte(n%10))
}

// text is the JSON text of an interned string.
func (c *chromeWriter) text(id model.StringID) string {
	if int(id) >= len(c.quoted) {
		return `""`
	}
	if c.quoted[id] == "" {
		c.quoted[id] = string(unit.AppendQuoted(nil, c.t.Strings.Text(id)))
	}
	return c.quoted[id]
}

// processes gives every process an ID: its own if that can be, and no other has it.
func (c *chromeWriter) processes() {
	c.hostPid = make([]int64, len(c.t.Processes))
	for i, p := range c.t.Processes {
		if p.Pid > 0 && p.Pid < firstOwnID && !c.pids[p.Pid] {
			c.hostPid[i] = p.Pid
			c.pids[p.Pid] = true
		}
	}
	for i := range c.hostPid {
		if c.hostPid[i] == 0 {
			c.hostPid[i] = c.ownPid()
		}
	}
}

func (c *chromeWriter) ownPid() int64 {
	pid := int64(firstOwnID + len(c.pids))
	c.pids[pid] = true
	return pid
}

func (c *chromeWriter) ownTid() int64 {
	c.nextTid++
	return c.nextTid
}

// processNames writes what the processes are called and their order: hosts, then GPUs.
func (c *chromeWriter) processNames() {
	for i, p := range c.t.Processes {
		name := p.Name
		if name == "" {
			name = "process"
		}
		if p.Rank >= 0 {
			name += " rank " + strconv.Itoa(int(p.Rank))
		}
		c.meta("process_name", c.hostPid[i], 0, name)
		c.sortIndex("process_sort_index", c.hostPid[i], 0, i)
	}
	var gpus []trackKey
	for key := range c.index {
		if key.kind == gpuProcess {
			gpus = append(gpus, key)
		}
	}
	slices.SortFunc(gpus, compareTracks)
	for i, key := range gpus {
		c.meta("process_name", c.tracks[c.index[key]].pid, 0, c.tracks[c.index[key]].name)
		c.sortIndex("process_sort_index", c.tracks[c.index[key]].pid, 0, len(c.t.Processes)+1+i)
	}
}

func (c *chromeWriter) meta(what string, pid, tid int64, name string) {
	b := c.begin("M", pid, tid)
	b = append(append(b, `,"name":"`...), what...)
	b = unit.AppendQuoted(append(b, `","args":{"name":`...), name)
	c.end(append(b, '}'))
}

func (c *chromeWriter) sortIndex(what string, pid, tid int64, at int) {
	b := c.begin("M", pid, tid)
	b = append(append(b, `,"name":"`...), what...)
	b = strconv.AppendInt(append(b, `","args":{"sort_index":`...), int64(at), 10)
	c.end(append(b, '}'))
}

// arrow writes a flow from one event to another; both ends lie inside their events.
func (c *chromeWriter) arrow(cat string, fromPid, fromTid, fromNs, toPid, toTid, toNs int64) {
	c.arrows++
	for _, e := range []struct {
		ph       string
		pid, tid int64
		ns       int64
	}{{"s", fromPid, fromTid, fromNs}, {"f", toPid, toTid, toNs}} {
		b := c.begin(e.ph, e.pid, e.tid)
		b = appendUs(append(b, `,"ts":`...), e.ns)
		b = strconv.AppendInt(append(b, `,"id":`...), c.arrows, 10)
		b = append(append(append(b, `,"cat":"`...), cat...), `","name":"`...)
		b = append(append(b, cat...), '"')
		if e.ph == "f" {
			b = append(b, `,"bp":"e"`...)
		}
		c.end(b)
	}
}

// links writes the arrows between operators.
func (c *chromeWriter) links() {
	l := &c.t.Links
	for i := range l.Len() {
		from, to := c.host(at(l.FromThread, i, model.NoThread), ""), c.host(at(l.ToThread, i, model.NoThread), "")
		c.arrow("fwdbwd", c.tracks[from].pid, c.tracks[from].tid, at(l.FromNs, i, 0), c.tracks[to].pid,
			c.tracks[to].tid, at(l.ToNs, i, 0))
	}
}

package exporters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lacuna/internal/faces/lanes"
	"lacuna/internal/timeline/model"
)

// A trackKey says what a track shows.
type trackKey struct {
	kind    trackKind
	process model.ProcessRow
	device  uint32
	context uint32
	stream  uint32
	thread  model.ThreadRow
	label   string // what of it: "" is its main track
}

type trackKind uint8

const (
	hostTrack trackKind = iota
	streamTrack
	deviceTrack // what belongs to no stream; also the device's counters
	gpuProcess  // no track: the name of a GPU
)

func compareTracks(a, b trackKey) int {
	return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.device, b.device))
}

// A chromeTrack is a row of boxes in the viewer, and the events that go to it.
type chromeTrack struct {
	kind     trackKind
	pid, tid int64
	name     string
	nests    bool // events may lie in one another
	events   []chromeEvent
}

// A chromeEvent is a row of a table and when it was.
type chromeEvent struct {
	startNs, endNs int64
	kind           uint8 // index of chromeWriter.kinds
	row            uint32
}

// find is the track of a key; a new one is made by create.
func (c *chromeWriter) find(key trackKey, create func() chromeTrack) int {
	if at, ok := c.index[key]; ok {
		return at
	}
	track := create()
	track.kind = key.kind
	c.index[key] = len(c.tracks)
	c.tracks = append(c.tracks, track)
	return len(c.tracks) - 1
}

// host is the track of a host thread. The main track has its own thread ID, others are made up.
func (c *chromeWriter) host(thread model.ThreadRow, label string) int {
	return c.find(trackKey{kind: hostTrack, thread: thread, label: label}, func() chromeTrack {
		t := chromeTrack{pid: c.pidOf(0), name: "unknown thread", nests: true}
		if thread == model.NoThread && label != "" {
			t.name = ""
		}
		if int(thread) < len(c.t.Threads) {
			th := c.t.Threads[thread]
			t.pid, t.tid, t.name = c.pidOf(th.Process), th.Tid, th.Name
			if t.name == "" {
				t.name = fmt.Sprintf("thread %d", th.Tid)
			}
		}
		if label != "" {
			t.name = strings.TrimSpace(t.name + " " + label)
		}
		if label != "" || t.tid <= 0 || t.tid >= firstOwnID || c.tids[[2]int64{t.pid, t.tid}] {
			t.tid = c.ownTid()
		}
		c.tids[[2]int64{t.pid, t.tid}] = true
		return t
	})
}

func (c *chromeWriter) pidOf(p model.ProcessRow) int64 {
	if int(p) < len(c.hostPid) {
		return c.hostPid[p]
	}
	return 0
}

// gpu is the process ID of a GPU as one process sees it. CUDA ordinals count within a process.
func (c *chromeWriter) gpu(process model.ProcessRow, device uint32) int64 {
	at := c.find(trackKey{kind: gpuProcess, process: process, device: device}, func() chromeTrack {
		name := fmt.Sprintf("GPU %d", device)
		if device == model.NoDevice {
			name = "GPU"
		}
		for _, d := range c.t.Devices {
			if d.Ordinal == device && d.Name != "" {
				name += " " + d.Name
				break
			}
		}
		if len(c.t.Processes) > 1 {
			name += fmt.Sprintf(" (process %d)", c.pidOf(process))
		}
		return chromeTrack{pid: c.ownPid(), name: name}
	})
	return c.tracks[at].pid
}

// stream is the track of a stream.
func (c *chromeWriter) stream(process model.ProcessRow, device, context, stream uint32, label string) int {
	key := trackKey{kind: streamTrack, process: process, device: device, context: context, stream: stream, label: label}
	if key == c.lastKey {
		return c.lastTrack
	}
	c.lastKey, c.lastTrack = key, c.findStream(key)
	return c.lastTrack
}

func (c *chromeWriter) findStream(key trackKey) int {
	process, device, context, stream, label := key.process, key.device, key.context, key.stream, key.label
	return c.find(key, func() chromeTrack {
		if id := [2]uint32{device, stream}; label == "" && c.owners[id].kind == hostTrack {
			c.owners[id] = key
		}
		t := chromeTrack{pid: c.gpu(process, device), tid: c.ownTid(), name: fmt.Sprintf("stream %d", stream),
			nests: label != ""}
		if stream == model.NoStream {
			t.name = "all streams"
		}
		several := false
		for _, x := range c.t.Contexts {
			several = several || x.Device == device && x.Process == process && x.ID != context
		}
		if several {
			t.name += fmt.Sprintf(" context %d", context)
		}
		for _, s := range c.t.Streams {
			if s.ID == stream && s.Context == context && s.Process == process && s.Name != "" {
				t.name += " " + s.Name
			}
		}
		if label != "" {
			t.name += " " + label
		}
		return t
	})
}

// device is a track of a GPU that belongs to no stream, or of the host's process if there is no device.
func (c *chromeWriter) device(process model.ProcessRow, device uint32, label string) int {
	return c.find(trackKey{kind: deviceTrack, process: process, device: device, label: label}, func() chromeTrack {
		t := chromeTrack{pid: c.pidOf(process), tid: c.ownTid(), name: label, nests: true}
		if device != model.NoDevice {
			t.pid = c.gpu(process, device)
		}
		return t
	})
}

// writeTrack puts the events of a track on lanes and writes them, and the arrows to GPU work.
func (c *chromeWriter) writeTrack(t *chromeTrack, at int) {
	for i := range t.events {
		if e := &t.events[i]; e.endNs < e.startNs { // open, or too long to be true
			e.endNs = max(c.endNs, e.startNs)
		}
	}
	slices.SortStableFunc(t.events, func(a, b chromeEvent) int {
		return cmp.Or(cmp.Compare(a.startNs, b.startNs), cmp.Compare(b.endNs, a.endNs))
	})
	l := lanes.Lanes{Nests: t.nests}
	tids := []int64{t.tid}
	if len(t.events) > 0 {
		c.meta("thread_name", t.pid, t.tid, t.name)
		c.sortIndex("thread_sort_index", t.pid, t.tid, at)
	}
	for _, e := range t.events {
		if c.err != nil {
			return
		}
		k := &c.kinds[e.kind]
		if k.durNs == nil {
			c.instant(k, e, t)
			continue
		}
		lane := l.Put(e.startNs, e.endNs)
		for lane >= len(tids) {
			tids = append(tids, c.ownTid())
			c.meta("thread_name", t.pid, tids[len(tids)-1], fmt.Sprintf("%s (%d)", t.name, len(tids)))
			c.sortIndex("thread_sort_index", t.pid, tids[len(tids)-1], at)
		}
		c.span(k, e, t.pid, tids[lane])
	}
	t.events = nil
}

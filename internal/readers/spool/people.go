package spool

import (
	"cmp"
	"slices"

	raw "lacuna/internal/capture/spool"
	"lacuna/internal/timeline/model"
)

// people is the threads that the recorder speaks of. Which rows of Threads they are is known when all streams are read.
type people struct {
	number map[[2]uint32]model.ThreadRow // a number for each pid and tid, in the order met
	met    [][2]uint32
	names  map[[2]uint32]model.StringID
}

func newPeople() people {
	return people{number: make(map[[2]uint32]model.ThreadRow), names: make(map[[2]uint32]model.StringID)}
}

// of is the number of a thread.
func (p *people) of(pid, tid uint32) model.ThreadRow {
	key := [2]uint32{pid, tid}
	n, ok := p.number[key]
	if !ok {
		n = model.ThreadRow(len(p.met))
		p.number[key] = n
		p.met = append(p.met, key)
	}
	return n
}

func (r *reading) tasks(s *stream, c *raw.Chunk) {
	for _, t := range raw.Rows[raw.Task](c) {
		r.people.names[[2]uint32{t.Pid, t.Tid}] = r.text(s, uint32(t.Name)) // the last: programs rename their threads
	}
}

func (r *reading) samples(s *stream, c *raw.Chunk) {
	t := &r.trace.Samples
	c.Keep(r.usable("sample", c.Column("time")))
	t.TimeNs = raw.Append[int64](t.TimeNs, c.Column("time"), c.Count, 0)
	t.CPU = raw.Append(t.CPU, c.Column("cpu"), c.Count, int32(-1))
	t.Weight = raw.Append(t.Weight, c.Column("weight"), c.Count, int64(0))
	pid, tid, frame := c.Column("pid"), c.Column("tid"), c.Column("frame")
	for i := range c.Count {
		row, ok := s.frameRows[raw.At[uint32](frame, i)]
		if !ok {
			row = model.NoFrame
		}
		t.Thread, t.Stack = append(t.Thread, r.people.of(raw.At[uint32](pid, i), raw.At[uint32](tid, i))),
			append(t.Stack, row)
	}
}

func (r *reading) frames(s *stream, c *raw.Chunk) {
	t := &r.trace.Frames
	for _, f := range raw.Rows[raw.Frame](c) {
		parent, ok := s.frameRows[f.Parent]
		if !ok {
			parent = model.NoFrame
		}
		s.frameRows[f.Frame] = model.FrameRow(t.Len())
		t.Parent = append(t.Parent, parent)
		t.Symbol, t.Module = append(t.Symbol, r.text(s, uint32(f.Symbol))),
			append(t.Module, r.text(s, uint32(f.Module)))
	}
}

func (r *reading) switches(_ *stream, c *raw.Chunk) {
	t := &r.trace.Sched
	c.Keep(r.usable("switch", c.Column("time")))
	t.TimeNs = raw.Append[int64](t.TimeNs, c.Column("time"), c.Count, 0)
	t.CPU = raw.Append(t.CPU, c.Column("cpu"), c.Count, int32(-1))
	t.State = raw.Append(t.State, c.Column("preempted"), c.Count, uint8(0))
	pid, tid, in := c.Column("pid"), c.Column("tid"), c.Column("in")
	for i := range c.Count {
		t.Thread = append(t.Thread, r.people.of(raw.At[uint32](pid, i), raw.At[uint32](tid, i)))
		t.In = append(t.In, raw.At[uint8](in, i) != 0)
	}
}

// meet finds the rows of the threads that the recorder speaks of, and names those that were met. A process that has
// no spool of its own, because it uses neither CUDA nor NVTX, gets a row.
func (r *reading) meet() {
	processes := make(map[uint32]*stream) // the last to begin, of those that had a pid one after the other
	for _, s := range r.streams {
		pid := uint32(s.from.Begin.Pid)
		if have := processes[pid]; !s.recorder && (have == nil || have.from.Begin.RealNs <= s.from.Begin.RealNs) {
			processes[pid] = s
		}
	}
	rows := make([]model.ThreadRow, len(r.people.met))
	for i, key := range r.people.met {
		s := processes[key[0]]
		if s == nil {
			s = &stream{process: model.ProcessRow(len(r.trace.Processes)), threads: make(map[uint32]model.ThreadRow)}
			processes[key[0]] = s
			name := r.trace.Strings.Text(r.people.names[[2]uint32{key[0], key[0]}])
			r.trace.Processes = append(r.trace.Processes, model.Process{Pid: int64(key[0]), Name: name, Rank: -1})
		}
		rows[i] = r.thread(s, key[1])
	}
	for i, n := range r.trace.Samples.Thread {
		r.trace.Samples.Thread[i] = rows[n]
	}
	for i, n := range r.trace.Sched.Thread {
		r.trace.Sched.Thread[i] = rows[n]
	}
	for i := range r.trace.Threads {
		t := &r.trace.Threads[i]
		pid := uint32(0)
		if int(t.Process) < len(r.trace.Processes) {
			pid = uint32(r.trace.Processes[t.Process].Pid)
		}
		if id, ok := r.people.names[[2]uint32{pid, uint32(t.Tid)}]; ok && t.Name == "" {
			t.Name = r.trace.Strings.Text(id)
		}
	}
}

// nameThreads names the threads of a stream as the program does.
func (r *reading) nameThreads(s *stream) {
	for _, n := range s.named {
		if row, met := s.threads[n.Tid]; met {
			r.trace.Threads[row].Name = r.string(s, n.Name)
		}
	}
}

func (r *reading) tracks(s *stream, c *raw.Chunk) {
	for _, t := range raw.Rows[raw.Track](c) {
		if _, have := s.trackRows[t.Track]; have {
			continue
		}
		s.trackRows[t.Track] = uint32(len(r.trace.Tracks))
		r.trace.Tracks = append(r.trace.Tracks, model.CounterTrack{Name: r.string(s, t.Name),
			Unit: r.string(s, t.Unit), Device: t.Device, Thread: model.NoThread})
		r.trackUUIDs = append(r.trackUUIDs, r.string(s, t.UUID))
	}
}

func (r *reading) counters(s *stream, c *raw.Chunk) {
	t := &r.trace.Counters
	c.Keep(r.usable("counter", c.Column("time")))
	track := c.Column("track")
	unknown := c.Keep(func(i int) bool { _, ok := s.trackRows[raw.At[uint32](track, i)]; return ok })
	r.trace.Losses.Add(model.LossUnknownEvent, int64(unknown), "counter: of a track that has no name")
	track = c.Column("track")
	t.TimeNs = raw.Append[int64](t.TimeNs, c.Column("time"), c.Count, 0)
	t.Value = raw.Append[float64](t.Value, c.Column("value"), c.Count, 0)
	for i := range c.Count {
		t.Track = append(t.Track, s.trackRows[raw.At[uint32](track, i)])
	}
}

// trackDevices gives tracks, which have NVML's numbers of GPUs, CUDA's, by UUID. GPUs that the program does not see
// are left out; if it sees none, because it did not use CUDA, NVML's numbers stay.
func (r *reading) trackDevices() {
	ordinals := make(map[string]uint32)
	for _, d := range r.trace.Devices {
		ordinals[d.UUID] = d.Ordinal
	}
	others := 0
	keep := make([]bool, len(r.trace.Tracks))
	for i := range r.trace.Tracks {
		t := &r.trace.Tracks[i]
		ordinal, known := ordinals[r.trackUUIDs[i]]
		keep[i] = known || t.Device == model.NoDevice || len(ordinals) == 0
		if known {
			t.Device = ordinal
		}
		if !keep[i] {
			others++
		}
	}
	if others > 0 {
		r.withoutTracks(keep)
		r.meta("counters of other GPUs", "recorded of GPUs that the program does not use, and not kept")
	}
	c := &r.trace.Counters
	order := make([]uint32, c.Len())
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(c.Track[a], c.Track[b]), cmp.Compare(c.TimeNs[a], c.TimeNs[b]))
	})
	model.Permute(c, order)
}

// withoutTracks takes tracks out, with their values.
func (r *reading) withoutTracks(keep []bool) {
	rows := make([]uint32, len(keep))
	var tracks []model.CounterTrack
	for i, k := range keep {
		if k {
			rows[i] = uint32(len(tracks))
			tracks = append(tracks, r.trace.Tracks[i])
		}
	}
	r.trace.Tracks = tracks
	c := &r.trace.Counters
	var order []uint32
	for i, track := range c.Track {
		if keep[track] {
			order = append(order, uint32(i))
			c.Track[i] = rows[track]
		}
	}
	model.Permute(c, order)
}

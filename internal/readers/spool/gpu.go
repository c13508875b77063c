package spool

import (
	"fmt"
	"strings"

	"github.com/ianlancetaylor/demangle"

	raw "lacuna/internal/capture/spool"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/timeline/model"
)

// maxNs bounds times, so that they can be added and subtracted: the year 2116.
const maxNs = 1 << 62

// spans reads start and end of a chunk's rows. Rows without usable times are taken out of the chunk first, and counted.
func (r *reading) spans(c *raw.Chunk, startNs, durNs *[]int64) {
	start, end := c.Column("start"), c.Column("end")
	good := func(i int) bool {
		a, b := raw.At[uint64](start, i), raw.At[uint64](end, i)
		return a != 0 && b >= a && b < maxNs
	}
	bad := false
	for i := range c.Count {
		if !good(i) {
			bad = true
			break
		}
	}
	if bad {
		start, end = r.repair(c)
	}
	first := len(*startNs)
	*startNs = raw.Append[int64](*startNs, start, c.Count, 0)
	*durNs = raw.Append[int64](*durNs, end, c.Count, 0)
	starts, durs := (*startNs)[first:], (*durNs)[first:]
	for i := range starts {
		durs[i] = max(durs[i]-starts[i], 0)
	}
}

// fix takes the rows without usable times out of a chunk.
func (r *reading) repair(c *raw.Chunk) (start, end raw.Column) {
	start, end = c.Column("start"), c.Column("end")
	example := func(i int) string {
		return fmt.Sprintf("%s: start %d, end %d", c.Table.Name, raw.At[uint64](start, i), raw.At[uint64](end, i))
	}
	c.Keep(func(i int) bool {
		a, b := raw.At[uint64](start, i), raw.At[uint64](end, i)
		switch {
		case a == 0 || b == 0:
			r.trace.Losses.Add(model.LossZeroTime, 1, example(i))
			return false
		case a >= maxNs || b >= maxNs:
			r.trace.Losses.Add(model.LossBadTime, 1, example(i))
			return false
		case b < a:
			r.trace.Losses.Add(model.LossNegative, 1, example(i))
		}
		return true
	})
	return c.Column("start"), c.Column("end")
}

// activity reads what all work of a GPU has.
func (r *reading) activity(s *stream, c *raw.Chunk, a *model.Activity) {
	r.spans(c, &a.StartNs, &a.DurNs)
	a.Process = appendSame(a.Process, s.process, c.Count)
	a.Device = raw.Append(a.Device, c.Column("device"), c.Count, model.NoDevice)
	a.Context = raw.Append(a.Context, c.Column("context"), c.Count, 0)
	a.Stream = raw.Append(a.Stream, c.Column("stream"), c.Count, model.NoStream)
	a.Corr = appendCorr(a.Corr, c)
	a.Graph = raw.Append(a.Graph, c.Column("graph"), c.Count, model.NoGraph)
	a.GraphNode = raw.Append(a.GraphNode, c.Column("node"), c.Count, 0)
}

func appendSame[T any](to []T, v T, n int) []T {
	to = raw.Grow(to, n)
	for range n {
		to = append(to, v)
	}
	return to
}

// appendCorr reads correlation IDs. CUPTI writes 0 where there is none.
func appendCorr(to []uint32, c *raw.Chunk) []uint32 {
	first := len(to)
	to = raw.Append(to, c.Column("corr"), c.Count, model.NoCorr)
	for i, v := range to[first:] {
		if v == 0 {
			to[first+i] = model.NoCorr
		}
	}
	return to
}

func (r *reading) kernels(s *stream, c *raw.Chunk) {
	k := &r.trace.Kernels
	r.activity(s, c, &k.Activity)
	k.Name, k.Short, k.Mangled = raw.Grow(k.Name, c.Count), raw.Grow(k.Short, c.Count), raw.Grow(k.Mangled, c.Count)
	var id uint32
	var n kernelName
	for i, text := range r.ids(c, "name") {
		if i == 0 || text != id {
			id, n = text, s.kernelName(r, text)
		}
		k.Name, k.Short, k.Mangled = append(k.Name, n.demangled), append(k.Short, n.short), append(k.Mangled, n.mangled)
	}
	if !r.opt.Wants(model.PartLaunchConfig) {
		return
	}
	k.GridX = raw.Append(k.GridX, c.Column("grid_x"), c.Count, 0)
	k.GridY = raw.Append(k.GridY, c.Column("grid_y"), c.Count, 0)
	k.GridZ = raw.Append(k.GridZ, c.Column("grid_z"), c.Count, 0)
	k.BlockX = raw.Append(k.BlockX, c.Column("block_x"), c.Count, 0)
	k.BlockY = raw.Append(k.BlockY, c.Column("block_y"), c.Count, 0)
	k.BlockZ = raw.Append(k.BlockZ, c.Column("block_z"), c.Count, 0)
	k.Registers = raw.Append(k.Registers, c.Column("registers"), c.Count, 0)
	k.StaticShared = raw.Append(k.StaticShared, c.Column("shared_static"), c.Count, 0)
	k.DynShared = raw.Append(k.DynShared, c.Column("shared_dynamic"), c.Count, 0)
	k.LocalBytes = raw.Append(k.LocalBytes, c.Column("local_total"), c.Count, 0)
}

// A kernelName is the forms of a kernel's name.
type kernelName struct{ demangled, short, mangled model.StringID }

// ids is a column of IDs, in memory that the next call uses again.
func (r *reading) ids(c *raw.Chunk, column string) []uint32 {
	r.scratch = raw.Append(r.scratch[:0], c.Column(column), c.Count, 0)
	return r.scratch
}

// kernelName is the forms of the name with an ID of the stream's.
func (s *stream) kernelName(r *reading, id uint32) kernelName {
	if n, ok := s.kernelNames[id]; ok {
		return n
	}
	n := r.kernelName(r.text(s, id))
	s.kernelNames[id] = n
	return n
}

// kernelName is the forms of the name that CUPTI gives, which is mangled. What demangling makes of names is bounded:
// a name of a few bytes can stand for one of any length.
func (r *reading) kernelName(text model.StringID) kernelName {
	n, ok := r.names[text]
	if ok {
		return n
	}
	mangled := r.trace.Strings.Text(text)
	name := mangled
	if strings.HasPrefix(mangled, "_Z") && r.room > 0 {
		name = demangle.Filter(mangled, demangle.MaxLength(16)) // at most 2^16 bytes
		r.room += demangledRatio*len(mangled) - len(name)
	}
	n = kernelName{r.trace.Strings.Intern(name), r.trace.Strings.Intern(kernelname.Of(name).Base), text}
	r.names[text] = n
	return n
}

// demangledRatio is how much longer than mangled names all demangled ones together may be, beyond the first MiB. Of
// PyTorch's kernels they are 1.2 times as long.
const demangledRatio = 16

func (r *reading) copies(s *stream, c *raw.Chunk) {
	t := &r.trace.Copies
	r.activity(s, c, &t.Activity)
	t.Bytes = raw.Append(t.Bytes, c.Column("bytes"), c.Count, 0)
	t.Kind = raw.Append(t.Kind, c.Column("kind"), c.Count, model.CopyUnknown)
	t.Src = raw.Append(t.Src, c.Column("src"), c.Count, model.MemUnknown)
	t.Dst = raw.Append(t.Dst, c.Column("dst"), c.Count, model.MemUnknown)
	t.SrcDevice = raw.Append(t.SrcDevice, c.Column("src_device"), c.Count, model.NoDevice)
	t.DstDevice = raw.Append(t.DstDevice, c.Column("dst_device"), c.Count, model.NoDevice)
}

func (r *reading) sets(s *stream, c *raw.Chunk) {
	t := &r.trace.Sets
	r.activity(s, c, &t.Activity)
	t.Bytes = raw.Append(t.Bytes, c.Column("bytes"), c.Count, 0)
	t.Mem = raw.Append(t.Mem, c.Column("memory"), c.Count, model.MemUnknown)
	t.Value = raw.Append(t.Value, c.Column("value"), c.Count, 0)
}

func (r *reading) graphRuns(s *stream, c *raw.Chunk) {
	t := &r.trace.GraphRuns
	r.activity(s, c, &t.Activity)
	t.Exec = raw.Append(t.Exec, c.Column("graph"), c.Count, 0)
}

// graphDone is what a row of graph says.
var graphDone = [...]string{"", "graph created", "graph cloned", "graph node created", "graph node cloned",
	"executable graph created", "executable graph destroyed"}

func (r *reading) graphEvents(s *stream, c *raw.Chunk) {
	t := &r.trace.GraphEvents
	c.Keep(r.usable("graph", c.Column("time")))
	t.StartNs = raw.Append[int64](t.StartNs, c.Column("time"), c.Count, 0)
	t.DurNs = appendSame(t.DurNs, 0, c.Count)
	tid, what := c.Column("tid"), c.Column("what")
	for i := range c.Count {
		name := ""
		if n := raw.At[uint32](what, i); n < uint32(len(graphDone)) {
			name = graphDone[n]
		}
		t.Thread, t.Name = append(t.Thread, r.thread(s, raw.At[uint32](tid, i))),
			append(t.Name, r.trace.Strings.Intern(name))
	}
	t.Class = raw.Append(t.Class, what, c.Count, 0)
	t.Graph = raw.Append(t.Graph, c.Column("graph"), c.Count, 0)
	t.FromGraph = raw.Append(t.FromGraph, c.Column("from_graph"), c.Count, 0)
	t.Exec = raw.Append(t.Exec, c.Column("exec"), c.Count, 0)
	t.Node = raw.Append(t.Node, c.Column("node"), c.Count, 0)
	t.FromNode = raw.Append(t.FromNode, c.Column("from_node"), c.Count, 0)
}

// usable says of each row whether its time can be used, and counts those that cannot.
func (r *reading) usable(table string, time raw.Column) func(int) bool {
	return func(i int) bool {
		if t := raw.At[uint64](time, i); t == 0 || t >= maxNs {
			r.trace.Losses.Add(model.LossBadTime, 1, fmt.Sprintf("%s: time %d", table, t))
			return false
		}
		return true
	}
}

func (r *reading) deviceAllocs(s *stream, c *raw.Chunk) {
	const released = 2
	t := &r.trace.DeviceAllocs
	c.Keep(r.usable("memory", c.Column("time")))
	t.TimeNs = raw.Append[int64](t.TimeNs, c.Column("time"), c.Count, 0)
	t.Process = appendSame(t.Process, s.process, c.Count)
	t.Device = raw.Append(t.Device, c.Column("device"), c.Count, model.NoDevice)
	t.Context = raw.Append(t.Context, c.Column("context"), c.Count, 0)
	t.Addr = raw.Append(t.Addr, c.Column("address"), c.Count, 0)
	t.Mem = raw.Append(t.Mem, c.Column("kind"), c.Count, model.MemUnknown)
	t.Corr = appendCorr(t.Corr, c)
	bytes, operation, name := c.Column("bytes"), c.Column("operation"), c.Column("name")
	for i := range c.Count {
		n := max(raw.At[int64](bytes, i), 0)
		if raw.At[uint32](operation, i) == released {
			n = -n
		}
		t.Bytes, t.Name = append(t.Bytes, n), append(t.Name, r.text(s, raw.At[uint32](name, i)))
	}
}

package nsys

import (
	"lacuna/internal/timeline/model"
)

// activity is the columns that all work of a GPU has, in the slots that worker.activity reads.
var activity = []string{"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
	"graphNodeId", "graphId"}

// Slots of activity that are named elsewhere, and the first that is free.
const (
	slotGraphNode = 7
	slotGraph     = 8
	slotFree      = 9
)

func growActivity(a *model.Activity, n int, has func(int) bool) {
	grow(n, &a.StartNs, &a.DurNs, &a.Process, &a.Device, &a.Context, &a.Stream, &a.Corr)
	if has(slotGraphNode) {
		grow(n, &a.GraphNode)
	}
	if has(slotGraph) {
		grow(n, &a.Graph)
	}
}

// activity puts what all work of a GPU has at place i.
func (w *worker) activity(a *model.Activity, i int) bool {
	if !w.span(a.StartNs, a.DurNs, i) {
		return false
	}
	a.Device[i] = w.u32(2, model.NoDevice)
	a.Context[i] = w.u32(3, 0)
	a.Stream[i] = w.u32(4, model.NoStream)
	a.Corr[i] = w.corr(5)
	a.Process[i] = w.process(6)
	if a.GraphNode != nil {
		a.GraphNode[i] = uint64(w.i64(slotGraphNode, 0))
	}
	if a.Graph != nil {
		a.Graph[i] = w.u32(slotGraph, model.NoGraph)
	}
	return true
}

func (r *reading) kernels() {
	const (
		demangled = slotFree + iota
		short
		mangled
		gridX
		gridY
		gridZ
		blockX
		blockY
		blockZ
		registers
		staticShared
		dynShared
		localBytes
	)
	columns := append(activity[:slotFree:slotFree], "demangledName", "shortName", "mangledName")
	launch := r.opt.Wants(model.PartLaunchConfig)
	if launch {
		columns = append(columns, "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
			"registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "localMemoryTotal")
	}
	k := &r.trace.Kernels
	alloc := func(n int, has func(int) bool) {
		growActivity(&k.Activity, n, has)
		grow(n, &k.Name)
		if has(short) {
			grow(n, &k.Short)
		}
		if has(mangled) {
			grow(n, &k.Mangled)
		}
		if launch {
			grow(n, &k.GridX, &k.GridY, &k.GridZ, &k.BlockX, &k.BlockY, &k.BlockZ, &k.Registers, &k.StaticShared,
				&k.DynShared, &k.LocalBytes)
		}
	}
	r.scan(k, alloc, source{"CUPTI_ACTIVITY_KIND_KERNEL", columns, func(w *worker, i int) bool {
		if !w.activity(&k.Activity, i) {
			return false
		}
		k.Name[i] = w.named(demangled)
		if k.Short != nil {
			k.Short[i] = w.named(short)
			if k.Name[i] == 0 {
				k.Name[i] = k.Short[i]
			}
		}
		if k.Mangled != nil {
			k.Mangled[i] = w.named(mangled)
		}
		if launch {
			k.GridX[i], k.GridY[i], k.GridZ[i] = w.i32(gridX, 0), w.i32(gridY, 0), w.i32(gridZ, 0)
			k.BlockX[i], k.BlockY[i], k.BlockZ[i] = w.i32(blockX, 0), w.i32(blockY, 0), w.i32(blockZ, 0)
			k.Registers[i] = w.u16(registers)
			k.StaticShared[i], k.DynShared[i] = w.i32(staticShared, 0), w.i32(dynShared, 0)
			k.LocalBytes[i] = w.i64(localBytes, 0)
		}
		return true
	}})
}

// memKind turns nsys' ENUM_CUDA_MEM_KIND, which counts from pageable = 0, into CUPTI's numbers.
func (w *worker) memKind(slot int) model.MemKind {
	if v := within[uint8](w, slot, 0, 255, 7); v < 7 {
		return model.MemPageable + model.MemKind(v)
	}
	return model.MemUnknown
}

func (r *reading) copies() {
	const (
		bytes = slotFree + iota
		kind
		srcKind
		dstKind
		srcDevice
		dstDevice
		addr
	)
	columns := append(activity[:slotFree:slotFree], "bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId",
		"dstDeviceId")
	if r.opt.Wants(model.PartMemory) {
		columns = append(columns, "virtualAddress")
	}
	labels := r.labels("ENUM_CUDA_MEMCPY_OPER")
	c := &r.trace.Copies
	alloc := func(n int, has func(int) bool) {
		growActivity(&c.Activity, n, has)
		grow(n, &c.Kind, &c.Src, &c.Dst, &c.Bytes)
		if has(srcDevice) {
			grow(n, &c.SrcDevice, &c.DstDevice)
		}
		if labels != nil {
			grow(n, &c.Label)
		}
		if has(addr) {
			grow(n, &c.Addr)
		}
	}
	r.scan(c, alloc, source{"CUPTI_ACTIVITY_KIND_MEMCPY", columns, func(w *worker, i int) bool {
		if !w.activity(&c.Activity, i) {
			return false
		}
		c.Bytes[i] = w.i64(bytes, 0)
		c.Kind[i] = model.CopyKind(w.u8(kind))
		c.Src[i], c.Dst[i] = w.memKind(srcKind), w.memKind(dstKind)
		if c.SrcDevice != nil {
			c.SrcDevice[i], c.DstDevice[i] = w.u32(srcDevice, model.NoDevice), w.u32(dstDevice, model.NoDevice)
		}
		if c.Label != nil {
			c.Label[i] = labels[int64(c.Kind[i])]
		}
		if c.Addr != nil {
			c.Addr[i] = uint64(w.i64(addr, 0))
		}
		return true
	}})
}

func (r *reading) sets() {
	const (
		bytes = slotFree + iota
		mem
		value
	)
	columns := append(activity[:slotFree:slotFree], "bytes", "memKind", "value")
	s := &r.trace.Sets
	alloc := func(n int, has func(int) bool) {
		growActivity(&s.Activity, n, has)
		grow(n, &s.Bytes, &s.Mem, &s.Value)
	}
	r.scan(s, alloc, source{"CUPTI_ACTIVITY_KIND_MEMSET", columns, func(w *worker, i int) bool {
		if !w.activity(&s.Activity, i) {
			return false
		}
		s.Bytes[i], s.Mem[i], s.Value[i] = w.i64(bytes, 0), w.memKind(mem), w.u32(value, 0)
		return true
	}})
}

func (r *reading) graphRuns() {
	g := &r.trace.GraphRuns
	columns := append(activity[:slotFree:slotFree], "graphExecId")
	alloc := func(n int, has func(int) bool) {
		growActivity(&g.Activity, n, has)
		grow(n, &g.Exec)
	}
	r.scan(g, alloc, source{"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", columns, func(w *worker, i int) bool {
		if !w.activity(&g.Activity, i) {
			return false
		}
		g.Exec[i] = w.u32(slotFree, 0)
		return true
	}})
}

func (r *reading) graphEvents() {
	g := &r.trace.GraphEvents
	columns := []string{"start", "end", "globalTid", "nameId", "eventClass", "graphId", "originalGraphId",
		"graphExecId", "graphNodeId", "originalGraphNodeId"}
	alloc := func(n int, _ func(int) bool) {
		grow(n, &g.StartNs, &g.DurNs, &g.Thread, &g.Name, &g.Class, &g.Graph, &g.FromGraph, &g.Exec, &g.Node,
			&g.FromNode)
	}
	row := func(w *worker, i int) bool {
		if !w.span(g.StartNs, g.DurNs, i) {
			return false
		}
		g.Thread[i], g.Name[i], g.Class[i] = w.thread(2), w.named(3), w.u32(4, 0)
		g.Graph[i], g.FromGraph[i], g.Exec[i] = w.u32(5, 0), w.u32(6, 0), w.u32(7, 0)
		g.Node[i], g.FromNode[i] = uint64(w.i64(8, 0)), uint64(w.i64(9, 0))
		return true
	}
	r.scan(g, alloc, source{"CUDA_GRAPH_EVENTS", columns, row}, source{"CUDA_GRAPH_NODE_EVENTS", columns, row})
}

func (r *reading) calls() {
	c := &r.trace.Calls
	stacks := r.stacks["CUDA_CALLCHAINS"]
	columns := []string{"start", "end", "globalTid", "nameId", "correlationId", "eventClass", "returnValue",
		"callchainId"}
	alloc := func(n int, has func(int) bool) {
		grow(n, &c.StartNs, &c.DurNs, &c.Thread, &c.Name, &c.Corr, &c.Class)
		if has(6) {
			grow(n, &c.Return)
		}
		if stacks != nil {
			grow(n, &c.Stack)
		}
	}
	r.scan(c, alloc, source{"CUPTI_ACTIVITY_KIND_RUNTIME", columns, func(w *worker, i int) bool {
		if !w.span(c.StartNs, c.DurNs, i) {
			return false
		}
		c.Thread[i], c.Name[i], c.Corr[i] = w.thread(2), w.named(3), w.corr(4)
		if w.u32(5, 0) == 1 {
			c.Class[i] = model.CallDriver
		}
		if c.Return != nil {
			c.Return[i] = w.i32(6, 0)
		}
		if c.Stack != nil {
			c.Stack[i] = w.stack(stacks, 7)
		}
		return true
	}})
}

func (r *reading) deviceAllocs() {
	d := &r.trace.DeviceAllocs
	columns := []string{"start", "globalPid", "deviceId", "contextId", "address", "bytes", "memKind",
		"memoryOperationType", "correlationId", "name"}
	alloc := func(n int, _ func(int) bool) {
		grow(n, &d.TimeNs, &d.Process, &d.Device, &d.Context, &d.Addr, &d.Bytes, &d.Mem, &d.Corr, &d.Name)
	}
	r.scan(d, alloc, source{"CUDA_GPU_MEMORY_USAGE_EVENTS", columns, func(w *worker, i int) bool {
		t, ok := w.time(0)
		if !ok {
			return false
		}
		d.TimeNs[i], d.Process[i], d.Device[i], d.Context[i] = t, w.process(1), w.u32(2, model.NoDevice), w.u32(3, 0)
		d.Addr[i], d.Bytes[i] = uint64(w.i64(4, 0)), w.i64(5, 0)
		if w.i64(7, 0) == 1 { // a release
			d.Bytes[i] = -d.Bytes[i]
		}
		d.Mem[i], d.Corr[i], d.Name[i] = w.memKind(6), w.corr(8), w.text(9)
		return true
	}})
}

func (r *reading) pageFaults() {
	p := &r.trace.PageFaults
	columns := []string{"start", "end", "globalPid", "deviceId", "address", "numberOfPageFaults", "faultAccessType"}
	alloc := func(n int, _ func(int) bool) {
		grow(n, &p.StartNs, &p.DurNs, &p.Process, &p.Device, &p.Addr, &p.Count, &p.Access)
	}
	row := func(w *worker, i int) bool {
		if !w.span(p.StartNs, p.DurNs, i) {
			return false
		}
		p.Process[i], p.Device[i], p.Addr[i] = w.process(2), w.u32(3, model.NoDevice), uint64(w.i64(4, 0))
		p.Count[i], p.Access[i] = w.i64(5, 1), w.u8(6)
		return true
	}
	r.scan(p, alloc, source{"CUDA_UM_GPU_PAGE_FAULT_EVENTS", columns, row},
		source{"CUDA_UM_CPU_PAGE_FAULT_EVENTS", columns, row})
}

package nsys

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"lacuna/internal/base/sqlite"
	"lacuna/internal/timeline/model"
)

// info reads what a file says of itself: who wrote it, where and when. Only what is known to be
// harmless is kept: environments and command lines hold secrets.
func (r *reading) info() {
	info := &r.trace.Info
	info.Rank, info.Producer = -1, "Nsight Systems"
	add := func(key, value string) {
		if value != "" {
			info.Meta = append(info.Meta, model.KeyValue{Key: key, Value: value})
		}
	}
	for _, table := range []string{"META_DATA_EXPORT", "EXPORT_META_DATA"} {
		r.each(table, []string{"name", "value"}, func(row *sqlite.Row) {
			switch value := string(row.Bytes(1)); string(row.Bytes(0)) {
			case "EXPORT_SCHEMA_VERSION":
				info.Schema = value
			case "EXPORT_PRODUCT_VERSION":
				info.Producer = "Nsight Systems " + release(value)
			}
		})
	}
	var program []string
	r.each("META_DATA_CAPTURE", []string{"name", "value"}, func(row *sqlite.Row) {
		switch name, value := string(row.Bytes(0)), string(row.Bytes(1)); name {
		case "CAPTURE_EVENT_TYPE", "PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE", "CUDA_GRAPH_TRACE_OPTIONS:MODE",
			"LINUX_PERF_OPTIONS:SAMPLING_PERIOD", "OS_RUNTIME_OPTIONS:DURATION_THRESHOLD_NS", "RUN_DURATION_MS":
			if strings.HasSuffix(name, graphMode) && info.Graphs == model.GraphsUnknown && value != "" {
				info.Graphs = graphDetail(value)
			}
			add(strings.TrimPrefix(name, "PROCESS_0:"), value)
		case "PROCESS_0:COMMAND", "PROCESS_0:ARGUMENT_0":
			program = append(program, value)
		}
	})
	info.Command = command(program)
	r.each("TARGET_INFO_SYSTEM_ENV", []string{"name", "value"}, func(row *sqlite.Row) {
		switch name, value := string(row.Bytes(0)), string(row.Bytes(1)); name {
		case "Hostname":
			info.Host = value
		case "CudaDriverVersion":
			info.Driver, _ = strconv.Atoi(value)
		case "CpuDescription", "CpuCores", "OsDescription", "KernelVersion", "NvDriverVersion", "HardwarePlatform":
			if n, err := strconv.Atoi(strings.TrimSpace(value)); name == "CpuCores" && err == nil && n > 0 &&
				info.Cores == 0 {
				info.Cores = n
			}
			add(name, value)
		}
	})
	r.trace.Epoch.Clock = clock
	r.each("TARGET_INFO_SESSION_START_TIME", []string{"utcEpochNs"}, func(row *sqlite.Row) {
		if ns, ok := row.Int(0); ok && r.trace.Epoch.UnixNs == 0 {
			r.trace.Epoch.UnixNs = ns
		}
	})
	r.sessionEnd()
	r.strangers()
}

// sessionEnd is when the session stopped, on the clock of the rows, if it is told of one session.
func (r *reading) sessionEnd() {
	sessions := 0
	r.each("ANALYSIS_DETAILS", []string{"duration"}, func(row *sqlite.Row) {
		if ns, ok := row.Int(0); ok && ns > 0 {
			r.trace.Info.EndNs, sessions = ns, sessions+1
		}
	})
	if sessions > 1 {
		r.trace.Info.EndNs = 0
	}
}

// graphMode is the key of how launches of graphs were recorded: "node", "graph".
const graphMode = "CUDA_GRAPH_TRACE_OPTIONS:MODE"

func graphDetail(mode string) model.GraphDetail {
	if strings.EqualFold(mode, "node") {
		return model.GraphsByNode
	}
	return model.GraphsWhole
}

// command is the program and the script it ran. The rest of a command line can hold passwords.
func command(words []string) string {
	if len(words) > 1 && strings.HasPrefix(words[1], "-") {
		words = words[:1]
	}
	return strings.Join(words, " ")
}

// release is the part of a version that people know: 2025.3.1 of 2025.3.1.90.
func release(version string) string {
	parts := strings.SplitN(version, ".", 4)
	return strings.Join(parts[:min(3, len(parts))], ".")
}

// schemaBefore says whether the file's schema is older than that; one without a version is.
func (r *reading) schemaBefore(major, minor int) bool {
	parts := strings.Split(r.trace.Info.Schema, ".")
	if len(parts) < 2 {
		return true
	}
	have, _ := strconv.Atoi(parts[0])
	haveMinor, _ := strconv.Atoi(parts[1])
	return cmp.Or(cmp.Compare(have, major), cmp.Compare(haveMinor, minor)) < 0
}

// strangers warns of tables with work that this reader has no place for.
func (r *reading) strangers() {
	var names []string
	for _, t := range r.db.Tables {
		for _, prefix := range []string{"DX12_WORKLOAD", "VULKAN_WORKLOAD", "OPENGL_WORKLOAD", "NVVIDEO_"} {
			if strings.HasPrefix(t.Name, prefix) && r.db.Plan(t).MaxRows() > 0 {
				names = append(names, t.Name)
			}
		}
	}
	if len(names) > 0 {
		r.trace.Warnings = append(r.trace.Warnings, "graphics and video work of the GPU is recorded but not read: "+
			strings.Join(names, ", "))
	}
}

// labels is an ENUM_ table: the labels by id. nil if there is none.
func (r *reading) labels(table string) map[int64]model.StringID {
	if r.db.Table(table) == nil {
		return nil
	}
	out := make(map[int64]model.StringID)
	r.each(table, []string{"id", "label"}, func(row *sqlite.Row) {
		if id, ok := row.Int(0); ok {
			out[id] = r.trace.Strings.InternBytes(row.Bytes(1))
		}
	})
	return out
}

// ordinals is the CUDA ordinal of each GPU, by nsys' number of it. The two run against each other on some machines.
func (r *reading) ordinals() map[int64]uint32 {
	out := make(map[int64]uint32)
	put := func(row *sqlite.Row) {
		gpu, ok := row.Int(0)
		ordinal, is := row.Int(1)
		if _, have := out[gpu]; ok && is && !have && ordinal >= 0 && ordinal < 1<<16 {
			out[gpu] = uint32(ordinal)
		}
	}
	r.each("TARGET_INFO_CUDA_DEVICE", []string{"gpuId", "cudaId"}, put)
	if len(out) == 0 {
		r.each("TARGET_INFO_GPU", []string{"id", "cuDevice"}, put)
	}
	return out
}

// devices reads the GPUs that CUDA saw, and the contexts and streams made on them.
func (r *reading) devices() {
	ordinals := r.ordinals()
	columns := []string{"id", "name", "uuid", "computeMajor", "computeMinor", "smCount", "threadsPerWarp", "clockRate",
		"totalMemory",
		"memoryBandwidth", "l2CacheSize", "maxShmemPerSm", "maxRegistersPerSm", "maxWarpsPerSm"}
	r.each("TARGET_INFO_GPU", columns, func(row *sqlite.Row) {
		n := func(column int) int64 {
			v, _ := row.Int(column)
			return max(v, 0)
		}
		ordinal, ok := ordinals[n(0)]
		if !ok && len(ordinals) > 0 {
			return // hidden from CUDA
		}
		if !ok {
			ordinal = uint32(n(0)) // a file too old to say
		}
		n32 := func(column int) int32 { return int32(min(n(column), 1<<31-1)) }
		r.trace.Devices = append(r.trace.Devices, model.Device{
			Ordinal: ordinal, Name: string(row.Bytes(1)), UUID: string(row.Bytes(2)),
			ComputeMajor: n32(3), ComputeMinor: n32(4), SMs: n32(5), WarpSize: n32(6),
			ClockHz: n(7), MemoryBytes: n(8), BandwidthBps: n(9), L2Bytes: n(10), SharedPerSM: n(11),
			RegistersPerSM: n(12),
			ThreadsPerSM:   int64(n32(13)) * int64(n32(6)),
		})
	})
	slices.SortStableFunc(r.trace.Devices, func(a, b model.Device) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	r.contexts()
	r.streams()
}

// owner is the process that a row names by its parts, in columns 0 to 2.
func (r *reading) owner(row *sqlite.Row) model.ProcessRow {
	hw, _ := row.Int(0)
	vm, _ := row.Int(1)
	pid, _ := row.Int(2)
	return r.process(globalPid(hw, vm, pid&(1<<24-1)))
}

func u32(row *sqlite.Row, column int, absent uint32) uint32 {
	if v, ok := row.Int(column); ok && v >= 0 && v < 1<<32 {
		return uint32(v)
	}
	return absent
}

func (r *reading) contexts() {
	put := func(row *sqlite.Row) {
		r.trace.Contexts = append(r.trace.Contexts, model.Context{
			Process: r.owner(row), Device: u32(row, 3, model.NoDevice), ID: u32(row, 4, 0),
			NullStream: u32(row, 5, model.NoStream)})
	}
	r.each("TARGET_INFO_CUDA_CONTEXT_INFO", []string{"hwId", "vmId", "processId", "deviceId", "contextId",
		"nullStreamId"}, put)
	if len(r.trace.Contexts) == 0 {
		r.each("TARGET_INFO_CUDA_NULL_STREAM", []string{"hwId", "vmId", "processId", "deviceId", "contextId",
			"streamId"}, put)
	}
}

func (r *reading) streams() {
	type key struct {
		process         model.ProcessRow
		context, stream uint32
	}
	names := make(map[key]string)
	r.each("TARGET_INFO_NVTX_CUDA_STREAM", []string{"hwId", "vmId", "processId", "contextId", "streamId", "name"},
		func(row *sqlite.Row) {
			names[key{r.owner(row), u32(row, 3, 0), u32(row, 4, 0)}] = string(row.Bytes(5))
		})
	r.each("TARGET_INFO_CUDA_STREAM", []string{"hwId", "vmId", "processId", "contextId", "streamId", "priority",
		"flag"}, func(row *sqlite.Row) {
		k := key{r.owner(row), u32(row, 3, 0), u32(row, 4, 0)}
		s := model.Stream{Process: k.process, Context: k.context, ID: k.stream, Flags: -1, Name: names[k]}
		if v, ok := row.Int(5); ok {
			s.Priority = int32(v)
		}
		if v, ok := row.Int(6); ok {
			s.Flags = int32(v)
		}
		r.trace.Streams = append(r.trace.Streams, s)
	})
}

// output keeps the end of what the processes wrote.
func (r *reading) output() {
	r.each("ProcessStreams", []string{"globalPid", "filenameId", "contentId"}, func(row *sqlite.Row) {
		id, _ := row.Int(0)
		n, ok := r.procs[id]
		if !ok {
			return
		}
		p, text := &r.trace.Processes[n], r.string(row, 2)
		text = strings.ToValidUTF8(text[max(0, len(text)-model.OutputBytes):], "")
		switch file := r.string(row, 1); {
		case strings.Contains(file, "stderr"):
			p.Stderr = text
		case strings.Contains(file, "stdout"):
			p.Stdout = text
		}
	})
}

// people names the processes and threads that were met. The tables list all of the machine's.
func (r *reading) people() {
	r.each("PROCESSES", []string{"globalPid", "name"}, func(row *sqlite.Row) {
		id, _ := row.Int(0)
		if p, ok := r.procs[id]; ok {
			r.trace.Processes[p].Name = string(row.Bytes(1))
		}
	})
	r.output()
	r.each("ThreadNames", []string{"globalTid", "nameId", "priority"}, func(row *sqlite.Row) {
		id, _ := row.Int(0)
		n, ok := r.threads[id]
		if !ok {
			return
		}
		t := &r.trace.Threads[n]
		if t.Name == "" {
			t.Name = r.string(row, 1)
		}
		if p, ok := row.Int(2); ok && p == int64(int32(p)) {
			t.Priority = int32(p)
		}
	})
	for id, rank := range r.ranks() {
		if p, ok := r.procs[id]; ok {
			r.trace.Processes[p].Rank = rank
		}
	}
	r.each("MPI_COMMUNICATORS", []string{"size"}, func(row *sqlite.Row) {
		if size, ok := row.Int(0); ok && size < 1<<31 {
			r.trace.Info.World = max(r.trace.Info.World, int32(size))
		}
	})
	found := make(map[int32]bool)
	for _, p := range r.trace.Processes {
		if p.Rank >= 0 {
			found[p.Rank] = true
			r.trace.Info.Rank = p.Rank
		}
	}
	if len(found) != 1 {
		r.trace.Info.Rank = -1 // a file of several ranks has none of its own
	}
}

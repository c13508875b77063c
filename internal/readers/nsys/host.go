package nsys

import (
	"strings"

	"lacuna/internal/base/sqlite"
	"lacuna/internal/timeline/model"
)

func (r *reading) osCalls() {
	o := &r.trace.OSCalls
	stacks := r.stacks["OSRT_CALLCHAINS"]
	columns := []string{"start", "end", "globalTid", "nameId", "returnValue", "eventClass", "callchainId"}
	alloc := func(n int, _ func(int) bool) {
		grow(n, &o.StartNs, &o.DurNs, &o.Thread, &o.Name, &o.Return, &o.Class)
		if stacks != nil {
			grow(n, &o.Stack)
		}
	}
	r.scan(o, alloc, source{"OSRT_API", columns, func(w *worker, i int) bool {
		if !w.span(o.StartNs, o.DurNs, i) {
			return false
		}
		o.Thread[i], o.Name[i] = w.thread(2), w.named(3)
		o.Return[i], o.Class[i] = w.i64(4, 0), w.u32(5, 0)
		if o.Stack != nil {
			o.Stack[i] = w.stack(stacks, 6)
		}
		return true
	}})
}

func (r *reading) libCalls() {
	l := &r.trace.LibCalls
	alloc := func(n int, _ func(int) bool) { grow(n, &l.StartNs, &l.DurNs, &l.Thread, &l.Name, &l.Library) }
	var sources []source
	for _, lib := range []struct{ table, name string }{{"CUDNN_EVENTS", "cuDNN"}, {"CUBLAS_EVENTS", "cuBLAS"}} {
		library := r.trace.Strings.Intern(lib.name)
		sources = append(sources, source{lib.table, []string{"start", "end", "globalTid", "nameId"},
			func(w *worker, i int) bool {
				if !w.span(l.StartNs, l.DurNs, i) {
					return false
				}
				l.Thread[i], l.Name[i], l.Library[i] = w.thread(2), w.named(3), library
				return true
			}})
	}
	r.scan(l, alloc, sources...)
}

// mpi reads the four kinds of MPI events. A size is what the call sends, or, if its name says so, receives.
func (r *reading) mpi() {
	m := &r.trace.MPI
	alloc := func(n int, _ func(int) bool) {
		grow(n, &m.StartNs, &m.DurNs, &m.Thread, &m.Name, &m.Table, &m.Rank, &m.Peer, &m.Tag, &m.SendBytes,
			&m.RecvBytes, &m.Comm)
	}
	ranks := r.ranks()
	var sources []source
	for _, kind := range []struct{ table, name, peer string }{
		{"MPI_P2P_EVENTS", "p2p", "remoteRank"},
		{"MPI_COLLECTIVES_EVENTS", "collective", "rootRank"},
		{"MPI_START_WAIT_EVENTS", "start_wait", ""},
		{"MPI_OTHER_EVENTS", "other", ""},
	} {
		table := r.trace.Strings.Intern(kind.name)
		columns := []string{"start", "end", "globalTid", "textId", kind.peer, "tag", "size", "recvSize", "commHandle"}
		sources = append(sources, source{kind.table, columns, func(w *worker, i int) bool {
			if !w.span(m.StartNs, m.DurNs, i) {
				return false
			}
			m.Thread[i], m.Name[i], m.Table[i], m.Rank[i] = w.thread(2), w.named(3), table, -1
			if tid, ok := w.int(2); ok {
				if rank, ok := ranks[tid&processMask]; ok {
					m.Rank[i] = rank
				}
			}
			m.Peer[i], m.Tag[i], m.Comm[i] = w.i32(4, -1), w.i64(5, model.NoTag), uint64(w.i64(8, 0))
			m.SendBytes[i], m.RecvBytes[i] = w.i64(6, -1), w.i64(7, -1)
			if name := r.trace.Strings.Text(m.Name[i]); kind.name == "p2p" &&
				strings.Contains(strings.ToLower(name), "recv") && !strings.Contains(strings.ToLower(name), "send") {
				m.SendBytes[i], m.RecvBytes[i] = -1, m.SendBytes[i]
			}
			return true
		}})
	}
	r.scan(m, alloc, sources...)
}

// ranks is the MPI rank of each process, by globalPid.
func (r *reading) ranks() map[int64]int32 {
	out := make(map[int64]int32)
	r.each("MPI_RANKS", []string{"globalTid", "rank"}, func(row *sqlite.Row) {
		tid, ok := row.Int(0)
		rank, is := row.Int(1)
		if ok && is && rank >= 0 && rank < 1<<31 {
			out[tid&processMask] = int32(rank)
		}
	})
	return out
}

func (r *reading) openACC() {
	o := &r.trace.OpenACC
	alloc := func(n int, _ func(int) bool) {
		grow(n, &o.StartNs, &o.DurNs, &o.Thread, &o.Name, &o.Table, &o.File, &o.Func, &o.Line, &o.Var, &o.Kernel,
			&o.Bytes, &o.Device)
	}
	columns := []string{"start", "end", "globalTid", "nameId", "srcFile", "funcName", "lineNo", "varName",
		"kernelName", "bytes", "cuDeviceId"}
	var sources []source
	for _, kind := range []string{"data", "launch", "other"} {
		table := r.trace.Strings.Intern(kind)
		sources = append(sources, source{"CUPTI_ACTIVITY_KIND_OPENACC_" + strings.ToUpper(kind), columns,
			func(w *worker, i int) bool {
				if !w.span(o.StartNs, o.DurNs, i) {
					return false
				}
				o.Thread[i], o.Name[i], o.Table[i] = w.thread(2), w.named(3), table
				o.File[i], o.Func[i], o.Line[i] = w.named(4), w.named(5), w.i32(6, 0)
				o.Var[i], o.Kernel[i] = w.named(7), w.named(8)
				o.Bytes[i], o.Device[i] = w.i64(9, 0), w.u32(10, model.NoDevice)
				return true
			}})
	}
	r.scan(o, alloc, sources...)
}

// openMP reads every table of OpenMP events: each kind has its own.
func (r *reading) openMP() {
	o := &r.trace.OpenMP
	alloc := func(n int, _ func(int) bool) { grow(n, &o.StartNs, &o.DurNs, &o.Thread, &o.Name, &o.Table) }
	var sources []source
	for _, t := range r.db.Tables {
		kind, ok := strings.CutPrefix(t.Name, "OPENMP_EVENT_KIND_")
		if !ok {
			continue
		}
		table := r.trace.Strings.Intern(strings.ToLower(kind))
		sources = append(sources, source{t.Name, []string{"start", "end", "globalTid", "nameId"},
			func(w *worker, i int) bool {
				if !w.span(o.StartNs, o.DurNs, i) {
					return false
				}
				o.Thread[i], o.Name[i], o.Table[i] = w.thread(2), w.named(3), table
				return true
			}})
	}
	r.scan(o, alloc, sources...)
}

func (r *reading) overheads() {
	o := &r.trace.Overheads
	alloc := func(n int, _ func(int) bool) { grow(n, &o.StartNs, &o.DurNs, &o.Thread, &o.Name) }
	columns := []string{"start", "end", "globalTid", "nameId"}
	row := func(w *worker, i int) bool {
		if !w.span(o.StartNs, o.DurNs, i) {
			return false
		}
		o.Thread[i], o.Name[i] = w.thread(2), w.named(3)
		return true
	}
	r.scan(o, alloc, source{"PROFILER_OVERHEAD", columns, row}, source{"CUPTI_ACTIVITY_KIND_OVERHEAD", columns, row})
}

func (r *reading) diagnostics() {
	d := &r.trace.Diagnostics
	sources := r.labels("ENUM_DIAGNOSTIC_SOURCE_TYPE")
	alloc := func(n int, _ func(int) bool) { grow(n, &d.TimeNs, &d.Severity, &d.Source, &d.Text) }
	r.scan(d, alloc, source{"DIAGNOSTIC_EVENT", []string{"timestamp", "severity", "source", "text"},
		func(w *worker, i int) bool {
			t, ok := w.time(0)
			if !ok {
				return false
			}
			d.TimeNs[i], d.Severity[i], d.Text[i] = t, w.u8(1), w.text(3)
			d.Source[i] = sources[w.i64(2, -1)]
			if text := string(w.row.Bytes(3)); saysDropped(text) {
				w.losses.Add(model.LossDropped, 1, text)
			}
			return true
		}})
}

// saysDropped is whether a diagnostic says that records are gone. "Not all CUDA events might have been
// collected" does not: nsys says so of nearly every capture that it was told to stop.
func saysDropped(text string) bool {
	text = strings.ToLower(text)
	for _, word := range []string{"dropped", "were lost", "events lost", "lost events", "discarded",
		"buffer overflow"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

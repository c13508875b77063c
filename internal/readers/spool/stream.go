package spool

import (
	"cmp"
	"fmt"
	"path"
	"strconv"

	raw "lacuna/internal/capture/spool"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/nccl"
)

// A stream is what one process wrote. What must be known whole before it can be told is gathered here.
type stream struct {
	from     *raw.Process
	recorder bool
	process  model.ProcessRow // of an agent; NoProcess: the recorder's stream
	texts    texts
	rows     map[string]span // the stream's rows of each of the trace's tables that it has any of; nil: it has none

	threads    map[uint32]model.ThreadRow // by tid
	lastTid    uint32
	lastThread model.ThreadRow

	clocks      []raw.Clock
	gpuOffset   offset
	monoOffset  offset
	windows     []raw.Window
	devices     []raw.Device
	contexts    []raw.Context
	cudaStreams []raw.Stream
	ordinals    map[uint32]uint32 // our numbers of devices, by the process' own, where they differ
	domains     []raw.Domain
	named       []raw.Thread
	kernels     int64 // in the file, read or not; whole graphs count as one
	nvtxRows    []nvtxRow
	members     []nccl.Member         // of NCCL's communicators, as they were made
	payloads    map[uint32]bool       // texts of payloads that were looked at for members
	syncIDs     map[uint64]uint32     // ours by the file's
	kernelNames map[uint32]kernelName // by the text's ID
	frameRows   map[uint32]model.FrameRow
	trackRows   map[uint32]uint32

	account raw.Account // the last
	notes   []note
	ended   bool // it said so
}

// A span is the rows [From, To) of a table.
type span struct{ From, To int }

// begin starts a stream, and its process.
func (r *reading) begin(p *raw.Process) {
	s := &stream{
		from: p, recorder: p.Begin.Role == raw.RoleRecorder, process: model.NoProcess,
		threads: make(map[uint32]model.ThreadRow), syncIDs: make(map[uint64]uint32),
		kernelNames: make(map[uint32]kernelName),
		frameRows:   make(map[uint32]model.FrameRow), trackRows: make(map[uint32]uint32),
	}
	r.endStream()
	r.streams = append(r.streams, s)
	if s.recorder {
		return
	}
	s.process = model.ProcessRow(len(r.trace.Processes))
	r.trace.Processes = append(r.trace.Processes, model.Process{Pid: p.Begin.Pid, Name: programOf(&p.Begin), Rank: -1})
}

// beginRows says where a stream's rows begin, at its first.
func (r *reading) beginRows(s *stream) {
	s.rows = make(map[string]span)
	for _, t := range r.trace.Tables() {
		s.rows[t.Name] = span{From: t.Len()}
	}
}

// endRows says where they end. Tables of which it has none have no span.
func (r *reading) endRows(s *stream) {
	for _, t := range r.trace.Tables() {
		if rows := (span{s.rows[t.Name].From, t.Len()}); rows.To > rows.From {
			s.rows[t.Name] = rows
		} else {
			delete(s.rows, t.Name)
		}
	}
}

// programOf is what a process runs, without its arguments.
func programOf(b *raw.Begin) string {
	exe := b.Exe
	if exe == "" && len(b.Command) > 0 {
		exe = b.Command[0]
	}
	if exe == "" {
		return ""
	}
	return path.Base(exe)
}

// name is how messages call a process.
func (s *stream) name() string {
	b := &s.from.Begin
	switch {
	case b.Role == "":
		return "a process whose beginning is damaged"
	case programOf(b) == "":
		return fmt.Sprintf("process %d", b.Pid)
	}
	return fmt.Sprintf("process %d (%s)", b.Pid, programOf(b))
}

// number32 is a number of an environment's variable that counts from 0; -1: it is none.
func number32(s string) (int32, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return -1, false
	}
	return int32(n), true
}

// thread is the row of a thread of the stream's process.
func (r *reading) thread(s *stream, tid uint32) model.ThreadRow {
	if tid == s.lastTid && len(s.threads) > 0 {
		return s.lastThread
	}
	row, ok := s.threads[tid]
	if !ok {
		row = model.ThreadRow(len(r.trace.Threads))
		s.threads[tid] = row
		r.trace.Threads = append(r.trace.Threads, model.Thread{Process: s.process, Tid: int64(tid),
			Priority: model.NoPriority})
	}
	s.lastTid, s.lastThread = tid, row
	return row
}

// count keeps the last account: each counts since the stream began.
func (s *stream) count(rows []raw.Account) {
	for _, a := range rows {
		if cmp.Compare(a.Records, s.account.Records) >= 0 || a.Time >= s.account.Time {
			s.account = a
		}
	}
}

// texts is the trace's ID of each text of a stream.
type texts struct {
	dense  []model.StringID // by ID; the stream counts from 1
	sparse map[uint32]model.StringID
}

// set keeps what a text is.
func (t *texts) set(id uint32, s model.StringID) {
	if len(t.dense) == 0 {
		t.dense = []model.StringID{0}
	}
	switch {
	case int64(id) < int64(len(t.dense)):
		t.dense[id] = s
	case int64(id) == int64(len(t.dense)):
		t.dense = append(t.dense, s)
	default:
		if t.sparse == nil {
			t.sparse = make(map[uint32]model.StringID)
		}
		t.sparse[id] = s
	}
}

// id is a text of the file; ok false: it was lost.
func (t *texts) id(id uint32) (s model.StringID, ok bool) {
	if id == 0 {
		return 0, true
	}
	if int64(id) < int64(len(t.dense)) {
		return t.dense[id], true
	}
	s, ok = t.sparse[id]
	return s, ok
}

// lostName stands for a name whose text was lost with a damaged chunk.
const lostName = "(name lost)"

// text is the trace's ID of a text of the stream.
func (r *reading) text(s *stream, id uint32) model.StringID {
	t, ok := s.texts.id(id)
	if !ok {
		return r.trace.Strings.Intern(lostName)
	}
	return t
}

// string is a text of the stream.
func (r *reading) string(s *stream, id raw.Text) string {
	return r.trace.Strings.Text(r.text(s, uint32(id)))
}

package nsys

import (
	"lacuna/internal/base/sqlite"
	"lacuna/internal/timeline/model"
)

// processMask takes a globalTid to its globalPid; pidOf and tidOf take the parts out. From high to low:
// hardware (8 bits), virtual machine (8), process (24), thread (24).
const processMask = ^int64(1<<24 - 1)

func pidOf(global int64) int64 { return global >> 24 & (1<<24 - 1) }
func tidOf(global int64) int64 { return global & (1<<24 - 1) }

// globalPid is the inverse: some tables give the parts.
func globalPid(hw, vm, pid int64) int64 { return hw<<56 | vm<<48 | pid<<24 }

// A registry numbers the processes or threads that rows name.
type registry map[int64]uint32

// process is the row of a process, by globalPid.
func (r *reading) process(id int64) model.ProcessRow {
	row, ok := r.procs[id]
	if !ok {
		row = uint32(len(r.trace.Processes))
		r.procs[id] = row
		r.trace.Processes = append(r.trace.Processes, model.Process{Pid: pidOf(id), Rank: -1})
	}
	return model.ProcessRow(row)
}

// thread is the row of a thread, by globalTid.
func (r *reading) thread(id int64) model.ThreadRow {
	row, ok := r.threads[id]
	if !ok {
		row = uint32(len(r.trace.Threads))
		r.threads[id] = row
		r.trace.Threads = append(r.trace.Threads, model.Thread{Process: r.process(id & processMask), Tid: tidOf(id),
			Priority: model.NoPriority})
	}
	return model.ThreadRow(row)
}

// texts is StringIds: the trace's ID by the file's.
type texts struct {
	dense  []model.StringID // by id, up to the first gap
	sparse map[int64]model.StringID
}

func (t *texts) id(id int64) (model.StringID, bool) {
	if uint64(id) < uint64(len(t.dense)) {
		return t.dense[id], true
	}
	s, ok := t.sparse[id]
	return s, ok
}

// strings reads StringIds. IDs of the trace rise with the file's, two with the same text aside.
func (r *reading) strings() {
	t := &r.texts
	r.each("StringIds", []string{"id", "value"}, func(row *sqlite.Row) {
		id, ok := row.Int(0)
		if !ok {
			return
		}
		s := r.trace.Strings.InternBytes(row.Bytes(1))
		// ids are dense from 0 in an export as nsys writes it
		if id == int64(len(t.dense)) {
			t.dense = append(t.dense, s)
			return
		}
		if t.sparse == nil {
			t.sparse = make(map[int64]model.StringID)
		}
		t.sparse[id] = s
	})
}

// string is the text of an id of StringIds in a row of a small table.
func (r *reading) string(row *sqlite.Row, column int) string {
	id, ok := row.Int(column)
	if !ok {
		return ""
	}
	s, _ := r.texts.id(id)
	return r.trace.Strings.Text(s)
}

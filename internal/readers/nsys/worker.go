package nsys

import (
	"fmt"
	"math"

	"lacuna/internal/base/sqlite"
	"lacuna/internal/timeline/model"
)

// A worker scans one part of a table. Its methods read the current row by slot, the place in
// source.columns. A value of the wrong type or size is counted as a loss and read as absent.
type worker struct {
	r      *reading
	source source
	table  *sqlite.Table
	plan   *sqlite.Plan
	first  int // place of the part's first row
	row    *sqlite.Row

	kept   int
	rows   int64
	damage sqlite.Damage
	losses model.Ledger

	lastTid, lastPid     int64 // the ids that were met last, and their numbers
	lastThread, lastProc uint32
	threadIDs, procIDs   []int64 // in the order met
	threadNum, procNum   map[int64]uint32
	threadRows, procRows []uint32 // rows of the trace, by number
	own                  model.Strings
	textIDs              []model.StringID // IDs of the trace, by own's
	aside                any              // what a source collects besides its columns
}

// ownText marks a StringID of the part's own texts until settle.
const ownText = model.StringID(1 << 31)

func (w *worker) scan() {
	w.damage, _ = w.plan.Scan(w.r.ctx, func(row *sqlite.Row) {
		w.row = row
		w.rows++
		if w.source.row(w, w.first+w.kept) {
			w.kept++
		}
	})
	w.row = nil
}

// adopt numbers what the part met for the whole trace.
func (w *worker) adopt() {
	w.procRows = make([]uint32, len(w.procIDs))
	for i, id := range w.procIDs {
		w.procRows[i] = uint32(w.r.process(id))
	}
	w.threadRows = make([]uint32, len(w.threadIDs))
	for i, id := range w.threadIDs {
		w.threadRows[i] = uint32(w.r.thread(id))
	}
	if w.own.Len() > 1 {
		w.textIDs = w.r.trace.Strings.Adopt(&w.own)
	}
}

// lose counts a loss of the current row; slot -1 is the row as a whole.
func (w *worker) lose(code model.LossCode, slot int, what string) {
	if w.losses.Count(code) > 0 {
		w.losses.Add(code, 1, "")
		return
	}
	column := ""
	if slot >= 0 {
		column = "." + w.source.columns[slot]
	}
	w.losses.Add(code, 1, fmt.Sprintf("%s%s, row %d: %s", w.table.Name, column, w.row.RowID, what))
}

// whole is the integer in a float that has no fraction.
func (w *worker) whole(slot int) (int64, bool) {
	f, ok := w.row.Float(slot)
	return int64(f), ok && f == math.Trunc(f) && math.Abs(f) < 1<<62
}

// odd is the integer in a value that is none, if it is a whole number after all; else it is counted, unless it is NULL.
func (w *worker) odd(slot int) (int64, bool) {
	v, ok := w.whole(slot)
	if k := w.row.Kind(slot); !ok && k != sqlite.Null {
		w.lose(model.LossWidth, slot, "holds "+k.String())
	}
	return v, ok
}

// int is an integer, and whether there is one.
func (w *worker) int(slot int) (int64, bool) {
	if v, ok := w.row.Int(slot); ok {
		return v, true
	}
	return w.odd(slot)
}

// i64 is an integer, or absent.
func (w *worker) i64(slot int, absent int64) int64 {
	if v, ok := w.int(slot); ok {
		return v
	}
	return absent
}

// within is an integer from low to high, or absent.
func within[T ~uint8 | ~uint16 | ~uint32 | ~int32](w *worker, slot int, low, high int64, absent T) T {
	v, ok := w.row.Int(slot)
	if ok && v >= low && v <= high {
		return T(v)
	}
	if !ok {
		if v, ok = w.odd(slot); !ok {
			return absent
		}
	}
	if v < low || v > high {
		w.lose(model.LossWidth, slot, fmt.Sprintf("holds %d", v))
		return absent
	}
	return T(v)
}

func (w *worker) u32(slot int, absent uint32) uint32 {
	return within(w, slot, 0, math.MaxUint32, absent)
}

func (w *worker) i32(slot int, absent int32) int32 {
	return within(w, slot, math.MinInt32, math.MaxInt32, absent)
}

func (w *worker) u16(slot int) uint16 { return within[uint16](w, slot, 0, math.MaxUint16, 0) }

func (w *worker) u8(slot int) uint8 { return within[uint8](w, slot, 0, math.MaxUint8, 0) }

// corr is a correlation ID; 0 is none.
func (w *worker) corr(slot int) uint32 {
	if v := w.u32(slot, 0); v != 0 {
		return v
	}
	return model.NoCorr
}

// maxNs bounds times to what can be added and subtracted: 73 years on either side of the session's start.
const maxNs = 1 << 61

// time is a time stamp; without one, a row cannot be kept.
func (w *worker) time(slot int) (int64, bool) {
	v, ok := w.row.Int(slot)
	if !ok {
		if v, ok = w.whole(slot); !ok {
			w.lose(model.LossBadTime, slot, "is "+w.row.Kind(slot).String())
			return 0, false
		}
	}
	if v < -maxNs || v > maxNs {
		w.lose(model.LossBadTime, slot, fmt.Sprintf("is %d ns", v))
		return 0, false
	}
	return v, true
}

// span puts start and end, which are slots 0 and 1, at place i.
func (w *worker) span(startNs, durNs []int64, i int) bool {
	start, ok := w.time(0)
	if !ok {
		return false
	}
	startNs[i], durNs[i] = start, 0
	if w.row.Kind(1) == sqlite.Null && !w.table.Has(w.source.columns[1]) {
		return true // a table of instants
	}
	end, ok := w.time(1)
	if !ok {
		return true
	}
	if end < start {
		w.lose(model.LossNegative, 1, fmt.Sprintf("is %d ns before start", start-end))
		return true
	}
	durNs[i] = end - start
	return true
}

// thread is the number of a thread within the part.
func (w *worker) thread(slot int) model.ThreadRow {
	tid, ok := w.int(slot)
	if !ok {
		return model.NoThread
	}
	if tid != w.lastTid || w.threadNum == nil {
		w.lastTid, w.lastThread = tid, number(&w.threadNum, &w.threadIDs, tid)
	}
	return model.ThreadRow(w.lastThread)
}

// process is the number of a process within the part.
func (w *worker) process(slot int) model.ProcessRow {
	pid, ok := w.int(slot)
	if !ok {
		return model.NoProcess
	}
	if pid != w.lastPid || w.procNum == nil {
		w.lastPid, w.lastProc = pid, number(&w.procNum, &w.procIDs, pid&processMask)
	}
	return model.ProcessRow(w.lastProc)
}

func number(nums *map[int64]uint32, ids *[]int64, id int64) uint32 {
	n, ok := (*nums)[id]
	if !ok {
		if *nums == nil {
			*nums = make(map[int64]uint32)
		}
		n = uint32(len(*ids))
		(*nums)[id] = n
		*ids = append(*ids, id)
	}
	return n
}

// named is the text that an ID of StringIds stands for.
func (w *worker) named(slot int) model.StringID {
	id, ok := w.row.Int(slot)
	if !ok {
		if id, ok = w.odd(slot); !ok {
			return 0
		}
	}
	s, ok := w.r.texts.id(id)
	if !ok {
		w.lose(model.LossWidth, slot, fmt.Sprintf("names string %d, which is not there", id))
	}
	return s
}

// text is a text that stands in the row itself.
func (w *worker) text(slot int) model.StringID {
	if b := w.row.Bytes(slot); len(b) > 0 {
		return w.own.InternBytes(b) | ownText
	}
	return 0
}

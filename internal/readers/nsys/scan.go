package nsys

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lacuna/internal/base/sqlite"
	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
)

// reading is one file being read.
type reading struct {
	ctx     context.Context
	db      *sqlite.DB
	opt     reader.Options
	trace   *model.Trace
	texts   texts
	procs   registry // by globalPid: rows of Trace.Processes
	threads registry // by globalTid: rows of Trace.Threads
	stacks  map[string]map[int64]model.FrameRow
	frames  map[frame]model.FrameRow
	err     error                  // why reading stopped: the context's
	damaged map[*sqlite.Table]bool // could not be read whole
	met     map[*sqlite.Table]bool // was read
	skipped map[*sqlite.Table]model.Parts
	pages   atomic.Int64

	unwanted model.Parts // the parts that the section belongs to, if nobody wants them
}

// A source is a table to scan and what to do with its rows.
type source struct {
	table   string
	columns []string

	// row puts the worker's current row at place i of the columns that alloc made, and says whether to
	// keep it. It runs on several goroutines, each with its own worker and its own range of places.
	row func(w *worker, i int) bool
}

// scan fills the columns of dst, a pointer to a table of the model, from sources, one below the other. alloc makes
// room for n rows in the columns that are wanted; slots that no source has are for it to leave nil. dst may be nil,
// for a scan that keeps nothing. The workers come back in the order of the rows.
//
//  1. Plan every source, cut the plans into parts, and give each part its places: as many as it can have rows.
//  2. Scan the parts in parallel. Threads, processes and new texts are numbered within the part.
//  3. Close the gaps that parts with fewer rows left, and renumber.
//
// Of a part that is not wanted it only counts the rows, as far as the inner pages tell them.
func (r *reading) scan(dst any, alloc func(n int, has func(slot int) bool), sources ...source) []*worker {
	if r.unwanted != 0 {
		for _, s := range sources {
			r.leave(s.table)
		}
		return nil
	}
	var workers []*worker
	total := 0
	has := make(map[int]bool)
	for _, s := range sources {
		table := r.db.Table(s.table)
		if table == nil {
			continue
		}
		r.met[table] = true
		for slot, name := range s.columns {
			has[slot] = has[slot] || table.Has(name)
		}
		plan := r.db.Plan(table, s.columns...)
		for _, part := range plan.Split(min(4*runtime.GOMAXPROCS(0), 1+plan.Pages()/minPages)) {
			w := &worker{r: r, source: s, table: table, plan: part, first: total}
			total += part.MaxRows()
			workers = append(workers, w)
		}
	}
	if len(workers) == 0 || r.err != nil {
		return nil
	}
	alloc(total, func(slot int) bool { return has[slot] })
	r.run(workers)
	r.report(workers)
	for _, w := range workers {
		w.adopt()
	}
	if dst != nil {
		settle(model.TableOf(dst), workers)
	}
	return workers
}

// minPages is the least work that is worth a goroutine.
const minPages = 64

// run scans all parts, on as many goroutines as there are processors.
func (r *reading) run(workers []*worker) {
	stop := r.progress()
	defer stop()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(workers), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(workers); i = next.Add(1) - 1 {
				workers[i].scan()
				r.pages.Add(int64(workers[i].plan.Pages()))
			}
		})
	}
	wg.Wait()
	if r.err == nil {
		r.err = r.ctx.Err()
	}
}

// progress tells how far reading is, until the function it returns is called.
func (r *reading) progress() (stop func()) {
	if r.opt.Progress == nil {
		return func() {}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	total := r.db.Bytes()
	tell := func() { r.opt.Progress(min(r.pages.Load()*r.db.PageBytes(), total), total) }
	wg.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				tell()
			case <-done:
				return
			}
		}
	})
	return func() { close(done); wg.Wait(); tell() }
}

// report adds the workers' losses and counts to the trace's, in order.
func (r *reading) report(workers []*worker) {
	for i := 0; i < len(workers); {
		var damage sqlite.Damage
		rows, table := int64(0), workers[i].table
		for ; i < len(workers) && workers[i].table == table; i++ {
			damage.Merge(workers[i].damage)
			rows += workers[i].rows
			r.trace.Losses.Merge(&workers[i].losses)
		}
		if !strings.HasSuffix(table.Name, "_CALLCHAINS") { // parts of events
			r.trace.Info.Events += rows
		}
		r.tell(table, damage, rows)
	}
}

// tell counts what of a table could not be read.
func (r *reading) tell(table *sqlite.Table, damage sqlite.Damage, rows int64) {
	if damage.Pages > 0 && !r.damaged[table] { // a table can be read twice
		r.damaged[table] = true
		r.trace.Losses.Add(model.LossUnreadableTable, int64(damage.Pages),
			fmt.Sprintf("%s: %v; %d rows could be read", table.Name, damage.First, rows))
	}
}

// settle moves the rows of the parts together, cuts the columns to what was kept, and turns the numbers of parts into
// rows of the trace.
func settle(table model.Table, workers []*worker) {
	for _, c := range table.Columns {
		if c.Slice.Len() == 0 {
			continue
		}
		n := 0
		for _, w := range workers {
			part := c.Slice.Slice(w.first, w.first+w.kept)
			switch rows := part.Interface().(type) {
			case []model.ThreadRow:
				renumber(rows, w.threadRows)
			case []model.ProcessRow:
				renumber(rows, w.procRows)
			case []model.StringID:
				if w.own.Len() > 1 {
					for i, id := range rows {
						if id&ownText != 0 {
							rows[i] = w.textIDs[id&^ownText]
						}
					}
				}
			}
			if n != w.first {
				reflect.Copy(c.Slice.Slice(n, n+w.kept), part)
			}
			n += w.kept
		}
		c.Slice.Set(c.Slice.Slice3(0, n, n))
	}
}

// renumber replaces a part's numbers by rows; the absent value stays.
func renumber[T ~uint32](rows []T, to []uint32) {
	for i, v := range rows {
		if int(v) < len(to) {
			rows[i] = T(to[v])
		}
	}
}

// grow makes each of columns, pointers to slices, n rows long.
func grow(n int, columns ...any) {
	for _, c := range columns {
		s := reflect.ValueOf(c).Elem()
		s.Set(reflect.MakeSlice(s.Type(), n, n))
	}
}

// each scans a small table without filling columns: f is called for its rows in order, on this goroutine.
func (r *reading) each(table string, columns []string, f func(row *sqlite.Row)) {
	t := r.db.Table(table)
	if t == nil || r.err != nil {
		return
	}
	if r.unwanted != 0 {
		r.leave(table)
		return
	}
	r.met[t] = true
	rows := int64(0)
	damage, err := r.db.Plan(t, columns...).Scan(r.ctx, func(row *sqlite.Row) { rows++; f(row) })
	r.err = err
	r.tell(t, damage, rows)
}

package spool

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lacuna/internal/base/interval"
	raw "lacuna/internal/capture/spool"
	"lacuna/internal/timeline/model"
)

const (
	// lossNoKernel is launches of which no kernel was recorded, by the agent's account.
	lossNoKernel model.LossCode = "launch-without-kernel"
	// noticeShare is the share of records from which a loss is worth a sentence; fewer change no answer.
	noticeShare = 0.01
)

func (r *reading) warn(text string) { r.trace.Warnings = append(r.trace.Warnings, text) }

func (r *reading) meta(key, value string) {
	if value != "" {
		r.trace.Info.Meta = append(r.trace.Info.Meta, model.KeyValue{Key: key, Value: value})
	}
}

// endStream makes of a stream what needs all of it.
func (r *reading) endStream() {
	if len(r.streams) == 0 {
		return
	}
	s := r.streams[len(r.streams)-1]
	if s.rows == nil {
		return
	}
	r.endRows(s)
	r.gpuTimes(s)
	r.ownCorrs(s)
	calls := r.indexCalls(s.rows["Calls"])
	r.dropNested(s.rows["Calls"], calls)
	r.eventTimes(s.rows["EventRecords"], calls)
	r.recorded(s.rows["Syncs"], s.rows["EventRecords"], calls)
	r.ranges(s)
	r.nameThreads(s)
}

// finish makes the trace of all streams.
func (r *reading) finish(lost raw.Lost) {
	r.endStream()
	r.info()
	r.accounts()
	r.scanned(lost)
	r.meet()
	r.places()
	r.trackDevices()
	r.monoTimes()
	r.windows()
	r.withoutNested()
	r.withoutTime()
	r.setEpoch()
	r.clockWords()
	r.noteWords()
	r.passedWords()
	if r.trace.Info.Graphs = model.GraphsByNode; r.trace.GraphRuns.Len() > 0 {
		r.trace.Info.Graphs = model.GraphsWhole
	}
	r.trace.Finish()
	r.collectives()
}

// info says where the capture comes from: by the recorder's stream what was run, by the first process with kernels
// the rest.
func (r *reading) info() {
	info := &r.trace.Info
	info.Producer, info.Schema, info.Rank = "lacuna record", fmt.Sprint(raw.Format), -1
	chief := r.chief()
	if v := chief.from.Begin.Version; v != "" {
		info.Producer += " " + v
	}
	info.Command = command(chief.from.Begin.Command)
	for _, s := range r.streams {
		b := &s.from.Begin
		if s.recorder && len(b.Command) > 0 {
			info.Command = command(b.Command)
		}
		info.Host = cmp.Or(info.Host, b.Host)
		for _, n := range s.notes {
			if n.Kind == "cupti" && (s == chief || info.CUPTI == 0) {
				info.CUPTI, info.Driver = version(n.Version), version(n.Driver)
			}
			if n.Kind == "host" {
				r.hostWords(n)
			}
		}
	}
	for _, n := range chief.notes {
		if n.Kind == "cupti" {
			r.meta("CUPTI", n.Library)
			r.meta("recorded by CUPTI", strings.Join(n.Kinds, ", "))
			for _, m := range n.Missing {
				r.meta("not recorded by CUPTI", strings.TrimSuffix(m.What+": "+m.Why, ": "))
			}
			break
		}
	}
	r.ranks()
}

// chief is the process that a capture is named after: the first with kernels, or failing that the first.
func (r *reading) chief() *stream {
	for _, s := range r.streams {
		if s.kernels > 0 {
			return s
		}
	}
	for _, s := range r.streams {
		if !s.recorder {
			return s
		}
	}
	return r.streams[0]
}

// command is the program and the script it ran. The rest of a command line can hold passwords.
func command(words []string) string {
	words = words[:min(len(words), 2)]
	if len(words) > 1 && strings.HasPrefix(words[1], "-") {
		words = words[:1]
	}
	return strings.Join(words, " ")
}

func (r *reading) hostWords(n note) {
	if n.CPUs > 0 {
		r.meta("CpuCores", fmt.Sprint(n.CPUs))
		if r.trace.Info.Cores == 0 {
			r.trace.Info.Cores = n.CPUs
		}
	}
	r.meta("kernel", n.Kernel)
	r.meta("samples", n.Perf)
	r.meta("NVML", n.NVML)
}

// accounts holds what the agents counted against what is here.
func (r *reading) accounts() {
	var all raw.Account
	for _, s := range r.streams {
		a := s.account
		all.NVTX, all.NvtxNs, all.Callbacks = all.NVTX+a.NVTX, all.NvtxNs+a.NvtxNs, all.Callbacks+a.Callbacks
		all.CallbackNs, all.WriterNs = all.CallbackNs+a.CallbackNs, all.WriterNs+a.WriterNs
		if n := count(a.Dropped) + count(a.CuptiDropped); n > 0 {
			r.trace.Losses.Add(model.LossDropped, n,
				fmt.Sprintf("%s: %d by CUPTI, %d by the agent", s.name(), a.CuptiDropped, a.Dropped))
			if share := float64(n) / (float64(n) + float64(a.Records)); share > noticeShare {
				r.warn(fmt.Sprintf("%s: %.1f %% of the records were dropped, because they came faster than they "+
					"could be written: GPU time is missing, and idle time is too large by it; give the agent more "+
					"memory (--memory) or record fewer kinds (--kinds)",
					s.name(), 100*share))
			}
		}
		r.trace.Losses.Add(model.LossZeroTime, count(a.Unfinished), fmt.Sprintf("%s: CUPTI gave no end", s.name()))
		if missing := count(a.Launched) - count(a.Kernels); a.Launched > a.Kernels &&
			float64(missing) > noticeShare*float64(a.Launched) && !r.graphs(s) && a.Dropped+a.CuptiDropped == 0 {
			r.trace.Losses.Add(lossNoKernel, missing,
				fmt.Sprintf("%s: %d launches, %d kernels", s.name(), a.Launched, a.Kernels))
		}
	}
	if all.NVTX > 0 && all.NvtxNs > 0 { // 0: so few that none was timed
		r.meta("cost of NVTX", fmt.Sprintf("%.0f ns each of %d events", float64(all.NvtxNs)/float64(all.NVTX),
			all.NVTX))
	}
	if all.Callbacks > 0 && all.CallbackNs > 0 {
		r.meta("cost of callbacks", fmt.Sprintf("%.0f ns each of %d", float64(all.CallbackNs)/float64(all.Callbacks),
			all.Callbacks))
	}
	if all.WriterNs > 0 {
		r.meta("cost of writing", fmt.Sprintf("%.3f s of CPU time", float64(all.WriterNs)/1e9))
	}
}

// count is a number of an account, which a stranger's file can make anything.
func count(n uint64) int64 { return int64(min(n, 1<<61)) }

// graphs says whether a stream has to do with CUDA graphs: a launch that is captured has no kernel.
func (r *reading) graphs(s *stream) bool {
	t := r.trace
	for _, name := range []string{"GraphEvents", "GraphRuns"} {
		if rows := s.rows[name]; rows.To > rows.From {
			return true
		}
	}
	rows := s.rows["Kernels"]
	for _, g := range t.Kernels.Graph[rows.From:rows.To] {
		if g != model.NoGraph {
			return true
		}
	}
	return false
}

// passedWords names the tables that hold rows for which the model has no place.
func (r *reading) passedWords() {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(r.passed)) {
		words = append(words, fmt.Sprintf("%s (%d rows)", name, r.passed[name]))
	}
	r.meta("in the file and not read", strings.Join(words, ", "))
}

// windows says when recording was on, if it was not all the time.
func (r *reading) windows() {
	var spans []interval.Span
	n := 0
	for _, s := range r.streams {
		open := int64(-1)
		for _, w := range s.windows {
			at := int64(min(uint64(w.Time), maxNs))
			switch {
			case w.On != 0 && open < 0:
				open = at
			case w.On == 0 && open >= 0:
				spans = append(spans, interval.Span{StartNs: open, EndNs: max(at, open)})
				open = -1
			}
		}
		if open >= 0 {
			spans = append(spans, interval.Span{StartNs: open, EndNs: max(open, r.lastNs(s))})
		}
		n = max(n, len(s.windows))
	}
	if n > 2 { // on and off: one window is the whole capture
		r.trace.Windows = interval.Union(spans)
	}
}

// lastNs is when a stream last said something with a time.
func (r *reading) lastNs(s *stream) int64 {
	last := int64(min(uint64(s.account.Time), maxNs))
	t := r.trace
	for _, x := range []struct {
		name         string
		startNs, dur []int64
	}{{"Kernels", t.Kernels.StartNs, t.Kernels.DurNs}, {"Calls", t.Calls.StartNs, t.Calls.DurNs}} {
		rows := s.rows[x.name]
		for i := rows.From; i < min(rows.To, len(x.startNs)); i++ {
			last = max(last, x.startNs[i]+x.dur[i])
		}
	}
	return last
}

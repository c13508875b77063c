package nsys

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lacuna/internal/base/sqlite"
	"lacuna/internal/timeline/model"
)

// counters reads sampled metrics of GPUs and network cards. No public capture has them: the tables
// are read as NVIDIA documents them.
func (r *reading) counters() {
	gpu := r.gpuTracks()
	net := r.netTracks()
	c := &r.trace.Counters
	alloc := func(n int, _ func(int) bool) { grow(n, &c.TimeNs, &c.Track, &c.Value) }
	put := func(w *worker, i int, track uint32, ok bool, slot int) bool {
		if !ok {
			w.lose(model.LossUnknownEvent, -1, "is of a metric that has no name")
			return false
		}
		t, ok := w.time(0)
		if !ok {
			return false
		}
		v, isFloat := w.row.Float(slot)
		if !isFloat {
			n, ok := w.int(slot)
			if !ok {
				return false
			}
			v = float64(n)
		}
		c.TimeNs[i], c.Track[i], c.Value[i] = t, track, v
		return true
	}
	r.scan(c, alloc,
		source{"GPU_METRICS", []string{"timestamp", "typeId", "metricId", "value"}, func(w *worker, i int) bool {
			track, ok := gpu[[2]int64{w.i64(1, 0), w.i64(2, 0)}]
			return put(w, i, track, ok, 3)
		}},
		source{"NET_NIC_METRIC", []string{"start", "metricsListId", "metricsIdx", "globalId", "value"},
			func(w *worker, i int) bool {
				track, ok := net[[3]int64{w.i64(1, 0), w.i64(2, 0), w.i64(3, 0)}]
				return put(w, i, track, ok, 4)
			}})
	r.genericMetrics()
	sortCounters(c)
}

// genericMetrics reads GPU metrics as they were stored until 2022: an event holds all of them as JSON,
// {"SM Active": "50", …}, and its type says by way of its source that it is one.
func (r *reading) genericMetrics() {
	source := func(row *sqlite.Row, column int) string {
		var about struct{ Name string }
		_ = json.Unmarshal(row.Bytes(column), &about) // what is no JSON has no name
		return about.Name
	}
	sources, types := make(map[int64]bool), make(map[int64]bool)
	r.each("GENERIC_EVENT_SOURCES", []string{"sourceId", "data"}, func(row *sqlite.Row) {
		id, _ := row.Int(0)
		sources[id] = source(row, 1) == "GpuMetrics"
	})
	r.each("GENERIC_EVENT_TYPES", []string{"typeId", "sourceId"}, func(row *sqlite.Row) {
		id, _ := row.Int(0)
		from, _ := row.Int(1)
		types[id] = sources[from]
	})
	ordinals, c := r.ordinals(), &r.trace.Counters
	type key struct {
		kind int64
		name string
	}
	tracks := make(map[key]uint32)
	r.each("GENERIC_EVENTS", []string{"timestamp", "rawTimestamp", "typeId", "data"}, func(row *sqlite.Row) {
		kind, _ := row.Int(2)
		timeNs, ok := row.Int(0)
		if !ok {
			timeNs, ok = row.Int(1)
		}
		var values map[string]any
		if !types[kind] || !ok || timeNs < -maxNs || timeNs > maxNs || json.Unmarshal(row.Bytes(3), &values) != nil {
			return
		}
		r.trace.Info.Events++
		for _, name := range slices.Sorted(maps.Keys(values)) {
			v, err := strconv.ParseFloat(fmt.Sprint(values[name]), 64)
			if err != nil {
				continue
			}
			track, have := tracks[key{kind, name}]
			if !have && len(tracks) == maxTracks {
				continue
			}
			if !have {
				metric, unit := splitUnit(name)
				track = r.track(model.CounterTrack{Name: metric, Unit: unit, Device: deviceOf(kind, ordinals)})
				tracks[key{kind, name}] = track
			}
			c.TimeNs, c.Track, c.Value = append(c.TimeNs, timeNs), append(c.Track, track), append(c.Value, v)
		}
	})
}

// deviceOf is the CUDA ordinal of the GPU that a typeId is of: nsys' number of it is the low byte.
func deviceOf(kind int64, ordinals map[int64]uint32) uint32 {
	if device, ok := ordinals[kind&0xff]; ok {
		return device
	}
	return uint32(kind & 0xff)
}

// track adds a row of Trace.Tracks.
func (r *reading) track(t model.CounterTrack) uint32 {
	t.Thread = model.NoThread
	r.trace.Tracks = append(r.trace.Tracks, t)
	return uint32(len(r.trace.Tracks) - 1)
}

// gpuTracks makes a track of each metric of each GPU, by typeId and metricId.
func (r *reading) gpuTracks() map[[2]int64]uint32 {
	out := make(map[[2]int64]uint32)
	ordinals := r.ordinals()
	r.each("TARGET_INFO_GPU_METRICS", []string{"typeId", "metricId", "metricName"}, func(row *sqlite.Row) {
		kind, _ := row.Int(0)
		id, ok := row.Int(1)
		key := [2]int64{kind, id}
		if _, have := out[key]; !ok || have {
			return
		}
		name, unit := splitUnit(string(row.Bytes(2)))
		out[key] = r.track(model.CounterTrack{Name: name, Unit: unit, Device: deviceOf(kind, ordinals)})
	})
	return out
}

// netTracks makes a track of each metric of each network card, by metricsListId, metricsIdx and the card's globalId.
func (r *reading) netTracks() map[[3]int64]uint32 {
	out := make(map[[3]int64]uint32)
	cards := make(map[int64]string)
	r.each("TARGET_INFO_NIC_INFO", []string{"nicId", "name"}, func(row *sqlite.Row) {
		id, _ := row.Int(0)
		cards[id] = string(row.Bytes(1))
	})
	var globals [][2]int64
	r.each("NIC_ID_MAP", []string{"nicId", "globalId"}, func(row *sqlite.Row) {
		nic, _ := row.Int(0)
		global, _ := row.Int(1)
		globals = append(globals, [2]int64{nic, global})
	})
	r.each("TARGET_INFO_NETWORK_METRICS", []string{"metricsListId", "metricsIdx", "name", "unit"},
		func(row *sqlite.Row) {
			list, _ := row.Int(0)
			index, _ := row.Int(1)
			name, unit := string(row.Bytes(2)), string(row.Bytes(3))
			for _, g := range globals {
				key := [3]int64{list, index, g[1]}
				if _, have := out[key]; !have && len(out) < maxTracks {
					out[key] = r.track(model.CounterTrack{Name: cards[g[0]] + ": " + name, Unit: unit,
						Device: model.NoDevice})
				}
			}
		})
	return out
}

// maxTracks bounds cards times metrics.
const maxTracks = 1 << 16

// splitUnit takes a metric's unit off its name: "SMs Active [Throughput %]".
func splitUnit(name string) (string, string) {
	if before, after, ok := strings.Cut(name, " ["); ok && strings.HasSuffix(after, "]") {
		return before, strings.TrimSuffix(after, "]")
	}
	return name, ""
}

// sortCounters brings c into its order: by track, then time.
func sortCounters(c *model.Counters) {
	order := make([]uint32, c.Len())
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(c.Track[a], c.Track[b]), cmp.Compare(c.TimeNs[a], c.TimeNs[b]))
	})
	model.Permute(c, order)
}

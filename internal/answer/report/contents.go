package report

import (
	"cmp"
	"slices"
	"time"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// Contents is what `lacuna info` says of one capture: what the file holds, who made it, what it lacks.
type Contents struct {
	Schema     int        `json:"schema"`
	Path       string     `json:"path"`
	Format     string     `json:"format"`
	Producer   string     `json:"producer"`
	FileSchema string     `json:"file_schema"` // version of the file's own format
	Host       string     `json:"host"`
	Command    string     `json:"command"`
	Bytes      int64      `json:"bytes"` // of the file as it lies
	Taken      string     `json:"taken"` // RFC 3339, UTC; "": unknown
	Clock      string     `json:"clock"`
	SpanMs     [2]float64 `json:"span_ms"` // first and last event, since the capture's time 0
	Driver     int        `json:"cuda_driver"`
	Runtime    int        `json:"cuda_runtime"`
	CUPTI      int        `json:"cupti"`
	Rank       *int32     `json:"rank,omitempty"`
	World      int32      `json:"world,omitempty"`
	Backend    string     `json:"backend,omitempty"`

	Devices   []DeviceInfo  `json:"devices"`
	Streams   []StreamInfo  `json:"streams"`
	Processes []ProcessInfo `json:"processes"`
	Domains   []string      `json:"nvtx_domains"`
	Ranges    []NameCount   `json:"ranges"`          // names, most frequent first; at most MaxRangeNames
	Steps     StepsInfo     `json:"steps"`           // of several ranks, the first one's
	Ranks     []RankInfo    `json:"ranks,omitempty"` // of a file that holds several
	Tables    []NameCount   `json:"tables"`          // the tables of the model that have rows
	Missing   []Abstained   `json:"missing"`
	Capture   Capture       `json:"capture"`
	Meta      []NameText    `json:"meta"`
}

// DeviceInfo is a GPU as the file describes it. What is 0 or "" is unknown.
type DeviceInfo struct {
	Ordinal      uint32 `json:"ordinal"`
	Name         string `json:"name"`
	UUID         string `json:"uuid"`
	ComputeMajor int32  `json:"compute_major"`
	ComputeMinor int32  `json:"compute_minor"`
	SMs          int32  `json:"sms"`
	ClockHz      int64  `json:"clock_hz"`
	MemoryBytes  int64  `json:"memory_bytes"`
	BandwidthBps int64  `json:"bandwidth_bps"`
	L2Bytes      int64  `json:"l2_bytes"`
	Used         bool   `json:"used"` // work of it was recorded
}

// StreamInfo counts the work of one stream.
type StreamInfo struct {
	Device uint32 `json:"device"`
	Stream uint32 `json:"stream"`
	Counts [3]int `json:"kernels_copies_sets"` // graphs count as kernels
}

// ProcessInfo is a process that took part.
type ProcessInfo struct {
	Pid     int64  `json:"pid"`
	Name    string `json:"name"`
	Rank    *int32 `json:"rank,omitempty"`
	Threads int    `json:"threads"`
}

// RankInfo is what a file that holds several ranks has of one of them.
type RankInfo struct {
	Rank    int32     `json:"rank"`
	Pids    []int64   `json:"pids"`    // of its processes
	Devices []uint32  `json:"devices"` // that it used
	Counts  [3]int    `json:"kernels_copies_sets"`
	Steps   StepsInfo `json:"steps"`
}

// StepsInfo says which step markers were found.
type StepsInfo struct {
	Source string `json:"source"`
	Marker string `json:"marker"`
	Device int    `json:"device_steps"`
	Host   int    `json:"host_steps"`
}

// NameCount is a name and how often it occurs.
type NameCount struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// NameText is a line of metadata.
type NameText struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// MaxRangeNames is how many names of ranges are listed.
const MaxRangeNames = 20

// ContentsOf describes a capture, of which all parts were read. ranks is what it was taken apart into, or the capture
// itself.
func ContentsOf(f *facts.Facts, ranks []*facts.Facts) (*Contents, error) {
	t := f.Trace
	var all []*one
	for _, rank := range ranks {
		steps, err := rank.Steps()
		if err != nil {
			return nil, err
		}
		all = append(all, &one{f: rank, steps: steps})
	}
	info := &t.Info
	c := &Contents{
		Schema: Schema, Path: info.Path, Format: info.Format, Producer: info.Producer, FileSchema: info.Schema,
		Host:    info.Host,
		Command: info.Command, Bytes: info.Bytes, Clock: t.Epoch.Clock, Driver: info.Driver, Runtime: info.Runtime,
		CUPTI: info.CUPTI,
		World: info.World, Backend: info.Backend,
		Devices: []DeviceInfo{}, Streams: streamsOf(f), Processes: processesOf(t), Domains: domainsOf(t),
		Ranges: rangeNames(f),
		Tables: []NameCount{}, Meta: []NameText{},
	}
	if info.Rank >= 0 {
		rank := info.Rank // a copy, as in InputOf
		c.Rank = &rank
	}
	first, last, any := extent(t)
	if any {
		c.SpanMs = [2]float64{float64(first) / 1e6, float64(last) / 1e6}
		if t.Epoch.UnixNs != 0 {
			c.Taken = time.Unix(0, t.Epoch.UnixNs+first).UTC().Format(time.RFC3339)
		}
	}
	used := f.Devices()
	for _, d := range t.Devices {
		c.Devices = append(c.Devices, DeviceInfo{d.Ordinal, f.DeviceName(d.Ordinal), d.UUID, d.ComputeMajor,
			d.ComputeMinor, d.SMs, d.ClockHz,
			d.MemoryBytes, d.BandwidthBps, d.L2Bytes, slices.Contains(used, d.Ordinal)})
	}
	for _, d := range used {
		if !slices.ContainsFunc(t.Devices, func(x model.Device) bool { return x.Ordinal == d }) {
			c.Devices = append(c.Devices, DeviceInfo{Ordinal: d, Name: f.DeviceName(d), Used: true})
		}
	}
	slices.SortStableFunc(c.Devices, func(a, b DeviceInfo) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	for _, table := range t.Tables() {
		if n := table.Len(); n > 0 {
			c.Tables = append(c.Tables, NameCount{table.Name, n})
		}
	}
	for _, kv := range info.Meta {
		c.Meta = append(c.Meta, NameText{kv.Key, kv.Value})
	}
	c.Steps = all[0].stepsInfo()
	for _, o := range all {
		file, name := inputNames(&o.f.Trace.Info, ranks)
		addCapture(&c.Capture, o, file, name)
		if len(all) > 1 {
			c.Ranks = append(c.Ranks, o.rankInfo())
		}
	}
	c.Missing = abstained(all)
	return c, nil
}

func (o *one) stepsInfo() StepsInfo {
	s := StepsInfo{Source: string(o.steps.Source), Marker: o.steps.Marker, Host: len(o.steps.Host)}
	if o.steps.Device {
		s.Device = len(o.steps.All)
	} else if o.steps.Source != facts.StepsNone {
		s.Host = len(o.steps.All)
	}
	return s
}

func (o *one) rankInfo() RankInfo {
	t := o.f.Trace
	r := RankInfo{Rank: t.Info.Rank, Pids: []int64{}, Devices: append([]uint32{}, o.f.Devices()...),
		Steps: o.stepsInfo()}
	for _, p := range t.Processes {
		if p.Rank == r.Rank {
			r.Pids = append(r.Pids, p.Pid)
		}
	}
	for _, s := range streamsOf(o.f) {
		for i, n := range s.Counts {
			r.Counts[i] += n
		}
	}
	return r
}

// extent is the time of the first and of the last event.
func extent(t *model.Trace) (first, last int64, any bool) {
	see := func(startNs, durNs []int64) {
		for i, s := range startNs {
			end := s
			if i < len(durNs) {
				end += max(durNs[i], 0)
			}
			if !any {
				first, last, any = s, end, true
			}
			first, last = min(first, s), max(last, end)
		}
	}
	for _, a := range []*model.Activity{&t.Kernels.Activity, &t.Copies.Activity, &t.Sets.Activity,
		&t.GraphRuns.Activity} {
		see(a.StartNs, a.DurNs)
	}
	see(t.Calls.StartNs, t.Calls.DurNs)
	see(t.Ops.StartNs, t.Ops.DurNs)
	see(t.Ranges.StartNs, t.Ranges.DurNs)
	see(t.OSCalls.StartNs, t.OSCalls.DurNs)
	see(t.MPI.StartNs, t.MPI.DurNs)
	return first, last, any
}

func streamsOf(f *facts.Facts) []StreamInfo {
	w := f.Work()
	counts := make(map[facts.Lane]*StreamInfo)
	out := []StreamInfo{}
	for i := range w.Len() {
		lane := facts.Lane{Device: w.Device[i], Stream: w.Stream[i]}
		s := counts[lane]
		if s == nil {
			s = &StreamInfo{Device: lane.Device, Stream: lane.Stream}
			counts[lane] = s
		}
		switch w.Kind[i] {
		case facts.WorkCopy:
			s.Counts[1]++
		case facts.WorkSet:
			s.Counts[2]++
		default:
			s.Counts[0]++
		}
	}
	for _, s := range counts {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b StreamInfo) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Stream, b.Stream))
	})
	return out
}

func processesOf(t *model.Trace) []ProcessInfo {
	out := make([]ProcessInfo, len(t.Processes))
	for i, p := range t.Processes {
		out[i] = ProcessInfo{Pid: p.Pid, Name: p.Name}
		if p.Rank >= 0 {
			rank := p.Rank
			out[i].Rank = &rank
		}
	}
	for _, th := range t.Threads {
		if int(th.Process) < len(out) {
			out[th.Process].Threads++
		}
	}
	return out
}

func domainsOf(t *model.Trace) []string {
	out := []string{}
	for _, d := range t.Domains {
		if d.Name != "" {
			out = append(out, d.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// rangeNames is the most frequent names of ranges.
func rangeNames(f *facts.Facts) []NameCount {
	t := f.Trace
	counts := make([]int, t.Strings.Len())
	names := f.RangeNames()
	for _, id := range t.Ranges.Name {
		counts[names[id]]++
	}
	out := []NameCount{}
	for id, n := range counts {
		if n > 0 && id > 0 {
			out = append(out, NameCount{f.NameText(model.StringID(id)), n})
		}
	}
	slices.SortFunc(out, func(a, b NameCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), MaxRangeNames)]
}

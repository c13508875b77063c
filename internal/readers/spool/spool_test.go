package spool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	raw "lacuna/internal/capture/spool"
	"lacuna/internal/reader"
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/model"
)

// TestLoop reads a training loop: what of it is in the trace, and where.
func TestLoop(t *testing.T) {
	file := append(training(t, 40, 3, map[string]string{"RANK": "2", "WORLD_SIZE": "8"}),
		recorder(t, 40, 10_000_000)...)
	x := readBytes(t, file, reader.Options{})
	text := x.Strings.Text
	info := x.Info
	if info.Producer != "lacuna record 0.1.0" || info.Schema != "1" || info.Host != "node7" || info.CUPTI != 130000 ||
		info.Driver != 13000 ||
		info.Cores != 8 || info.Graphs != model.GraphsByNode ||
		info.Rank != 2 || info.World != 8 || info.Command != "python train.py" || info.Format != "spool" {
		t.Errorf("info %+v", info)
	}
	if x.Epoch.UnixNs != began-1_000_000 || x.Losses.All() != nil && len(x.Losses.All()) > 0 || len(x.Warnings) > 0 {
		t.Errorf("epoch %+v, losses %+v, warnings %q", x.Epoch, x.Losses.All(), x.Warnings)
	}
	k := &x.Kernels
	if n := k.Len(); n != 3*40+3 {
		t.Fatalf("%d kernels", n)
	}
	if text(k.Name[0]) != "void gemm_tile<128, 64>(float const*, float const*, float*, int)" &&
		text(k.Name[0]) != "gemm_tile<128, 64>(float const*, float const*, float*, int)" ||
		text(k.Short[0]) != "gemm_tile" || text(k.Mangled[0]) != gemm || text(k.Name[1]) != "triton_poi_fused_add_0" {
		t.Errorf("names %q %q %q", text(k.Name[0]), text(k.Short[0]), text(k.Mangled[0]))
	}
	if k.GridX[0] != 132 || k.GridY[0] != 2 || k.BlockX[0] != 256 || k.Registers[0] != 64 ||
		k.StaticShared[0] != 1024 || k.DynShared[0] != 2048 || k.LocalBytes[0] != 77 || k.Stream[0] != 7 {
		t.Error("the launch configuration is another")
	}
	if last := k.Len() - 1; k.Graph[last] != 3 || k.GraphNode[last] != 3<<32+2 || k.Graph[0] != model.NoGraph {
		t.Errorf("graph %d, node %x", k.Graph[last], k.GraphNode[last])
	}
	if k.DurNs[0] != 90_000 || k.Corr[0] == model.NoCorr || k.BlocksPerSM != nil {
		t.Error("durations, correlations or occupancy")
	}
	for i, name := range x.Calls.Name { // each call once, the outer one
		if !strings.HasSuffix(text(name), "_v7000") || x.Calls.Class[i] != model.CallRuntime {
			t.Fatalf("call %q", text(name))
		}
	}
	if x.Calls.Len() != 3*(5+40)+1 || x.Threads[x.Calls.Thread[0]].Name != "trainer" {
		t.Errorf("%d calls on %+v", x.Calls.Len(), x.Threads)
	}
	testLoopHost(t, x)
	testLoopRecorder(t, x)
}

// testLoopHost looks at copies, waits and ranges.
func testLoopHost(t *testing.T, x *model.Trace) {
	c, y, e := &x.Copies, &x.Syncs, &x.EventRecords
	if c.Len() != 3 || c.Kind[0] != model.CopyHtoD || c.Src[0] != model.MemPinned || c.Dst[0] != model.MemDevice ||
		c.Bytes[0] != 8<<20 || c.Stream[0] != 13 || c.SrcDevice[0] != model.NoDevice {
		t.Errorf("copies %+v", c)
	}
	if x.Sets.Len() != 3 || x.Sets.Mem[0] != model.MemDevice || x.Sets.Bytes[0] != 4096 {
		t.Errorf("sets %+v", x.Sets)
	}
	if y.Len() != 6 || y.Kind[0] != model.SyncStreamWait || y.Kind[1] != model.SyncStream || y.Device[1] != 0 ||
		y.Event[1] != model.NoCorr || y.SyncID[0] != e.SyncID[0] || y.SyncID[0] == 0 || y.SyncID[2] == y.SyncID[0] {
		t.Errorf("syncs %+v", y)
	}
	// of its call: the event has no time
	if e.Len() != 3 || e.Device[0] != 0 || e.Stream[0] != 13 || e.TimeNs[0] <= 0 || e.TimeNs[0] >= y.StartNs[0] {
		t.Errorf("events %+v", e)
	}
	var names []string
	r := &x.Ranges
	for i, name := range r.Name {
		names = append(names, x.Strings.Text(name))
		if r.Kind[i] != model.RangePushPop || r.DurNs[i] <= 0 || r.Domain[i] != model.NoDomain {
			t.Errorf("range %d: kind %d, %d ns", i, r.Kind[i], r.DurNs[i])
		}
	}
	if want := []string{"step_0", "load", "loss", "step_1", "load", "loss", "step_2", "load",
		"loss"}; !slices.Equal(names, want) {
		t.Errorf("ranges %q", names)
	}
	if m := &x.Marks; m.Len() != 3 || x.Strings.Text(m.Name[0]) != "saved" || x.Domains[m.Domain[0]].Name != "NCCL" {
		t.Errorf("marks %+v", m)
	}
	if g := &x.GraphEvents; g.Len() != 1 || x.Strings.Text(g.Name[0]) != "executable graph created" || g.Exec[0] != 3 {
		t.Errorf("graph events %+v", g)
	}
	if d := x.Devices; len(d) != 1 || d[0].Name != "NVIDIA H200" || d[0].UUID != "GPU-1" ||
		d[0].ClockHz != 1_980_000_000 || d[0].BandwidthBps != 4_800_000_000_000 || d[0].ThreadsPerSM != 2048 {
		t.Errorf("devices %+v", d)
	}
	if len(x.Contexts) != 1 || x.Contexts[0].NullStream != 7 || len(x.Streams) != 2 || x.Streams[1].Flags != 1 {
		t.Errorf("contexts %+v, streams %+v", x.Contexts, x.Streams)
	}
}

// testLoopRecorder looks at what the recorder saw.
func testLoopRecorder(t *testing.T, x *model.Trace) {
	s, w, c := &x.Samples, &x.Sched, &x.Counters
	if s.Len() != 20 || s.TimeNs[0] != 999_970 || x.Strings.Text(x.Frames.Symbol[s.Stack[0]]) != "load" ||
		x.Frames.Parent[s.Stack[0]] != 0 || s.Weight[0] != 1_000_000 {
		t.Errorf("samples %+v of %+v", s, x.Frames)
	}
	if th := x.Threads[s.Thread[0]]; th.Tid != 40 || th.Name != "trainer" || x.Processes[th.Process].Rank != 2 {
		t.Errorf("sampled on %+v", th)
	}
	if th := x.Threads[s.Thread[1]]; th.Tid != 99 || x.Processes[th.Process].Name != "bash" {
		t.Errorf("sampled on %+v", th)
	}
	if w.Len() != 20 || w.In[0] || !w.In[1] || w.State[0] != 1 || x.Threads[w.Thread[0]].Name != "pt_data_worker" {
		t.Errorf("switches %+v", w)
	}
	if len(x.Tracks) != 1 || x.Tracks[0].Device != 0 || x.Tracks[0].Unit != "MHz" || c.Len() != 10 ||
		c.Value[0] != 1980 || c.TimeNs[0] != 1_000_000 {
		t.Errorf("tracks %+v, counters %+v", x.Tracks, c)
	}
}

// TestFormsOfFile reads the same from plain, packed and joined files, and the same bytes each time.
func TestFormsOfFile(t *testing.T) {
	agent, beside := training(t, 40, 3, nil), recorder(t, 40, 10_000_000)
	dir := t.TempDir()
	var paths []string
	for name, file := range map[string][]byte{"a.spool": agent, "b.spool": beside} {
		paths = append(paths, filepath.Join(dir, name))
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	if _, err := raw.Pack(context.Background(), &packed, paths); err != nil {
		t.Fatal(err)
	}
	want := texted(t, append(slices.Clone(agent), beside...))
	for i, file := range [][]byte{append(slices.Clone(agent), beside...), packed.Bytes()} {
		if got := texted(t, file); got != want {
			t.Errorf("form %d differs", i)
		}
	}
	if !strings.Contains(texted(t, append(beside, agent...)), "pt_data_worker") {
		t.Error("the recorder's stream before the program's: threads are lost")
	}
}

// texted is a file's trace as text, without what concerns the file itself.
func texted(t *testing.T, file []byte) string {
	t.Helper()
	x := readBytes(t, file, reader.Options{})
	x.Info.Bytes = 0
	var b bytes.Buffer
	if err := evtext.Write(&b, x); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestNeeds reads what is asked for and little more.
func TestNeeds(t *testing.T) {
	file := append(training(t, 40, 3, nil), recorder(t, 40, 10_000_000)...)
	all := readBytes(t, file, reader.Options{})
	for _, tt := range []struct {
		need model.Parts
		want []string
	}{
		{model.PartKernels, []string{"Kernels"}},
		{model.PartCopies, []string{"Copies", "Sets"}},
		{model.PartRanges, []string{"Ranges", "Marks"}},
		{model.PartCalls | model.PartCounters, []string{"Calls", "Counters"}},
		{model.PartSyncs, []string{"Calls", "Syncs", "EventRecords"}},
		{model.PartSamples | model.PartSched, []string{"Samples", "Frames", "Sched"}},
	} {
		x := readBytes(t, file, reader.Options{Need: tt.need})
		var have []string
		whole := make(map[string]int)
		for _, table := range all.Tables() {
			whole[table.Name] = table.Len()
		}
		for _, table := range x.Tables() {
			if n := table.Len(); n > 0 {
				have = append(have, table.Name)
				if n != whole[table.Name] {
					t.Errorf("%d rows of %s, want %d", n, table.Name, whole[table.Name])
				}
			}
		}
		if !slices.Equal(have, tt.want) || x.Loaded != tt.need {
			t.Errorf("need %b: %q, want %q", tt.need, have, tt.want)
		}
		if tt.need == model.PartKernels && x.Kernels.GridX != nil {
			t.Error("launch configurations were not asked for")
		}
	}
}

// TestEventsOfOldCUPTI finds what a wait waits for where CUPTI does not say it: the last record of the event before it.
func TestEventsOfOldCUPTI(t *testing.T) {
	l := newLoop(t, 40, nil)
	var records, waits []uint32
	for range 3 {
		corr := l.call("cudaEventRecord", 1000)
		l.row(raw.Event{Context: 1, Stream: 13, Corr: corr, Event: 5, Device: raw.None, SyncID: ^uint64(0)})
		records = append(records, corr)
		start := l.nowNs
		corr = l.call("cudaStreamWaitEvent", 1000)
		l.row(raw.Sync{Start: l.gpu(start), End: l.gpu(l.nowNs), Kind: 2, Context: 1, Stream: 7, Corr: corr, Event: 5,
			SyncID: ^uint64(0)})
		waits = append(waits, corr)
	}
	l.row(raw.Event{Context: 1, Stream: 13, Corr: 4_000_000, Event: 5, SyncID: ^uint64(0)}) // without a call
	x := readBytes(t, l.end(), reader.Options{})
	if !slices.Equal(x.Syncs.RecordCorr, records) || !slices.Equal(x.Syncs.Corr, waits) || x.EventRecords.Len() != 3 ||
		x.Losses.Count(model.LossBadTime) != 1 {
		t.Errorf("waits for %v, want %v; losses %+v", x.Syncs.RecordCorr, records, x.Losses.All())
	}
}

// TestClocks aligns clocks by pairs of which one is bad.
func TestClocks(t *testing.T) {
	pairs := func(adds ...int64) (out []raw.Clock) {
		for i, a := range adds {
			out = append(out, raw.Clock{GPU: raw.GPU(1e15 + i*1e9), Real: raw.Real(1e15 + int64(i)*1e9 + a),
				Width: 100})
		}
		return out
	}
	wide := append(pairs(5e6, 5e6+10, 5e6-10), raw.Clock{GPU: 1e15, Real: 9e15, Width: 1e6})
	for _, tt := range []struct {
		name   string
		clocks []raw.Clock
		add    int64
		within int64
	}{
		{"none", nil, 0, 0}, {"one clock", pairs(30, 60, -20), 0, 150},
		{"another", pairs(5e6, 5e6+20, 5e6-20), 5e6, 100},
		{"one pair is read slowly", wide, 5e6, 100},
		{"one pair of many is wrong", pairs(5e6, 5e6, 5e6, 5e6, 5e6, 5e6, 5e6, 5e6, 5e6, 5e6, 5e6, 5e6, 5e6, 5e6, 5e6,
			5e6, 5e6, 5e6, 5e6, 5e6, 9e9), 5e6, 100},
		{"of three one", pairs(5e6, 5e6, 9e6), 5e6, 5e6},
		{"CUPTI was not there", []raw.Clock{{Real: 5, Width: 1}}, 0, 0},
	} {
		if o := offsetOf(tt.clocks, gpuClock); o.addNs != tt.add || o.errorNs > tt.within {
			t.Errorf("%s: %+v, want %d within %d", tt.name, o, tt.add, tt.within)
		}
	}
	l := newLoop(t, 40, nil)
	l.kernel("k", 1000)
	kernel := l.nowNs
	// without a time, and one without a call too
	l.row(raw.Event{Corr: 1, Device: raw.None}, raw.Event{Corr: 99, Device: raw.None})
	for i := range 9 { // CUPTI's clock is 3 s behind
		l.row(raw.Clock{GPU: l.gpu(int64(i)), Real: l.real(3e9 + int64(i)), Width: 60})
	}
	x := readBytes(t, l.end(), reader.Options{})
	if got := x.Kernels.StartNs[0]; got != kernel+2000+3e9 {
		t.Errorf("kernel at %d", got)
	}
	if e := &x.EventRecords; e.Len() != 1 || e.TimeNs[0] != 3e9 {
		t.Errorf("events at %v", e.TimeNs)
	}
	// the loop's own pairs say that it is not
	if !strings.Contains(strings.Join(x.Warnings, ";"), "cannot be aligned better than") {
		t.Errorf("warnings %q", x.Warnings)
	}
}

// TestWindows reads a capture that was switched off and on again, after which CUPTI counts calls from 1 again.
func TestWindows(t *testing.T) {
	for _, anew := range []bool{false, true} {
		l := newLoop(t, 40, nil)
		for window := range 3 {
			if window > 0 {
				l.row(raw.Window{Time: l.real(l.nowNs + 50_000), On: 0})
				l.nowNs += 1e9
				l.row(raw.Window{Time: l.real(l.nowNs), On: 1})
				if anew {
					l.corr = 0
				}
			}
			for range 4 + window {
				l.kernel("k", 5000)
			}
		}
		x := readBytes(t, l.end(), reader.Options{})
		launched := make(map[uint32]int64)
		for i, corr := range x.Calls.Corr {
			if _, twice := launched[corr]; twice {
				t.Errorf("two calls of correlation %d", corr)
			}
			launched[corr] = x.Calls.StartNs[i]
		}
		for i, corr := range x.Kernels.Corr {
			if at, ok := launched[corr]; !ok || x.Kernels.StartNs[i]-at != 8000 {
				t.Errorf("anew %v: kernel %d is launched at %d, runs at %d", anew, i, at, x.Kernels.StartNs[i])
			}
		}
		if x.Calls.Len() != 15 || len(x.Windows) != 3 || x.Windows[1].StartNs < 1e9 {
			t.Errorf("%d calls, windows %v", x.Calls.Len(), x.Windows)
		}
	}
}

// TestNotes says in sentences what processes say of themselves.
func TestNotes(t *testing.T) {
	for _, tt := range []struct {
		kind   string
		fields string
		want   string
	}{
		{"refused", `{"code":39,"why":"CUPTI serves one client at a time, and parca has it","holder":"parca"}`,
			"process 40 (python3.12): no GPU work was recorded: CUPTI serves one client at a time, and parca has " +
				"it; end that tool, or have it record"},
		{"yielded", `{}`, "process 40 (python3.12): no GPU work was recorded: --yield leaves CUPTI to others"},
		{"state", `{"state":"failed","why":"no libcupti"}`,
			"process 40 (python3.12): GPU work could not be recorded: no libcupti"},
		{"full", `{"errno":28,"why":"No space left on device"}`,
			"process 40 (python3.12): for a while the spool could not be written (No space left on device): what " +
				"was recorded then is lost"},
		{"taken", `{"why":"another tool uses CUPTI"}`, "process 40 (python3.12): another tool uses CUPTI"},
		{"state", `{"state":"stopped"}`, ""},
		{"of another version", `{"why":5}`, ""},
	} {
		l := newLoop(t, 40, nil)
		l.say(l.Note(tt.kind, json.RawMessage(tt.fields)))
		if got := strings.Join(readBytes(t, l.end(), reader.Options{}).Warnings, "\n"); got != tt.want {
			t.Errorf("%s: %q", tt.kind, got)
		}
	}
	l := newLoop(t, 40, nil)
	l.kernel("k", 5)
	l.say(l.Flush())
	x := readBytes(t, l.out.Bytes(), reader.Options{})
	if len(x.Warnings) != 1 || !strings.Contains(x.Warnings[0], "its record has no end") {
		t.Errorf("killed: %q", x.Warnings)
	}
}

// TestAccounts holds what the agent counted against what is there.
func TestAccounts(t *testing.T) {
	for _, tt := range []struct {
		account raw.Account
		code    model.LossCode
		count   int64
		warns   bool
	}{
		{raw.Account{Records: 1000, Launched: 100, Kernels: 100}, "", 0, false},
		{raw.Account{Records: 1000, Launched: 100, Kernels: 3000}, "", 0, false},
		{raw.Account{Records: 1000, Launched: 1000, Kernels: 995}, "", 0, false},
		{raw.Account{Records: 1000, Launched: 1000, Kernels: 900}, lossNoKernel, 100, false},
		{raw.Account{Records: 1000, CuptiDropped: 3, Dropped: 2}, model.LossDropped, 5, false},
		{raw.Account{Records: 1000, Dropped: 500}, model.LossDropped, 500, true},
		{raw.Account{Records: 1000, Unfinished: 4}, model.LossZeroTime, 4, false},
		{raw.Account{Dropped: ^uint64(0), CuptiDropped: ^uint64(0)}, model.LossDropped, 1 << 62, true},
	} {
		l := newLoop(t, 40, nil)
		tt.account.Time = l.real(1)
		l.row(tt.account)
		l.say(l.Note("end", nil))
		l.say(l.Close())
		x := readBytes(t, l.out.Bytes(), reader.Options{})
		if n := x.Losses.Count(tt.code); n != tt.count || len(x.Losses.All()) != b2i(tt.code != "") ||
			len(x.Warnings) != b2i(tt.warns) {
			t.Errorf("%+v: losses %+v, warnings %q", tt.account, x.Losses.All(), x.Warnings)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestBadTimes leaves out what has no usable time, and counts it.
func TestBadTimes(t *testing.T) {
	l := newLoop(t, 40, nil)
	l.row(raw.Kernel{Start: l.gpu(5), End: l.gpu(9), Stream: 1}, raw.Kernel{End: 7}, raw.Kernel{Start: l.gpu(5)},
		raw.Kernel{Start: l.gpu(9), End: l.gpu(5), Stream: 2},
		raw.Kernel{Start: 1 << 63, End: 1 << 63}, raw.Kernel{Start: l.gpu(20), End: l.gpu(21), Stream: 3})
	x := readBytes(t, l.end(), reader.Options{})
	if k := &x.Kernels; !slices.Equal(k.Stream, []uint32{1, 2, 3}) || !slices.Equal(k.DurNs, []int64{4, 0, 1}) {
		t.Errorf("kernels %v, %v", k.Stream, k.DurNs)
	}
	for code, n := range map[model.LossCode]int64{model.LossZeroTime: 2, model.LossNegative: 1, model.LossBadTime: 1} {
		if x.Losses.Count(code) != n {
			t.Errorf("%s: %d", code, x.Losses.Count(code))
		}
	}
}

// TestEpochOfNobody reads a stream whose beginning is damaged.
func TestEpochOfNobody(t *testing.T) {
	file := training(t, 40, 2, nil)
	file[40] ^= 1
	x := readBytes(t, file, reader.Options{})
	if x.Kernels.Len() != 83 || x.Epoch.UnixNs != 0 || !x.Epoch.Unix ||
		x.Losses.Count(model.LossUnreadableTable) != 1 ||
		!strings.Contains(strings.Join(x.Warnings, ";"), "is damaged") {
		t.Errorf("%d kernels, epoch %+v, losses %+v, warnings %q", x.Kernels.Len(), x.Epoch, x.Losses.All(), x.Warnings)
	}
}

// TestNeverBegan: a program that ended before recording was to begin leaves a spool without a window, and that is
// said, once.
func TestNeverBegan(t *testing.T) {
	agent := func(pid int64, note string) []byte {
		var out bytes.Buffer
		w, err := raw.NewWriter(&out, raw.Begin{Role: raw.RoleAgent, Version: "0.1.0", Pid: pid, RealNs: began})
		if err == nil && note != "" {
			err = w.Note(note, map[string]any{"why": "nsys has it"})
		}
		if err == nil {
			err = errors.Join(w.Note("end", map[string]any{"why": "exit"}), w.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	for _, tt := range []struct {
		name string
		file []byte
		want int
	}{
		{"two wait", append(agent(1, ""), agent(2, "")...), 1},
		{"one records", append(agent(1, ""), training(t, 40, 1, nil)...), 0},
		{"one is refused", agent(1, "refused"), 0},
	} {
		said := 0
		for _, w := range readBytes(t, tt.file, reader.Options{}).Warnings {
			if strings.HasPrefix(w, "recording never began") {
				said++
			}
		}
		if said != tt.want {
			t.Errorf("%s: said %d times, want %d", tt.name, said, tt.want)
		}
	}
}

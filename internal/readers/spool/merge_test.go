package spool

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	raw "lacuna/internal/capture/spool"
	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
)

// TestOpenBefore: of a range that was open when the window began, as the ID of its push says, only what is still open
// stays: a part of a step is no step.
func TestOpenBefore(t *testing.T) {
	l := newLoop(t, 40, nil)
	at := func(ms int64, what uint8, id uint64, name string) {
		l.row(raw.NVTX{Time: l.real(ms * 1e6), What: what, Tid: 40, ID: id, Name: l.Text(name)})
	}
	at(1, raw.NVTXPush, 1, "epoch")
	at(1, raw.NVTXPush, 1, "step 5")
	at(1, raw.NVTXPush, 1, "data_load")
	at(2, raw.NVTXPop, 0, "")
	at(3, raw.NVTXPush, 0, "forward")
	at(5, raw.NVTXPop, 0, "")
	at(6, raw.NVTXPop, 0, "")
	at(7, raw.NVTXPush, 0, "step 6")
	at(11, raw.NVTXPop, 0, "")
	l.nowNs = 12e6
	x := readBytes(t, l.end(), reader.Options{})
	var got []string
	for i, name := range x.Ranges.Name {
		got = append(got, fmt.Sprint(x.Strings.Text(name), " ", x.Ranges.DurNs[i]/1e6))
	}
	if want := []string{fmt.Sprint("epoch ", int64(model.OpenDurNs)/1e6), "forward 2", "step 6 4"}; !slices.Equal(got,
		want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := x.Losses.Count(lossUnopened); n != 2 {
		t.Errorf("%d of unopened ranges", n)
	}
}

// TestNVTX pairs pushes, pops, starts and ends, over threads, windows and losses.
func TestNVTX(t *testing.T) {
	l := newLoop(t, 40, nil)
	at := func(ms int64, what uint8, tid uint32, id uint64, name string) {
		l.row(raw.NVTX{Time: l.real(ms * 1e6), What: what, Tid: tid, ID: id, Name: l.Text(name), Category: 9,
			Payload: math.Float64bits(2.5), PayloadType: 3})
	}
	at(1, raw.NVTXPush, 40, 0, "outer")
	at(2, raw.NVTXPush, 40, 0, "inner")
	at(3, raw.NVTXPush, 41, 0, "other thread")
	at(4, raw.NVTXPop, 40, 0, "")
	at(5, raw.NVTXPop, 41, 0, "")
	at(6, raw.NVTXPop, 41, 0, "") // of nothing
	at(8, raw.NVTXEnd, 41, 7, "") // its start comes later in the file
	at(2, raw.NVTXStart, 40, 7, "from here to there")
	at(3, raw.NVTXStart, 40, 8, "never ends")
	at(4, raw.NVTXEnd, 40, 99, "") // of nothing
	at(5, 77, 40, 0, "of a kind to come")
	l.row(raw.Window{Time: l.real(10e6), On: 0}, raw.Window{Time: l.real(20e6), On: 1})
	at(19, raw.NVTXPush, 40, 0, "outer") // told again: a bit before the window's row
	at(25, raw.NVTXPop, 40, 0, "")
	l.row(raw.Window{Time: l.real(30e6), On: 0})
	l.nowNs = 30e6
	x := readBytes(t, l.end(), reader.Options{})
	var got []string
	r := &x.Ranges
	for i, name := range r.Name {
		line := map[model.RangeKind]string{model.RangePushPop: "push ", model.RangeStartEnd: "start "}[r.Kind[i]] +
			x.Strings.Text(name)
		if r.DurNs[i] == model.OpenDurNs {
			line += " open"
		} else {
			line += time.Duration(r.DurNs[i]).String()
		}
		if r.EndThread[i] != model.NoThread {
			line += " elsewhere"
		}
		got = append(got, line)
		if r.Category[i] != 9 || x.Strings.Text(r.Payload[i]) != "2.5" {
			t.Errorf("category %d, payload %q", r.Category[i], x.Strings.Text(r.Payload[i]))
		}
	}
	want := []string{"push outer open", "start from here to there6ms elsewhere", "push inner2ms",
		"push other thread2ms", "start never ends open", "push outer6ms"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for code, n := range map[model.LossCode]int64{lossUnopened: 2, model.LossUnclosed: 2, model.LossUnknownEvent: 1} {
		if x.Losses.Count(code) != n {
			t.Errorf("%s: %d, want %d", code, x.Losses.Count(code), n)
		}
	}
	if len(x.Windows) != 2 || x.Windows[1].LenNs() < 10e6 {
		t.Errorf("windows %v", x.Windows)
	}
}

// TestProcesses merges processes that call different things the same.
func TestProcesses(t *testing.T) {
	first := training(t, 40, 2, map[string]string{"RANK": "0"})
	second := training(t, 50, 2, map[string]string{"RANK": "1"})
	x := readBytes(t, append(slices.Clone(first), second...), reader.Options{})
	if len(x.Processes) != 2 || x.Processes[1].Rank != 1 || x.Info.Rank != -1 {
		t.Errorf("processes %+v, rank %d", x.Processes, x.Info.Rank)
	}
	if len(x.Devices) != 1 || len(x.Domains) != 2 || len(x.Threads) != 2 {
		t.Errorf("devices %+v, domains %+v, threads %+v", x.Devices, x.Domains, x.Threads)
	}
	streams := make(map[[2]uint32]bool)
	for i, s := range x.Kernels.Stream {
		streams[[2]uint32{uint32(x.Kernels.Process[i]), s}] = true
	}
	if want := map[[2]uint32]bool{{0, 7}: true, {1, 14}: true}; !reflect.DeepEqual(streams, want) {
		t.Errorf("kernels on %v", streams)
	}
	for i, s := range x.Syncs.Stream {
		if x.Syncs.Process[i] == 1 && s != 14 {
			t.Errorf("process 1 waits on stream %d", s)
		}
	}
	if s := x.Streams; len(s) != 4 || s[2].ID != 14 || s[3].ID != 15 || x.Contexts[1].NullStream != 14 {
		t.Errorf("streams %+v, contexts %+v", s, x.Contexts)
	}
}

// TestDevices numbers GPUs that two processes both call 0.
func TestDevices(t *testing.T) {
	var file []byte
	for i, uuid := range []string{"GPU-1", "GPU-2", "GPU-1"} {
		l := newLoop(t, uint32(40+i), nil)
		l.out.Reset()
		w, err := raw.NewWriter(&l.out, raw.Begin{Role: raw.RoleAgent, Pid: int64(40 + i), RealNs: began})
		if err != nil {
			t.Fatal(err)
		}
		l.Writer = w
		l.row(raw.Device{UUID: w.Text(uuid), Name: w.Text("GPU")}, raw.Context{Context: 1},
			raw.Stream{Context: 1, Stream: 7})
		l.kernel("k", 1000)
		file = append(file, l.end()...)
	}
	x := readBytes(t, file, reader.Options{})
	if len(x.Devices) != 2 || x.Devices[1].UUID != "GPU-2" || x.Devices[1].Ordinal != 1 {
		t.Errorf("devices %+v", x.Devices)
	}
	if want := []uint32{0, 1, 0}; !slices.Equal(x.Kernels.Device, want) {
		t.Errorf("kernels on devices %v", x.Kernels.Device)
	}
	// the third process shares the first one's GPU
	if want := []uint32{7, 7, 8}; !slices.Equal(x.Kernels.Stream, want) {
		t.Errorf("kernels on streams %v", x.Kernels.Stream)
	}
	if x.Contexts[1].Device != 1 {
		t.Errorf("contexts %+v", x.Contexts)
	}
}

// TestRanks takes a capture of two ranks apart: each is what a capture of it alone is.
func TestRanks(t *testing.T) {
	one := training(t, 40, 3, map[string]string{"RANK": "1", "WORLD_SIZE": "2"})
	two := training(t, 50, 2, map[string]string{"RANK": "0", "WORLD_SIZE": "2"})
	whole := readBytes(t, append(append(slices.Clone(one), two...), recorder(t, 40, 5_000_000)...), reader.Options{})
	parts := model.ByRank(whole)
	if whole.Info.Merged != 2 || len(parts) != 2 || parts[0].Info.Rank != 0 || parts[1].Info.Rank != 1 ||
		parts[0].Info.World != 2 {
		t.Fatalf("%d parts of %+v", len(parts), whole.Info)
	}
	if n := parts[0].Info.Events + parts[1].Info.Events; n != whole.Info.Events ||
		parts[1].Info.Events < int64(parts[1].Kernels.Len()) {
		t.Errorf("%d events in parts, %d in the file", n, whole.Info.Events)
	}
	for i, file := range [][]byte{two, one} {
		alone := readBytes(t, file, reader.Options{})
		if err := model.Check(parts[i]); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"Kernels", "Copies", "Sets", "Calls", "Syncs", "EventRecords", "Ranges", "Marks",
			"GraphEvents"} {
			if have, want := rows(parts[i])[name], rows(alone)[name]; have != want || want == 0 {
				t.Errorf("rank %d: %d rows of %s, alone %d", i, have, name, want)
			}
		}
		if !slices.Equal(parts[i].Kernels.DurNs, alone.Kernels.DurNs) ||
			!slices.Equal(parts[i].Kernels.Corr, alone.Kernels.Corr) {
			t.Errorf("rank %d: other kernels", i)
		}
	}
	// the shell's are of no rank
	if parts[0].Sched.Len() != 0 || parts[1].Sched.Len() != 10 || parts[0].Samples.Len() != 5 {
		t.Errorf("switches %d and %d, samples %d", parts[0].Sched.Len(), parts[1].Sched.Len(), parts[0].Samples.Len())
	}
	if alone := readBytes(t, one, reader.Options{}); len(model.ByRank(alone)) != 1 || model.ByRank(alone)[0] != alone {
		t.Error("a capture of one rank is taken apart")
	}
}

// TestNCCL finds the collectives of kernels in the payloads of NCCL's ranges: those of calls come with their
// beginning, that of making a communicator with its end.
func TestNCCL(t *testing.T) {
	l := newLoop(t, 40, map[string]string{"RANK": "1", "WORLD_SIZE": "4"})
	at := func(what uint8, name, payload string) {
		l.row(raw.NVTX{Time: l.real(l.nowNs), Tid: l.pid, Domain: 1, What: what, Name: l.Text(name),
			Extended: l.Text(payload)})
	}
	at(raw.NVTXPush, "ncclCommInitRank", "")
	l.nowNs += 1_000_000
	at(raw.NVTXPop, "", `{"NCCL communicator ID":4660,"No. of ranks":4,"Rank":1,"CUDA device":0}`)
	for range 2 {
		l.kernel(gemm, 90_000)
		at(raw.NVTXPush, "ncclAllGather", `{"NCCL communicator ID":4660,"Message size [bytes]":1048576}`)
		l.nowNs += 2_000
		l.kernel("_Z35ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE", 200_000)
		l.nowNs += 1_000
		at(raw.NVTXPop, "", "")
	}
	file := l.end()
	for _, need := range []model.Parts{0, model.PartOps | model.PartRanges | model.PartKernels | model.PartCalls} {
		x := readBytes(t, file, reader.Options{Need: need})
		c := &x.Collectives
		if c.Len() != 2 || c.InBytes[0] != 1<<20 || c.OutBytes[1] != 4<<20 || c.GroupSize[0] != 4 ||
			x.Strings.Text(c.Group[0]) != "0x1234" || x.Strings.Text(c.Name[0]) != "all_gather" {
			t.Errorf("need %b: %+v", need, c)
		}
		if want := []model.CollectiveRow{model.NoCollective, 0, model.NoCollective,
			1}; !slices.Equal(x.Kernels.Collective, want) {
			t.Errorf("need %b: kernels are of %v", need, x.Kernels.Collective)
		}
		if has := x.Ranges.Payload != nil; has != (need == 0) {
			t.Errorf("need %b: payloads %v", need, has)
		}
	}
	if x := readBytes(t, file, reader.Options{Need: model.PartKernels | model.PartRanges}); x.Collectives.Len() != 0 ||
		x.Ranges.Payload != nil {
		t.Error("collectives were not asked for")
	}
}

// TestRanksWhateverIsRead finds the same ranks in a file for commands that read different parts of it.
func TestRanksWhateverIsRead(t *testing.T) {
	loader := newLoop(t, 41, map[string]string{"RANK": "0", "WORLD_SIZE": "2"}) // of rank 0, without a GPU
	loader.push("load")
	loader.nowNs += 1_000_000
	loader.pop()
	file := slices.Concat(training(t, 40, 2, map[string]string{"RANK": "0", "WORLD_SIZE": "2"}), loader.end(),
		training(t, 50, 3, map[string]string{"RANK": "1", "WORLD_SIZE": "2"}))
	for _, need := range []model.Parts{0, model.PartKernels, model.PartRanges, model.PartCalls, model.PartCopies,
		model.PartSamples} {
		parts := model.ByRank(readBytes(t, file, reader.Options{Need: need}))
		if len(parts) != 2 || parts[0].Info.Rank != 0 || parts[1].Info.Rank != 1 || parts[1].Info.Command == "" {
			t.Errorf("need %b: %d parts", need, len(parts))
			continue
		}
		if a, b := parts[0].Ranges.Len(), parts[1].Ranges.Len(); need == model.PartRanges && (a != 2*3+1 || b != 3*3) {
			t.Errorf("%d and %d ranges", a, b)
		}
	}
}

// member is a training process that becomes a member of communicators of NCCL's.
func member(t *testing.T, pid uint32, env map[string]string, payloads ...string) []byte {
	l := newLoop(t, pid, env)
	for _, p := range payloads {
		l.row(raw.NVTX{Time: l.real(l.nowNs), Tid: pid, Domain: 1, What: raw.NVTXPush,
			Name: l.Text("ncclCommInitRankConfig")})
		l.nowNs += 1_000_000
		l.row(raw.NVTX{Time: l.real(l.nowNs), Tid: pid, Domain: 1, What: raw.NVTXPop, Extended: l.Text(p)})
	}
	l.step(0)
	return l.end()
}

func inComm(comm, rank, ranks int) string {
	return fmt.Sprintf(`{"NCCL communicator ID":%d,"No. of ranks":%d,"Rank":%d,"CUDA device":0}`, comm, ranks, rank)
}

// TestRanksOfNCCL finds the ranks of processes to which no launcher gave one.
func TestRanksOfNCCL(t *testing.T) {
	for _, tt := range []struct {
		name  string
		file  []byte
		ranks []int32 // of processes
		parts int
		warns bool
	}{
		{"a program that starts its own", slices.Concat(member(t, 40, nil, inComm(9, 1, 2)),
			member(t, 50, nil, inComm(9, 0, 2))), []int32{1, 0}, 2, false},
		{"the larger communicator", slices.Concat(member(t, 40, nil, inComm(8, 0, 2), inComm(9, 2, 3)),
			member(t, 50, nil, inComm(8, 1, 2), inComm(9, 1, 3)), member(t, 60, nil, inComm(9, 0, 3))),
			[]int32{2, 1, 0}, 3, false},
		{"a launcher's word goes first", slices.Concat(member(t, 40, map[string]string{"RANK": "4"}, inComm(9, 1, 2)),
			member(t, 50, map[string]string{"RANK": "5"}, inComm(9, 0, 2))), []int32{4, 5}, 2, false},
		{"a helper on the GPU", slices.Concat(member(t, 30, nil), member(t, 40, nil, inComm(9, 1, 2)),
			member(t, 50, nil, inComm(9, 0, 2))), []int32{-1, 1, 0}, 2, false},
		{"two jobs beside each other", slices.Concat(member(t, 40, nil, inComm(9, 0, 1)),
			member(t, 50, nil, inComm(7, 0, 1))), []int32{-1, -1}, 1, true},
		{"ranks that cannot be", slices.Concat(member(t, 40, nil, inComm(9, 0, 2)),
			member(t, 50, nil, inComm(9, 0, 2))), []int32{-1, -1}, 1, true},
		{"one process", member(t, 40, nil, inComm(9, 0, 1)), []int32{-1}, 1, false},
		{"no NCCL", slices.Concat(member(t, 40, nil), member(t, 50, nil)), []int32{-1, -1}, 1, true},
	} {
		for _, need := range []model.Parts{0, model.PartKernels, model.PartCalls} {
			x := readBytes(t, tt.file, reader.Options{Need: need})
			var ranks []int32
			for _, p := range x.Processes {
				ranks = append(ranks, p.Rank)
			}
			if n := len(model.ByRank(x)); n != tt.parts || !slices.Equal(ranks, tt.ranks) ||
				(len(x.Warnings) > 0) != tt.warns {
				t.Errorf("%s, need %b: ranks %v, %d parts, warnings %q", tt.name, need, ranks, n, x.Warnings)
			}
		}
	}
}

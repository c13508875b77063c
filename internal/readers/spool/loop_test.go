package spool

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	raw "lacuna/internal/capture/spool"
	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
)

// A loop is a program in the making: a training loop on two streams as the agent would record it. Its times are ns
// since began.
type loop struct {
	*raw.Writer
	out    bytes.Buffer
	t      testing.TB
	nowNs  int64 // of the host
	freeNs int64 // when the device is done
	corr   uint32
	pid    uint32
}

// began is when the programs of these tests begin, CLOCK_REALTIME; monoNs is what CLOCK_MONOTONIC is behind.
const (
	began  = int64(1_790_000_000_000_000_000)
	behind = int64(1_789_999_000_000_000_000)
)

const gemm = "_Z9gemm_tileILi128ELi64EEvPKfS1_Pfi" // void gemm_tile<128, 64>(float const*, float const*, float*, int)

func newLoop(t testing.TB, pid uint32, env map[string]string) *loop {
	t.Helper()
	l := &loop{t: t, pid: pid}
	w, err := raw.NewWriter(&l.out, raw.Begin{
		Role: raw.RoleAgent, Version: "0.1.0", Session: "s", Pid: int64(pid), Ppid: 1, Host: "node7", Boot: "b",
		Command: []string{"python", "train.py", "--token", "secret"},
		Exe:     "/usr/bin/python3.12", RealNs: began, Env: env,
	})
	if err != nil {
		t.Fatal(err)
	}
	l.Writer = w
	l.say(w.Note("cupti", map[string]any{"version": 130000, "driver": 13000, "library": "libcupti.so.13",
		"kinds": []string{"kernel", "runtime"}, "missing": []any{map[string]any{"what": "jit", "why": "too old"}}}))
	l.row(raw.Device{Device: 0, Name: w.Text("NVIDIA H200"), UUID: w.Text("GPU-1"), Major: 9, Minor: 0, SMs: 132,
		Warp: 32, ClockKHz: 1_980_000, BandwidthKBs: 4_800_000_000, Memory: 141 << 30, L2: 60 << 20,
		SharedPerSM: 228 << 10, RegistersPerSM: 65536, WarpsPerSM: 64})
	l.row(raw.Context{Context: 1, Device: 0, NullStream: 7, API: 2})
	l.row(raw.Stream{Context: 1, Stream: 7, Flags: 0}, raw.Stream{Context: 1, Stream: 13, Flags: 1})
	l.row(raw.Thread{Tid: pid, Name: w.Text("trainer")}, raw.Domain{Domain: 1, Name: w.Text("NCCL")})
	l.row(raw.Window{Time: raw.Real(began), On: 1, Why: w.Text("start")})
	l.clock()
	return l
}

func (l *loop) say(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *loop) row(rows ...raw.Row) {
	l.t.Helper()
	for _, r := range rows {
		l.say(l.Append(r))
	}
}

func (l *loop) gpu(ns int64) raw.GPU   { return raw.GPU(began + ns) }
func (l *loop) real(ns int64) raw.Real { return raw.Real(began + ns) }

func (l *loop) clock() {
	at := uint64(began + l.nowNs)
	l.row(raw.Clock{GPU: raw.GPU(at), Real: raw.Real(at + 20), Mono: raw.Mono(at - uint64(behind)), Width: 60})
}

// call is a call of the host that takes durNs, with the driver's inside; it returns the correlation ID.
func (l *loop) call(name string, durNs int64) uint32 {
	l.corr++
	start := l.nowNs
	l.nowNs += durNs
	l.row(raw.Call{Start: l.gpu(start + 100), End: l.gpu(l.nowNs - 100), Tid: l.pid, Corr: l.corr,
		Name: l.Text("cu" + name[len("cuda"):]), Driver: 1})
	l.row(raw.Call{Start: l.gpu(start), End: l.gpu(l.nowNs), Tid: l.pid, Corr: l.corr, Name: l.Text(name + "_v7000")})
	return l.corr
}

// kernel launches a kernel that takes durNs on stream 7.
func (l *loop) kernel(name string, durNs int64) {
	corr := l.call("cudaLaunchKernel", 6_000)
	start := max(l.nowNs+2_000, l.freeNs)
	l.freeNs = start + durNs
	l.row(raw.Kernel{
		Start: l.gpu(start), End: l.gpu(l.freeNs), Device: 0, Context: 1, Stream: 7, Corr: corr, Name: l.Text(name),
		GridX: 132, GridY: 2, GridZ: 1,
		BlockX: 256, BlockY: 1, BlockZ: 1, Registers: 64, SharedStatic: 1024, SharedDynamic: 2048, LocalTotal: 77,
	})
}

func (l *loop) push(name string) {
	l.row(raw.NVTX{Time: l.real(l.nowNs), Tid: l.pid, Name: l.Text(name), What: raw.NVTXPush})
}

func (l *loop) pop() { l.row(raw.NVTX{Time: l.real(l.nowNs), Tid: l.pid, What: raw.NVTXPop}) }

// step is one iteration: the host prepares data, copies it on a stream of its own, which the other waits for,
// computes, and waits for the loss.
func (l *loop) step(i int) {
	l.push(fmt.Sprintf("step_%d", i))
	l.push("load")
	l.nowNs += 3_000_000
	l.pop()
	corr := l.call("cudaMemcpyAsync", 9_000)
	start := max(l.nowNs, l.freeNs)
	l.row(raw.Copy{Start: l.gpu(start), End: l.gpu(start + 400_000), Bytes: 8 << 20, Context: 1, Stream: 13,
		Corr: corr, SrcDevice: raw.None, DstDevice: raw.None, Kind: 1, Src: 2, Dst: 3, Async: 1})
	id := uint64(i + 1)
	record := l.call("cudaEventRecord", 2_000)
	l.row(raw.Event{Context: 1, Stream: 13, Corr: record, Event: 5, Device: raw.None, SyncID: id})
	began := l.nowNs
	wait := l.call("cudaStreamWaitEvent", 2_000)
	l.row(raw.Sync{Start: l.gpu(began), End: l.gpu(l.nowNs), Kind: 2, Context: 1, Stream: 7, Corr: wait, Event: 5,
		SyncID: id})
	l.freeNs = max(l.freeNs, start+400_000)
	zero := l.call("cudaMemsetAsync", 4_000)
	l.row(raw.Set{Start: l.gpu(l.freeNs), End: l.gpu(l.freeNs + 3_000), Bytes: 4096, Context: 1, Stream: 7, Corr: zero,
		Memory: 3})
	l.freeNs += 3_000
	for range 20 {
		l.kernel(gemm, 90_000)
		l.kernel("triton_poi_fused_add_0", 12_000)
	}
	l.push("loss")
	began = l.nowNs
	sync := l.call("cudaStreamSynchronize", max(5_000, l.freeNs-l.nowNs))
	l.row(raw.Sync{Start: l.gpu(began), End: l.gpu(l.nowNs), Kind: 3, Context: 1, Stream: 7, Corr: sync,
		Event: raw.None})
	l.pop()
	l.pop()
	l.row(raw.NVTX{Time: l.real(l.nowNs), Tid: l.pid, Domain: 1, Name: l.Text("saved"), What: raw.NVTXMark})
}

// graph runs a captured graph of three kernels.
func (l *loop) graph() {
	l.row(raw.Graph{Time: l.real(l.nowNs), Tid: l.pid, What: 5, Graph: 2, Exec: 3})
	corr := l.call("cudaGraphLaunch", 8_000)
	start := max(l.nowNs, l.freeNs)
	for i := range int64(3) {
		l.row(raw.Kernel{Start: l.gpu(start + i*10_000), End: l.gpu(start + i*10_000 + 9_000), Node: 3<<32 + uint64(i),
			Context: 1, Stream: 7, Corr: corr, Graph: 3, Name: l.Text("node")})
	}
	l.freeNs = start + 29_000
}

// end closes the program's stream.
func (l *loop) end() []byte {
	l.clock()
	l.row(raw.Window{Time: l.real(l.nowNs), On: 0, Why: l.Text("exit")})
	l.row(raw.Account{Time: l.real(l.nowNs), Records: 3000, Launched: uint64(l.corr), Kernels: uint64(l.corr),
		NVTX: 100, NvtxNs: 9_000, WriterNs: 4_000_000})
	l.say(l.Note("end", map[string]string{"why": "exit"}))
	l.say(l.Close())
	return l.out.Bytes()
}

// training is the capture of a loop of n steps.
func training(t testing.TB, pid uint32, n int, env map[string]string) []byte {
	l := newLoop(t, pid, env)
	for i := range n {
		l.step(i)
	}
	l.graph()
	return l.end()
}

// recorder is what lacuna record writes beside a program that runs for so long.
func recorder(t testing.TB, pid uint32, forNs int64) []byte {
	t.Helper()
	l := &loop{t: t, pid: pid}
	w, err := raw.NewWriter(&l.out, raw.Begin{Role: raw.RoleRecorder, Version: "0.1.0", Pid: 2, Host: "node7",
		Boot: "b", Command: []string{"python", "train.py"}, RealNs: began - 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	l.Writer = w
	l.say(w.Note("host", map[string]any{"cpus": 8, "kernel": "Linux 6", "nvml": "driver 580"}))
	l.row(raw.Clock{Real: raw.Real(began), Mono: raw.Mono(began - behind), Width: 40},
		raw.Clock{Real: raw.Real(began + 5e9), Mono: raw.Mono(began + 5e9 - behind + 30), Width: 40})
	l.row(raw.Task{Pid: pid, Tid: pid, Name: w.Text("python")},
		raw.Task{Pid: pid, Tid: pid + 1, Name: w.Text("pt_data_worker")},
		raw.Task{Pid: 99, Tid: 99, Name: w.Text("bash")})
	l.row(raw.Track{Track: 1, Device: 3, Name: w.Text("SM clock"), Unit: w.Text("MHz"), UUID: w.Text("GPU-1")},
		raw.Track{Track: 2, Device: 4, Name: w.Text("SM clock"), Unit: w.Text("MHz"), UUID: w.Text("GPU-2")})
	l.row(raw.Frame{Frame: 1, Symbol: w.Text("main"), Module: w.Text("python3.12")},
		raw.Frame{Frame: 2, Parent: 1, Symbol: w.Text("load"), Module: w.Text("train.py")})
	for at := int64(0); at < forNs; at += 1_000_000 {
		l.row(raw.Counter{Time: l.real(at), Track: 1, Value: 1980}, raw.Counter{Time: l.real(at), Track: 2, Value: 345})
		mono := raw.Mono(began - behind + at)
		l.row(raw.Sample{Time: mono, Pid: pid, Tid: pid, CPU: 3, Frame: 2, Weight: 1_000_000},
			raw.Sample{Time: mono + 5, Pid: 99, Tid: 99, Frame: 1})
		l.row(raw.Switch{Time: mono + 100, Pid: pid, Tid: pid + 1, CPU: 4, Preempted: 1},
			raw.Switch{Time: mono + 200, Pid: pid, Tid: pid + 1, CPU: 4, In: 1})
	}
	l.say(w.Note("end", nil))
	l.say(w.Close())
	return l.out.Bytes()
}

// readBytes reads a file's bytes and holds the trace against the model's promises.
func readBytes(t testing.TB, file []byte, opt reader.Options) *model.Trace {
	t.Helper()
	trace, err := tryRead(file, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Check(trace); err != nil {
		t.Fatal(err)
	}
	if err := model.CheckStrings(trace); err != nil {
		t.Fatal(err)
	}
	return trace
}

func tryRead(file []byte, opt reader.Options) (*model.Trace, error) {
	opt.Data = file
	return reader.Open(context.Background(), "x.lacuna", []*reader.Format{&Format}, opt)
}

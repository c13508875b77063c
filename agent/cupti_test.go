//go:build linux

package agent

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lacuna/internal/capture/spool"
)

// A cuptiStage is a folder with the agent, the fake driver, the program that uses it, and fakes of CUPTI by release.
type cuptiStage struct {
	dir       string
	sanitizer string
	flags     []string
	building  *sync.Mutex // of releases
}

// sanitized is why tests under a sanitizer are long.
const sanitized = "takes minutes under a sanitizer"

// build compiles what is the same for all releases. sanitizer: a name of those below.
func buildCuptiStage(t testing.TB, sanitizer string) cuptiStage {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("NO C COMPILER: the agent was not tested")
	}
	flags := map[string][]string{
		"plain":   nil,
		"address": {"-fsanitize=address,undefined", "-fno-sanitize-recover=all"},
		"thread":  {"-fsanitize=thread"},
	}
	s := cuptiStage{building: new(sync.Mutex), dir: t.TempDir(), sanitizer: sanitizer,
		flags: append([]string{"-g", "-Wl,-z,undefs"}, flags[sanitizer]...)}
	s.compile(t, "FAKES=cuda", append([]string{"sh", "test/build_fakes.sh", s.dir, "0"}, s.flags...))
	s.compile(t, "", append([]string{"sh", "build.sh", s.dir + "/liblacuna.so"}, s.flags...))
	s.compile(t, "", append([]string{"cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", s.dir +
		"/work", "test/cupti_work.c", "-L" + s.dir, "-lcuda", "-ldl"}, s.flags...))
	return s
}

func (s cuptiStage) compile(t testing.TB, env string, command []string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// release adds the fake CUPTI of a release; its folder is what run wants.
func (s cuptiStage) release(t testing.TB, version int) string {
	t.Helper()
	s.building.Lock()
	defer s.building.Unlock()
	dir := fmt.Sprintf("%s/%d", s.dir, version)
	if _, err := os.Stat(dir); err != nil {
		s.compile(t, "FAKES=cupti", append([]string{"sh", "test/build_fakes.sh", dir, fmt.Sprint(version)}, s.flags...))
	}
	return dir
}

// A cuptiRun is what a program's spools say.
type cuptiRun struct {
	Streams  int
	Kernels  []spool.Kernel
	Copies   []spool.Copy
	Sets     []spool.Set
	Calls    []spool.Call
	Syncs    []spool.Sync
	Events   []spool.Event
	Runs     []spool.GraphRun
	Graphs   []spool.Graph
	Over     []spool.Overhead
	Memory   []spool.Memory
	Pools    []spool.Pool
	StreamsR []spool.Stream
	Contexts []spool.Context
	Devices  []spool.Device
	Modules  []spool.Module
	JITs     []spool.JIT
	Windows  []spool.Window
	Account  spool.Account // the last
	Notes    map[string][]string
	texts    map[spool.Text]string
	took     time.Duration
	output   string
}

func (r *cuptiRun) text(id spool.Text) string { return r.texts[id] }

// byName counts kernels.
func (r *cuptiRun) byName() map[string]int {
	n := map[string]int{}
	for _, k := range r.Kernels {
		n[r.text(k.Name)]++
	}
	return n
}

// run executes the program with CUPTI of a release; env adds to what recording needs.
func (s cuptiStage) run(t *testing.T, version int, env []string, arg ...string) *cuptiRun {
	t.Helper()
	cupti := s.release(t, version)
	out := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 120*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.dir+"/work", arg...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+cupti+":"+s.dir, "CUDA_INJECTION64_PATH="+s.dir+"/liblacuna.so",
		"LACUNA_DIR="+out,
		"ASAN_OPTIONS=detect_leaks=0", "TSAN_OPTIONS=halt_on_error=1")
	cmd.Env = append(cmd.Env, env...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	began := time.Now()
	err := cmd.Run()
	r := &cuptiRun{took: time.Since(began), output: output.String()}
	if err != nil {
		t.Fatalf("%v: %v\n%s", arg, err, output.String())
	}
	if output.Len() > 0 {
		t.Errorf("%v: the agent spoke on the program's output: %s", arg, output.String())
	}
	r.read(t, out)
	return r
}

func (r *cuptiRun) read(t *testing.T, dir string) {
	t.Helper()
	files, _ := filepath.Glob(dir + "/*.spool")
	r.Notes, r.texts = map[string][]string{}, map[spool.Text]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		scan := spool.NewScanner(bytes.NewReader(data))
		for scan.Next() {
			r.chunk(scan.Chunk())
		}
		if lost := scan.Lost(); lost.Any() {
			t.Errorf("%s: lost %+v", file, lost)
		}
	}
	r.Streams = len(files)
}

func (r *cuptiRun) chunk(c *spool.Chunk) {
	switch {
	case c.Type == spool.TypeTexts:
		c.Texts(func(id spool.Text, text []byte) { r.texts[id] = string(text) })
	case c.Type == spool.TypeNote:
		kind, _ := c.Note(nil)
		r.Notes[kind] = append(r.Notes[kind], string(c.Payload))
	case c.Table == nil:
	default:
		switch c.Table.Name {
		case "kernel":
			r.Kernels = append(r.Kernels, spool.Rows[spool.Kernel](c)...)
		case "copy":
			r.Copies = append(r.Copies, spool.Rows[spool.Copy](c)...)
		case "set":
			r.Sets = append(r.Sets, spool.Rows[spool.Set](c)...)
		case "call":
			r.Calls = append(r.Calls, spool.Rows[spool.Call](c)...)
		case "sync":
			r.Syncs = append(r.Syncs, spool.Rows[spool.Sync](c)...)
		case "event":
			r.Events = append(r.Events, spool.Rows[spool.Event](c)...)
		case "graph_run":
			r.Runs = append(r.Runs, spool.Rows[spool.GraphRun](c)...)
		case "graph":
			r.Graphs = append(r.Graphs, spool.Rows[spool.Graph](c)...)
		case "overhead":
			r.Over = append(r.Over, spool.Rows[spool.Overhead](c)...)
		case "memory":
			r.Memory = append(r.Memory, spool.Rows[spool.Memory](c)...)
		case "pool":
			r.Pools = append(r.Pools, spool.Rows[spool.Pool](c)...)
		case "stream":
			r.StreamsR = append(r.StreamsR, spool.Rows[spool.Stream](c)...)
		case "context":
			r.Contexts = append(r.Contexts, spool.Rows[spool.Context](c)...)
		case "device":
			r.Devices = append(r.Devices, spool.Rows[spool.Device](c)...)
		case "module":
			r.Modules = append(r.Modules, spool.Rows[spool.Module](c)...)
		case "jit":
			r.JITs = append(r.JITs, spool.Rows[spool.JIT](c)...)
		case "window":
			r.Windows = append(r.Windows, spool.Rows[spool.Window](c)...)
		case "account":
			for _, a := range spool.Rows[spool.Account](c) {
				r.Account = a
			}
		}
	}
}

// cuptiReleases: what a program did is in the spool, field by field, whatever the release of CUPTI.
func cuptiReleases(t *testing.T, s cuptiStage) {
	for _, version := range []int{18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 130000, 130100, 130200, 130300, 130400} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			// All that CUPTI records, also what the agent by default makes itself of calls' callbacks
			// (cuptiWaitsByDefault).
			r := s.run(t, version, []string{"LACUNA_KINDS=kernel,copy,set,api_records,sync_records,event_records,memory,overhead,jit,graph"}, "everything")
			checkEverything(t, r, version)
		})
	}
}

func is[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func checkEverything(t *testing.T, r *cuptiRun, version int) {
	want := map[string]int{"_Z6kernelPf": 10, "triton_kernel": 1, "captured_a": 3, "captured_b": 3, "on_device_1": 1}
	if got := r.byName(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("kernels: %v, want %v", got, want)
	}
	grids := map[string]int32{"triton_kernel": 11, "captured_a": 21, "captured_b": 22, "on_device_1": 31}
	calls := map[uint32]string{} // by correlation
	counts := map[string]int{}
	for _, c := range r.Calls {
		name := r.text(c.Name)
		counts[name]++
		if c.Driver == 0 || calls[c.Corr] == "" {
			calls[c.Corr] = name
		}
		if c.Start == 0 || c.End < c.Start || c.Tid == 0 || c.Result != 0 {
			t.Errorf("call %s: %+v", name, c)
		}
		if c.Tid != r.Calls[0].Tid {
			t.Errorf("call %s: thread %d, want %d", name, c.Tid, r.Calls[0].Tid)
		}
	}
	for name, n := range map[string]int{"cudaLaunchKernel": 13, "cuLaunchKernel": 14, "cudaGraphLaunch": 3,
		"cudaMalloc": 1, "cudaFree": 1, "cudaMemcpyAsync": 2, "cudaMemsetAsync": 2,
		"cudaMemcpyPeerAsync": 1, "cudaDeviceSynchronize": 1, "cuCtxSynchronize": 1, "cudaGraphInstantiate": 1,
		"cudaStreamBeginCapture": 1, "cudaEventRecord": 1, "cuModuleLoadData": 1,
		"cudaGetDevice": 0, "cudaGetLastError": 0, "cudaEventQuery": 0, "cudaSetDevice": 0} {
		is(t, "calls of "+name, counts[name], n)
	}
	var last int32
	for _, k := range r.Kernels {
		name, c := r.text(k.Name), k.Corr
		if name == "_Z6kernelPf" {
			last++
			is(t, "grid", k.GridX, last)
			is(t, "launch", calls[c], "cudaLaunchKernel")
		} else {
			is(t, "grid of "+name, k.GridX, grids[name])
		}
		device := uint32(0)
		if name == "on_device_1" {
			device = 1
		}
		is(t, "device", k.Device, device)
		is(t, "context", k.Context, device+1)
		is(t, "end-start", k.End-k.Start, 5000)
		priority := int32(0)
		if version >= 130100 {
			priority = -int32(c % 6)
		}
		k.Start, k.End, k.Name, k.Node, k.Graph, k.Stream, k.GridX = 0, 0, 0, 0, 0, 0, 0
		is(t, "kernel "+name, k, spool.Kernel{GridID: 5000000000 + int64(c), Device: device, Context: device + 1,
			Corr: c, GridY: 2, GridZ: 3, BlockX: 128, BlockY: 4, BlockZ: 5,
			SharedStatic: 1000 + int32(c%100), SharedDynamic: 4096, LocalTotal: 6000000000 + uint64(c), ClusterX: 1 +
				c%4, ClusterY: 2 + c%4, ClusterZ: 3 + c%4,
			Priority: priority, Channel: 10 + c%5, Registers: uint16(16 + c%200), LaunchType: uint8(c % 3)})
	}
	checkCopies(t, r, calls)
	checkWaits(t, r, version)
	checkGraphs(t, r, version)
	checkThings(t, r, version)
	is(t, "launched", r.Account.Launched, 14)
	is(t, "kernels in the account", r.Account.Kernels, 18)
	is(t, "unfinished", r.Account.Unfinished, 0)
	is(t, "dropped", r.Account.Dropped+r.Account.CuptiDropped, 0)
	if notes := r.Notes["cupti"]; len(notes) != 1 ||
		!strings.Contains(notes[0], fmt.Sprintf(`"version":%d`, version)) ||
		!strings.Contains(notes[0], `"missing":[]`) {
		t.Errorf("note cupti: %q", notes)
	}
}

func checkCopies(t *testing.T, r *cuptiRun, calls map[uint32]string) {
	const none = 1<<32 - 1
	stream := uint32(8)
	want := []spool.Copy{
		{Bytes: 1111, Context: 1, Stream: stream, SrcDevice: none, DstDevice: none, Kind: 1, Src: 2, Dst: 3, Async: 1},
		{Bytes: 2222, Context: 1, Stream: stream, SrcDevice: none, DstDevice: none, Kind: 2, Src: 3, Dst: 1, Async: 1},
		{Bytes: 3333, Context: 1, Stream: stream, SrcDevice: 0, DstDevice: 1, Kind: 10, Src: 3, Dst: 3, Async: 1},
	}
	is(t, "copies", len(r.Copies), len(want))
	for i, c := range r.Copies {
		is(t, "copy's call", strings.HasPrefix(calls[c.Corr], "cudaMemcpy"), true)
		is(t, "copy's time", c.End-c.Start, 5000)
		c.Start, c.End, c.Corr = 0, 0, 0
		is(t, "copy", c, want[min(i, 2)])
	}
	is(t, "sets", len(r.Sets), 4) // one, and one in each of the graph's runs
	for i, s := range r.Sets {
		bytes, value := uint64(4444), uint32(0x5A)
		if i > 0 {
			bytes, value = 5555, 1
			is(t, "set of a graph", s.Graph != 0 && s.Node != 0 && calls[s.Corr] == "cudaGraphLaunch", true)
		}
		s.Start, s.End, s.Corr, s.Node, s.Graph = 0, 0, 0, 0, 0
		is(t, "set", s, spool.Set{Bytes: bytes, Context: 1, Stream: stream, Value: value, Memory: 3})
	}
}

func checkWaits(t *testing.T, r *cuptiRun, version int) {
	const none = 1<<32 - 1
	want := []spool.Sync{
		{Kind: 2, Context: 1, Stream: 7, Event: 1}, {Kind: 1, Context: 1, Stream: none, Event: 1},
		{Kind: 3, Context: 1, Stream: 8, Event: none},
		{Kind: 4, Context: 2, Stream: none, Event: none}, {Kind: 4, Context: 2, Stream: none, Event: none},
	}
	is(t, "synchronisations", len(r.Syncs), len(want))
	for i, s := range r.Syncs {
		w := want[min(i, len(want)-1)]
		if version >= 26 {
			w.SyncID = 7000000001
			if w.Event == none {
				w.SyncID = 1<<64 - 1
			}
		}
		is(t, "synchronisation's time", s.Start > 0 && s.End >= s.Start, true)
		s.Start, s.End, s.Corr = 0, 0, 0
		is(t, "synchronisation", s, w)
	}
	is(t, "events", len(r.Events), 1)
	for _, e := range r.Events {
		w := spool.Event{Context: 1, Stream: 8, Event: 1, Device: none}
		if version >= 26 {
			w.Device, w.SyncID = 0, 7000000001
			is(t, "event's time", e.Time != 0, true)
		}
		e.Corr, e.Time = 0, 0
		is(t, "event", e, w)
	}
}

func checkGraphs(t *testing.T, r *cuptiRun, version int) {
	what := map[uint32]int{}
	made, clones := map[uint64]uint32{}, map[uint64]uint64{}
	for _, g := range r.Graphs {
		what[g.What]++
		switch g.What {
		case 3:
			made[g.Node] = g.NodeType
		case 4:
			clones[g.Node] = g.FromNode
			is(t, "clone's graph", g.Graph == 2 && g.FromGraph == 1, true)
		case 5, 6:
			exec := uint32(2)
			if version < 22 {
				exec = 1<<32 - 1 // no cuptiGetGraphExecId
			}
			is(t, "executable", g.Exec, exec)
		}
		is(t, "graph's thread", g.Tid, r.Calls[0].Tid)
	}
	is(t, "graph events", fmt.Sprint(what), "map[1:1 2:1 3:3 4:3 5:1 6:1]")
	for _, k := range r.Kernels {
		if !strings.HasPrefix(r.text(k.Name), "captured") {
			is(t, "graph of a plain kernel", k.Graph == 0 && k.Node == 0, true)
			continue
		}
		kind, ok := made[clones[k.Node]]
		is(t, "kernel's node leads to the one that was captured", ok && kind == 0 && k.Graph == 2, true)
	}
}

func checkThings(t *testing.T, r *cuptiRun, version int) {
	checkDevices(t, r, 2)
	is(t, "contexts", len(r.Contexts), 2)
	for i, c := range r.Contexts {
		is(t, "context", c, spool.Context{Context: uint32(i) + 1, Device: uint32(i), NullStream: uint32(i) + 7, API: 1})
	}
	is(t, "streams", len(r.StreamsR), 1)
	for _, s := range r.StreamsR {
		is(t, "stream", s, spool.Stream{Context: 1, Stream: 8, Priority: 3, Flags: 1})
	}
	is(t, "allocations", len(r.Memory), 2)
	for i, m := range r.Memory {
		is(t, "allocation", m.Time > 0 && m.Address == 0x7f0000000000 && m.Operation == uint32(i)+1 && m.Kind == 3 &&
			m.Context == uint32(1+i) && m.Device == uint32(i) && m.Bytes == uint64(123456*(1-i)), true)
	}
	is(t, "pools", len(r.Pools), 2)
	for i, p := range r.Pools {
		is(t, "pool", p.Time > 0 && p.Address == 0x7f0000000000 && p.Size == uint64(123456*(1-i)) &&
			p.Used == p.Size/2 && p.Threshold == 8192 && p.Keep == 4096 && p.Type == 1, true)
	}
	is(t, "overheads", len(r.Over), 2)
	for _, o := range r.Over {
		corr := uint32(1<<32 - 1)
		if version >= 20 {
			corr = o.Corr
			is(t, "overhead's call", corr > 0 && corr < 1000, true)
		}
		is(t, "overhead", o.End-o.Start == 100 && o.Kind == 3<<16 && o.Object == 2 && o.Tid == r.Calls[0].Tid &&
			o.Corr == corr, true)
	}
	is(t, "modules", len(r.Modules), 1)
	for _, m := range r.Modules {
		is(t, "module", m.Module == 1 && m.Bytes == 1001 && m.Loaded == 1, true)
	}
	is(t, "compilations", len(r.JITs), 2)
	for i, j := range r.JITs {
		tid := uint32(0)
		if version >= 22 {
			tid = r.Calls[0].Tid
		}
		is(t, "compilation", j.End > j.Start && j.Entry == 2 && j.Operation == 1 && j.Device == uint32(i) &&
			j.Corr == 55 && j.Bytes == 1234 && r.text(j.Path) == "/cache/x" && j.Tid == tid, true)
	}
}

// checkDevices looks at the rows of the first n GPUs, which CUPTI and the driver tell alike.
func checkDevices(t *testing.T, r *cuptiRun, n int) {
	t.Helper()
	is(t, "devices", len(r.Devices), n)
	for i, d := range r.Devices {
		u := uint32(i)
		is(t, "uuid", r.text(d.UUID), fmt.Sprintf(
			"GPU-0%[1]d1%[1]d2%[1]d3%[1]d-4%[1]d5%[1]d-6%[1]d7%[1]d-8%[1]d9%[1]d-a%[1]db%[1]dc%[1]dd%[1]de%[1]df%[1]d",
			i))
		is(t, "device's name", r.text(d.Name), "Fake GPU")
		d.UUID, d.Name = 0, 0
		is(t, "device", d, spool.Device{Device: u, Major: 9, Minor: u, SMs: 132 + u, Warp: 32, ClockKHz: 1980000 + u,
			BandwidthKBs: 4000000000 + uint64(1000*u), Memory: 80000000000 + uint64(u),
			L2: 50000000 + u, SharedPerSM: 233472, RegistersPerSM: 65536, WarpsPerSM: 64})
	}
}

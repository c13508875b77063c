//go:build linux

package agent

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"lacuna/internal/base/golden"
	"lacuna/internal/capture/spool"
)

// TestCupti builds the agent once for each sanitizer, and runs what threads and memory can break under all of them.
func TestCupti(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		test func(*testing.T, cuptiStage)
		with string // sanitizers; "plain" is none
	}{
		{"releases", cuptiReleases, "plain"},
		{"storm", cuptiStorm, "plain address thread"},
		{"restarts", cuptiRestarts, "plain address thread"},
		{"stop without calls", cuptiStopWithoutCalls, "plain address"},
		{"profiler window", cuptiProfilerWindow, "plain thread"},
		{"refused", cuptiRefused, "plain"},
		{"yields", cuptiYields, "plain"},
		{"is found", cuptiIsFound, "plain"},
		{"fails", cuptiFails, "plain address"},
		{"memory is bounded", cuptiMemoryIsBounded, "plain address"},
		{"unfinished", cuptiUnfinished, "plain"},
		{"forks", cuptiForks, "plain address thread"},
		{"program ends before its threads", cuptiAbandon, "plain address thread"},
		{"threads that die", cuptiMayflies, "plain thread"},
		{"another client afterwards", cuptiSuccessor, "plain address"},
		{"graphs whole", cuptiGraphsWhole, "plain"},
		{"graphs whole in windows", cuptiGraphsInWindows, "plain address thread"},
		{"kinds left out", cuptiLeftOut, "plain"},
		{"kernels without calls", cuptiUnlinked, "plain"},
		{"waits by default", cuptiWaitsByDefault, "plain thread"},
	}
	for _, sanitizer := range []string{"plain", "address", "thread"} {
		t.Run(sanitizer, func(t *testing.T) {
			if sanitizer != "plain" {
				golden.Long(t, sanitized)
			}
			t.Parallel()
			s := buildCuptiStage(t, sanitizer)
			for _, test := range tests {
				if strings.Contains(test.with, sanitizer) {
					t.Run(test.name, func(t *testing.T) {
						t.Parallel() // some of them mostly wait
						test.test(t, s)
					})
				}
			}
		})
	}
}

func cuptiStorm(t *testing.T, s cuptiStage) {
	const threads, each = 64, 200
	for _, version := range []int{24, 130000, 130300} { // with buffers of all threads, and of each; shared
		r := s.run(t, version, nil, "storm", fmt.Sprint(threads), fmt.Sprint(each))
		names := r.byName()
		for i := range threads {
			is(t, fmt.Sprintf("kernels of thread %d with %d", i, version), names[fmt.Sprintf("storm_%d", i)], each)
		}
		is(t, "launched", r.Account.Launched, threads*each)
		is(t, "kernels", r.Account.Kernels, threads*each)
		is(t, "lost", r.Account.Dropped+r.Account.CuptiDropped+r.Account.Unfinished, 0)
		tids := map[uint32]bool{}
		corr := map[uint32]bool{}
		for _, c := range r.Calls {
			if r.text(c.Name) == "cudaLaunchKernel" {
				tids[c.Tid] = true
				corr[c.Corr] = true
			}
		}
		is(t, "threads", len(tids), threads)
		for _, k := range r.Kernels {
			if !corr[k.Corr] {
				t.Fatalf("kernel %+v has no launch", k)
			}
		}
	}
}

func cuptiRestarts(t *testing.T, s cuptiStage) {
	// not finalised before 12.6; shared from 13.3 on
	for version, times := range map[int]int{22: 3, 24: 3, 130000: 50, 130300: 3} {
		if s.sanitizer != "plain" || !golden.IsLong() {
			times = min(times, 10) // each waits a moment for the GPU
		}
		r := s.run(t, version, []string{"LACUNA_WINDOW=armed", "LACUNA_KINDS=kernel,runtime,driver,sync,event,graph"},
			"restart", fmt.Sprint(times))
		names := r.byName()
		is(t, fmt.Sprintf("kernels inside windows with %d", version), names["inside"], 20*times)
		is(t, "kernels between windows", names["between"]+names["before"], 0)
		is(t, "windows", len(r.Windows), 2*times)
		is(t, "notes of CUPTI", len(r.Notes["cupti"]), times)
		is(t, "notes of failures", len(r.Notes["refused"])+len(r.Notes["taken"]), 0)
		// CUPTI tells nothing of what is older than the recording.
		checkDevices(t, r, 1)
		is(t, "contexts", fmt.Sprint(r.Contexts), "[{1 0 7 0}]")
	}
}

// Nobody calls CUDA while CUPTI waits for the end of a call to leave in: stop returns, and the next start goes on.
func cuptiStopWithoutCalls(t *testing.T, s cuptiStage) {
	r := s.run(t, 130000, []string{"LACUNA_WINDOW=armed"}, "restart-quiet", "3")
	is(t, "kernels", fmt.Sprint(r.byName()), "map[inside:60]")
}

func cuptiProfilerWindow(t *testing.T, s cuptiStage) {
	for _, version := range []int{18, 130000, 130300} {
		r := s.run(t, version, []string{"LACUNA_WINDOW=profiler"}, "profiler", "5")
		is(t, fmt.Sprintf("kernels with %d", version), fmt.Sprint(r.byName()), "map[inside:250]")
		for _, c := range r.Calls {
			if name := r.text(c.Name); strings.Contains(name, "LaunchKernel") && c.Result != 0 {
				t.Errorf("call %+v", c)
			}
		}
	}
}

// Another client has CUPTI: the program runs on, and the spool says who it is as far as can be told.
func cuptiRefused(t *testing.T, s cuptiStage) {
	soname := map[int]string{24: "libcupti.so.12", 130000: "libcupti.so.13"}
	for version, name := range soname {
		r := s.run(t, version, nil, "holder", name)
		is(t, "kernels", len(r.Kernels), 0)
		if notes := r.Notes["refused"]; len(notes) != 1 || !strings.Contains(notes[0], `"code":39`) {
			t.Errorf("note refused: %q", notes)
		}
		if !strings.Contains(fmt.Sprint(r.Notes["state"]), `"state":"refused"`) {
			t.Errorf("state: %q", r.Notes["state"])
		}
	}
	// From 13.3 on CUPTI knows the other's name.
	r := s.run(t, 130300, []string{"FAKE_SUBSCRIBE=39"}, "everything")
	if !strings.Contains(fmt.Sprint(r.Notes["refused"]), "CUPTI for another") {
		t.Errorf("note refused: %q", r.Notes["refused"])
	}
}

func cuptiYields(t *testing.T, s cuptiStage) {
	r := s.run(t, 130000, []string{"LACUNA_YIELD=1"}, "everything")
	is(t, "kernels", len(r.Kernels)+len(r.Calls), 0)
	is(t, "notes of CUPTI", len(r.Notes["cupti"])+len(r.Notes["refused"]), 0)
	if !strings.Contains(fmt.Sprint(r.Notes["state"]), `"state":"yielded"`) {
		t.Errorf("state: %q", r.Notes["state"])
	}
}

// A library that does not work is passed over, and one newer than the driver is not even tried.
func cuptiIsFound(t *testing.T, s cuptiStage) {
	both := s.release(t, 130000) + ":" + s.release(t, 22)
	for _, c := range []struct {
		name, want string
		env        []string
	}{
		{"by the driver's release", `"version":22`,
			[]string{"LD_LIBRARY_PATH=" + both + ":" + s.dir, "FAKE_DRIVER=12040"}},
		{"the newest that fits", `"version":130000`, []string{"LD_LIBRARY_PATH=" + both + ":" + s.dir}},
		{"by path", `"version":22`, []string{"LD_LIBRARY_PATH=" + both + ":" + s.dir, "LACUNA_CUPTI=" +
			s.release(t, 22) + "/libcupti.so.12"}},
		{"in a toolkit", `"version":24`, []string{"LD_LIBRARY_PATH=" + s.dir, "FAKE_DRIVER=12060", "CUDA_HOME=" +
			toolkit(t, s, 24)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := s.run(t, 130000, c.env, "everything")
			if notes := fmt.Sprint(r.Notes["cupti"]); !strings.Contains(notes, c.want) {
				t.Errorf("note cupti: %s, want %s", notes, c.want)
			}
			is(t, "kernels", len(r.Kernels), 18)
		})
	}
}

// toolkit makes a folder as NVIDIA's toolkit has it.
func toolkit(t *testing.T, s cuptiStage, version int) string {
	t.Helper()
	root := t.TempDir()
	lib := filepath.Join(root, "extras/CUPTI/lib64")
	if err := os.MkdirAll(lib, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(s.release(t, version)+"/libcupti.so.12", lib+"/libcupti.so.12"); err != nil {
		t.Fatal(err)
	}
	return root
}

func cuptiFails(t *testing.T, s cuptiStage) {
	for _, c := range []struct {
		name, want string
		env        []string
	}{
		{"too new for the driver", "newer than the driver", []string{"FAKE_SUBSCRIBE=15"}},
		{"subscribing fails", "CUPTI answers 2", []string{"FAKE_SUBSCRIBE=2"}},
		{"enabling fails", "CUPTI answers 15", []string{"FAKE_ENABLE=8:15"}},
		{"a path that is none", "no such thing", []string{"LACUNA_CUPTI=/no such thing"}},
		{"a library that is no CUPTI", "lacks cuptiGetVersion", []string{"LACUNA_CUPTI=libm.so.6"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := s.run(t, 130000, c.env, "everything")
			is(t, "kernels", len(r.Kernels), 0)
			if notes := fmt.Sprint(r.Notes["state"]); !strings.Contains(notes, c.want) ||
				!strings.Contains(notes, `"state":"failed"`) {
				t.Errorf("notes: %s, want %s", notes, c.want)
			}
		})
	}
	r := s.run(t, 130000, []string{"FAKE_ENABLE=50:27"}, "everything")
	is(t, "kernels", len(r.Kernels), 18)
	if notes := fmt.Sprint(r.Notes["cupti"]); !strings.Contains(notes,
		`"missing":[{"what":"pool","code":27,"why":"CUPTI_ERROR_\"OTHER\""}]`) {
		t.Errorf("note cupti: %s", notes)
	}
}

// More comes than the memory allows: what does not fit is counted, and memory stays bounded.
func cuptiMemoryIsBounded(t *testing.T, s cuptiStage) {
	const threads, each, limit = 16, 3000, 8 << 20
	for _, version := range []int{24, 130000} {
		r := s.run(t, version, []string{"LACUNA_MEMORY_MB=8", "LACUNA_FLUSH_MS=200"}, "storm", fmt.Sprint(threads),
			fmt.Sprint(each))
		lost := r.Account.Dropped + r.Account.CuptiDropped
		t.Logf("%d: of %d launches %d kernels, %d calls; lost %d, by CUPTI %d; %d bytes", version, threads*each,
			len(r.Kernels), len(r.Calls), r.Account.Dropped, r.Account.CuptiDropped, r.Account.Memory)
		// A kernel and its launch; what was lost is partly an estimate.
		all, said := 2*threads*each, len(r.Kernels)+len(r.Calls)+int(lost)
		if said < all*95/100 || said > all*105/100 {
			t.Errorf("%d: %d records are written or said to be lost, of %d", version, said, all)
		}
		if r.Account.Memory > 3*limit {
			t.Errorf("%d: %d bytes", version, r.Account.Memory)
		}
	}
}

func cuptiUnfinished(t *testing.T, s cuptiStage) {
	r := s.run(t, 130000, []string{"FAKE_STUCK=triton_kernel"}, "everything")
	is(t, "kernels", r.byName()["triton_kernel"], 0)
	is(t, "unfinished", r.Account.Unfinished, 1)
	// The buffer with it is held back to the end, and nothing else of it is lost.
	is(t, "other kernels", len(r.Kernels), 17)
}

func cuptiForks(t *testing.T, s cuptiStage) {
	r := s.run(t, 130000, nil, "forks", "4")
	is(t, "kernels", fmt.Sprint(r.byName()), "map[parent:101]")
}

// Graphs as a whole: one record a run, and none of their kernels.
func cuptiGraphsWhole(t *testing.T, s cuptiStage) {
	r := s.run(t, 130000, []string{"LACUNA_GRAPH=whole"}, "everything")
	is(t, "kernels", r.byName()["captured_a"]+r.byName()["captured_b"], 0)
	is(t, "runs", len(r.Runs), 3)
	for _, run := range r.Runs {
		is(t, "run", run.End-run.Start == 5000 && run.Graph == 2 && run.Stream == 8 && run.Context == 1 &&
			run.Device == 0 && run.Corr > 0, true)
	}
	for _, g := range r.Graphs {
		is(t, "a node", g.What == 3 || g.What == 4, false)
	}
}

// Graphs as a whole between cudaProfilerStart and Stop: exactly the runs that were launched in between, of a graph
// that is older than the window. In a process whose parent knew nothing of CUDA. Armed, graphs are recorded by their
// kernels, and the spool says why.
func cuptiGraphsInWindows(t *testing.T, s cuptiStage) {
	const windows = 6
	for _, version := range []int{18, 130000, 130300} {
		r := s.run(t, version, []string{"LACUNA_WINDOW=profiler", "LACUNA_GRAPH=whole"}, "forked-graphs",
			fmt.Sprint(windows))
		is(t, fmt.Sprintf("runs with %d", version), len(r.Runs), 3*windows)
		is(t, "kernels", fmt.Sprint(r.byName()), fmt.Sprintf("map[plain:%d]", windows))
		is(t, "streams and contexts, older than the windows", len(r.StreamsR)+len(r.Contexts), 2)
		checkDevices(t, r, 2)
		launches := map[uint32]bool{}
		for _, c := range r.Calls {
			launches[c.Corr] = launches[c.Corr] || strings.HasPrefix(r.text(c.Name), "cudaGraphLaunch")
		}
		for _, run := range r.Runs {
			is(t, "a run's launch", launches[run.Corr], true)
		}
	}
	r := s.run(t, 130000, []string{"LACUNA_WINDOW=armed", "LACUNA_GRAPH=whole"}, "restart", "2")
	is(t, "notes of graphs", len(r.Notes["graphs"]), 2)
}

// Names with - are left out of the rest.
func cuptiLeftOut(t *testing.T, s cuptiStage) {
	r := s.run(t, 130000, []string{"LACUNA_KINDS=-jit,-module,-made,-context,-stream,-tid,-copy"}, "everything")
	is(t, "what was left out", len(r.JITs)+len(r.Modules)+len(r.Graphs)+len(r.Contexts)+len(r.StreamsR)+len(r.Copies),
		0)
	is(t, "kernels", len(r.Kernels), 18)
	is(t, "overheads", len(r.Over), 2)
	for _, o := range r.Over { // CUPTI names threads by pthread_self then
		is(t, "thread", o.Tid, r.Calls[0].Tid)
	}
	r = s.run(t, 130000, []string{"LACUNA_KINDS=kernel,copy,-copy"}, "everything")
	is(t, "kernels", len(r.Kernels), 18)
	is(t, "contexts and streams", len(r.Contexts)+len(r.StreamsR), 3)
	is(t, "others", len(r.Copies)+len(r.Calls)+len(r.Sets), 0)
}

// Without CUPTI's own records of waits they come from callbacks of the calls.
func cuptiWaitsByDefault(t *testing.T, s cuptiStage) {
	for _, version := range []int{18, 130000, 130300} {
		r := s.run(t, version, nil, "everything")
		kinds := ""
		recorded := map[uint64]spool.Event{}
		for _, e := range r.Events {
			recorded[e.SyncID] = e
			is(t, "event's stream", e.Stream, 8)
		}
		for _, w := range r.Syncs {
			kinds += fmt.Sprint(w.Kind)
			is(t, "time", w.Start > 0 && w.End >= w.Start, true)
			if w.Kind <= 2 {
				is(t, "recording that was waited for", recorded[w.SyncID].Event == w.Event && w.SyncID != 0, true)
			}
		}
		is(t, fmt.Sprintf("waits with %d", version), kinds, "21344")
		is(t, "events", len(r.Events), 1)
		is(t, "kernels", len(r.Kernels), 18)
	}
}

// Should CUPTI's kernels name no call, it is made to record calls after a while, and the spool says so.
func cuptiUnlinked(t *testing.T, s cuptiStage) {
	r := s.run(t, 130000, []string{"FAKE_UNLINKED=1"}, "steady", "13")
	launches := 0
	for _, c := range r.Calls {
		if r.text(c.Name) == "cudaLaunchKernel" {
			launches++
		}
	}
	is(t, "notes", len(r.Notes["calls"]), 1)
	// the call that is under way at the switch may have neither row: its end is our callback's, or CUPTI's
	if launches < 2599 || launches > 2600 {
		t.Errorf("%d calls, want 2600", launches)
	}
	linked := 0
	for _, k := range r.Kernels {
		if k.Corr != 0 {
			linked++
		}
	}
	is(t, "linked at last", linked > 100 && linked < 2600, true)
	is(t, "kernels", len(r.Kernels), 2600)
}

func cuptiAbandon(t *testing.T, s cuptiStage) {
	for _, version := range []int{24, 130000} {
		r := s.run(t, version, nil, "abandon", "8")
		// How many there are depends on the machine: half a dozen are enough to be ended in the middle of.
		if kernels := r.byName()["outside"]; kernels < 8 || kernels < int(r.Account.Launched) {
			t.Errorf("%d kernels of %d launches that were seen", kernels, r.Account.Launched)
		}
		is(t, "notes of the end", len(r.Notes["end"]), 1)
		if golden.IsLong() && r.took > 5*time.Second {
			t.Errorf("took %v", r.took)
		}
	}
}

func cuptiMayflies(t *testing.T, s cuptiStage) {
	r := s.run(t, 130000, []string{"LACUNA_MEMORY_MB=16"}, "mayflies", "1000")
	t.Logf("%d kernels, %d lost, %d bytes", len(r.Kernels), r.Account.Dropped+r.Account.CuptiDropped, r.Account.Memory)
	is(t, "memory is bounded", r.Account.Memory < 48<<20, true)
	lost := int(r.Account.Dropped + r.Account.CuptiDropped)
	is(t, "every record is written or counted", len(r.Kernels)+len(r.Calls)+lost >= 2000, true)
	// Buffers of threads that ended come back before the memory is used up, if the writer gets a processor.
	is(t, "most are written", len(r.Kernels) >= 300, true)
}

func cuptiSuccessor(t *testing.T, s cuptiStage) {
	r := s.run(t, 130000, []string{"LACUNA_WINDOW=armed"}, "successor", "libcupti.so.13")
	is(t, "notes of refusals", len(r.Notes["refused"]), 1)
	is(t, "windows", len(r.Windows), 4)
}

// BenchmarkCallbacks is what the agent's callbacks of a launch cost, in ns: the runtime's call and the driver's in
// it, by one thread and by 8.
func BenchmarkCallbacks(b *testing.B) {
	s := buildCuptiStage(b, "plain")
	for _, threads := range []string{"1", "8"} {
		b.Run(threads, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command(s.dir+"/work", "cost", threads, "200000")
				cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+s.release(b, 130000)+":"+s.dir,
					"CUDA_INJECTION64_PATH="+s.dir+"/liblacuna.so", "LACUNA_DIR="+b.TempDir())
				out, err := cmd.Output()
				ns, bad := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
				if err != nil || bad != nil {
					b.Fatalf("%v: %q", err, out)
				}
				b.ReportMetric(ns, "launch-ns")
			}
		})
	}
}

package nsight

import (
	"strings"
	"testing"
	"time"

	"lacuna/internal/kernel/kernelname"
)

func quote(s string) string {
	if s != "" && !strings.ContainsAny(s, " '()|$^*\\") && !strings.HasPrefix(s, "-") {
		return s
	}
	return "'" + s + "'"
}

func TestTimeline(t *testing.T) {
	program := []string{"python", "train.py", "--lr", "3"}
	for _, test := range []struct {
		name string
		in   Timeline
		want string
	}{
		{"plain", Timeline{}, "nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --output=out " +
			"--force-overwrite=true python train.py --lr 3"},
		{"graph and memory", Timeline{Graph: "node", Memory: true, Extra: []string{"--gpu-metrics-devices=0"}},
			"nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node " +
				"--cuda-memory-usage=true --gpu-metrics-devices=0 --output=out --force-overwrite=true python " +
				"train.py --lr 3"},
		// the default end of a capture range would shut the program down
		{"profiler", Timeline{Profiler: true}, "nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none " +
			"--capture-range=cudaProfilerApi --capture-range-end=stop --kill=none --wait=all --output=out " +
			"--force-overwrite=true python train.py --lr 3"},
		{"range", Timeline{Range: "measured part"},
			"NSYS_NVTX_PROFILER_REGISTER_ONLY=0 nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none " +
				"--capture-range=nvtx '--nvtx-capture=measured part@*' --capture-range-end=stop --kill=none " +
				"--wait=all --output=out --force-overwrite=true python train.py --lr 3"},
		{"window", Timeline{Delay: 1500 * time.Millisecond, Duration: 10 * time.Second},
			"nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --delay=2 --duration=10 --kill=none " +
				"--wait=all --output=out --force-overwrite=true python train.py --lr 3"},
	} {
		test.in.Output, test.in.Program = "out", program
		if got := test.in.Command("nsys").Words(quote); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

func TestLaunches(t *testing.T) {
	for _, test := range []struct {
		name string
		in   Launches
		want string
	}{
		{"all", Launches{Clock: ClockBase}, "ncu --set full --import-source yes --target-processes all " +
			"--clock-control base --force-overwrite --export out ./app -n 3"},
		{"some", Launches{Name: kernelname.Exactly([]string{"a<int>", "b"}), NameBase: "demangled", Skip: 4, Count: 2,
			Clock: ClockNone, Log: "x.log"},
			"ncu --set full --import-source yes --target-processes all --clock-control none --kernel-name-base " +
				"demangled --kernel-name 'regex:^(a<int>|b)$' --launch-skip 4 --launch-count 2 --log-file x.log " +
				"--force-overwrite --export out ./app -n 3"},
		{"range", Launches{Set: "basic", Range: "step 1/2", Threads: true, Clock: ClockBase, Count: 1},
			`ncu --set basic --import-source yes --target-processes all --clock-control base --nvtx --nvtx-include 'step 1\/2/' --nvtx-push-pop-scope process --launch-count 1 --force-overwrite --export out ./app -n 3`},
	} {
		test.in.Output, test.in.Program = "out", []string{"./app", "-n", "3"}
		if got := test.in.Command("ncu").Words(quote); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

// The messages are ncu's own, as users have reported them.
func TestReadTrouble(t *testing.T) {
	for _, test := range []struct{ log, code, what string }{
		{"==PROF== Connected to process 14600 (/usr/bin/python3)\n==ERROR== ERR_NVGPUCTRPERM - The user does not " +
			"have permission to access NVIDIA GPU Performance Counters on the target device 0. For instructions on " +
			"enabling permissions and to get more information see " +
			"https://developer.nvidia.com/ERR_NVGPUCTRPERM\n==ERROR== The application returned an error code (9).\n",
			"permission", "ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance " +
				"Counters on the target device 0"},
		{"==ERROR== An error was reported by the driver\n\n==ERROR== Cannot lock GPU clock frequencies on MIG! Try " +
			"locking the clocks externally (e.g. using 'nvidia-smi --lock-gpu-clocks=tdp,tdp') or profile without " +
			"fixed frequencies (see '--clock-control').\n==WARNING== No kernels were profiled.\n",
			TroubleClocks, "Cannot lock GPU clock frequencies on MIG! Try locking the clocks externally (e.g. " +
				"using 'nvidia-smi --lock-gpu-clocks=tdp,tdp') or profile without fixed frequencies (see " +
				"'--clock-control')"},
		{"==ERROR== Failed to profile \"flash_fwd_kernel\" in process 7. Driver resource was unavailable. Ensure " +
			"that no other tool (like DCGM) is concurrently collecting profiling data.\n", "busy",
			`Failed to profile "flash_fwd_kernel" in process 7`},
		{"==PROF== Disconnected from process 1\n==WARNING== No kernels were profiled.\n", TroubleNone,
			"No kernels were profiled"},
		{"==ERROR== Failed to prepare kernel for profiling\n==ERROR== Unknown Error on device 0.\n==PROF== Trying " +
			"to shutdown target application\n", "other", "Failed to prepare kernel for profiling"},
		// the program's affair
		{"==PROF== Report: /tmp/x.ncu-rep\n==ERROR== The application returned an error code (3).\n", "", ""},
		{"", "", ""},
	} {
		got := ReadTrouble(test.log)
		if EndedProgram(test.log) != (test.code == "other") {
			t.Errorf("%q: ncu ended the program: %v", test.log, EndedProgram(test.log))
		}
		switch {
		case got == nil && test.code != "":
			t.Errorf("%q: nothing, want %s", test.log, test.code)
		case got != nil && (got.Code != test.code || got.What != test.what):
			t.Errorf("%q: %s %q\nwant %s %q", test.log, got.Code, got.What, test.code, test.what)
		}
	}
}

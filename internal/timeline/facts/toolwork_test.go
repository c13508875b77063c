package facts

import "testing"

// The names that tools give to their own work, and those of the driver's that stand beside them.
func TestIsToolWork(t *testing.T) {
	for name, want := range map[string]bool{
		"activity buffer request": true, "Activity Buffer Request": true, "CUPTI buffer flush": true,
		"CUPTI: Buffer flush": true, "Buffer Flush": true,
		"Instrumentation": true, "Resource": true, "CUPTI Resource Management": true, "TLS allocation": true,
		"Chunk Allocation": true,
		"CUDA profiling data flush on cudaProfilerStop": true, "CUDA profiling memory allocation": true,
		"NVTX profiling initialization": true,
		"Command Buffer Full":           false, "command buffer full": false, "Lazy Function Loading": false,
		"Runtime Triggered Module Loading": false,
		"driver compiler":                  false, "dlopen(libcuda.so.1)": false, "Unknown": false, "": false,
		"overhead 9": false,
	} {
		if got := isToolWork(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

package nsys

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/timeline/model"
)

// TestCorpus opens every export there is. None of them is damaged, so nothing may be lost.
func TestCorpus(t *testing.T) {
	corpus := golden.Corpus(t)
	var files []string
	for _, pattern := range []string{"public/nsys/*/*.sqlite.zst", "system/*/*/*.sqlite.zst"} {
		found, _ := filepath.Glob(filepath.Join(corpus, pattern))
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatal("no captures in the corpus")
	}
	for _, path := range files {
		name, _ := filepath.Rel(corpus, path)
		t.Run(name, func(t *testing.T) {
			trace := mustRead(t, path, 0)
			for _, l := range trace.Losses.All() {
				if l.Code != model.LossUnclosed {
					t.Errorf("loss: %+v", l)
				}
			}
			if trace.Info.Events == 0 || len(trace.Threads) == 0 {
				t.Errorf("%d events, %d threads", trace.Info.Events, len(trace.Threads))
			}
		})
	}
}

// TestCorpusCounts compares row counts with those that were taken with NVIDIA's tool when the corpus was made.
func TestCorpusCounts(t *testing.T) {
	corpus := golden.Corpus(t)
	index, err := os.ReadFile(filepath.Join(corpus, "public/nsys/INDEX.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(index)) {
		fields := strings.Split(line, "\t")
		path := filepath.Join(corpus, "public/nsys", fields[0], "capture.sqlite.zst")
		if _, err := os.Stat(path); err != nil {
			continue // the heading
		}
		t.Run(fields[0], func(t *testing.T) {
			trace := mustRead(t, path, 0)
			groups := map[string]int{
				"KERNEL": trace.Kernels.Len(), "MEMCPY": trace.Copies.Len(), "MEMSET": trace.Sets.Len(),
				"RUNTIME":         trace.Calls.Len(),
				"SYNCHRONIZATION": trace.Syncs.Len(), "CUDA_EVENT": trace.EventRecords.Len(),
				"GRAPH_TRACE": trace.GraphRuns.Len(),
				"CUDA_GRAPH":  trace.GraphEvents.Len(), "OSRT_API": trace.OSCalls.Len(),
				"SCHED_EVENTS":     trace.Sched.Len(),
				"COMPOSITE_EVENTS": trace.Samples.Len(), "OPENACC": trace.OpenACC.Len(),
				"CUDNN_EVENTS": trace.LibCalls.Len(), "MPI": trace.MPI.Len(),
			}
			want := make(map[string]int)
			for word := range strings.FieldsSeq(fields[7]) {
				table, count, _ := strings.Cut(word, "=")
				n, err := strconv.Atoi(count)
				if err != nil {
					t.Fatalf("INDEX.tsv: %q", word)
				}
				switch {
				case table == "NVTX_EVENTS":
					// the rest is names of domains, threads and categories: MPI captures have no others
					have := trace.Ranges.Len() + trace.Marks.Len()
					if have > n || n-have > 100 {
						t.Errorf("%d ranges and marks of %d NVTX events", have, n)
					}
				case strings.HasPrefix(table, "CUDA_GRAPH"):
					want["CUDA_GRAPH"] += n
				case strings.HasPrefix(table, "OPENACC"):
					want["OPENACC"] += n
				case strings.HasPrefix(table, "MPI") && strings.HasSuffix(table, "_EVENTS"):
					want["MPI"] += n
				default:
					if _, known := groups[table]; known {
						want[table] = n
					}
				}
			}
			for table, n := range groups {
				if n != want[table] {
					t.Errorf("%s has %d rows, want %d", table, n, want[table])
				}
			}
		})
	}
}

package kineto

import (
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
)

// open reads a trace and holds it against the model's promises.
func open(t testing.TB, path string, need model.Parts) *model.Trace {
	t.Helper()
	trace, err := reader.Open(context.Background(), path, []*reader.Format{&Format}, reader.Options{Need: need})
	if err != nil {
		t.Fatal(err)
	}
	check(t, trace)
	return trace
}

func check(t testing.TB, trace *model.Trace) {
	t.Helper()
	if err := model.Check(trace); err != nil {
		t.Fatal(err)
	}
	if err := model.CheckStrings(trace); err != nil {
		t.Fatal(err)
	}
}

// INDEX.tsv counts the events of each public trace by category, independently of us.
func TestCorpusCounts(t *testing.T) {
	corpus := golden.Corpus(t)
	index, err := os.Open(corpus + "/public/kineto/INDEX.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	r := csv.NewReader(index)
	r.Comma, r.LazyQuotes = '\t', true
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for _, row := range rows[1:] {
		path := row[column["path"]]
		t.Run(path, func(t *testing.T) {
			trace := open(t, filepath.Join(corpus, "public/kineto", path), 0)
			if want := row[column["events"]]; strconv.FormatInt(trace.Info.Events, 10) != want {
				t.Errorf("%d events, want %s", trace.Info.Events, want)
			}
			want := map[string]int{}
			for _, item := range strings.Fields(row[column["X_events_by_cat"]]) {
				cat, n, _ := strings.Cut(item, "=")
				count, _ := strconv.Atoi(n)
				want[tableOf(cat)] += count
			}
			for name, got := range map[string]int{
				"kernels": trace.Kernels.Len(), "copies": trace.Copies.Len(), "sets": trace.Sets.Len(),
				"calls": trace.Calls.Len(),
				"syncs": trace.Syncs.Len(), "python": trace.PyCalls.Len(), "device ranges": trace.DeviceRanges.Len(),
				"ops and ranges": trace.Ops.Len() + trace.Ranges.Len(),
				"foreign":        int(trace.Losses.Count(model.LossForeignDevice)),
				"metrics":        trace.Counters.Len() / 9,
			} {
				if got != want[name] {
					t.Errorf("%d %s, want %d", got, name, want[name])
				}
				delete(want, name)
			}
			if len(want) > 0 {
				t.Errorf("categories that nobody counts: %v", want)
			}
			for _, loss := range trace.Losses.All() {
				if loss.Code != model.LossForeignDevice {
					t.Errorf("loss: %+v", loss)
				}
			}
		})
	}
}

func tableOf(cat string) string {
	switch cat {
	case "kernel", "Kernel":
		return "kernels"
	case "gpu_memcpy", "Memcpy":
		return "copies"
	case "gpu_memset", "Memset":
		return "sets"
	case "cuda_runtime", "Runtime", "cuda_driver":
		return "calls"
	case "cuda_sync":
		return "syncs"
	case "python_function":
		return "python"
	case "gpu_user_annotation":
		return "device ranges"
	case "cpu_op", "Operator", "user_annotation":
		return "ops and ranges"
	case "mtia_runtime", "mtia_ccp_events":
		return "foreign"
	case "cuda_profiler_range":
		return "metrics"
	}
	return cat
}

// Every system capture opens without a loss.
func TestCorpusSystem(t *testing.T) {
	paths, _ := filepath.Glob(golden.Corpus(t) + "/system/*/*/torch.json.gz")
	if len(paths) == 0 {
		t.Fatal("no captures in the corpus")
	}
	for _, path := range paths {
		trace := open(t, path, 0)
		if trace.Kernels.Len() == 0 || trace.Calls.Len() == 0 {
			t.Errorf("%s: %d kernels, %d calls, %d ops", path, trace.Kernels.Len(), trace.Calls.Len(), trace.Ops.Len())
		}
		if losses := trace.Losses.All(); len(losses) > 0 || len(trace.Warnings) > 0 {
			t.Errorf("%s: %v %v", path, losses, trace.Warnings)
		}
	}
}

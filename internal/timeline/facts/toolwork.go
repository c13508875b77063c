package facts

import (
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// toolWork is how tools call what they do themselves, in part and in lower case: CUPTI's buffers, its hooks and its
// memory, by the names of Nsight Systems, PyTorch and lacuna record; and what Nsight Systems sets up and allocates on
// the threads of the program. They tell of the driver's work under the same heading: command buffers that are full,
// functions and modules that are loaded late, compiling. That is the program's, with or without a profiler.
var toolWork = []string{"buffer flush", "buffer request", "instrumentation", "cupti resource", "resource management",
	"tls allocation", "chunk allocation",
	"profiling memory allocation", "profiling data flush", "profiling initialization", "profiling overhead"}

// ToolWork is when the profiler, by its own account, did something on a thread, by thread. An unprofiled run lacks it.
func (f *Facts) ToolWork() map[model.ThreadRow]interval.Set {
	return f.kept.toolWork.of(f, func(f *Facts) map[model.ThreadRow]interval.Set {
		t := f.Trace
		own := make(map[model.StringID]bool)
		spans := make(map[model.ThreadRow][]interval.Span)
		for i, th := range t.Overheads.Thread {
			name := t.Overheads.Name[i]
			isOwn, known := own[name]
			if !known {
				isOwn = isToolWork(t.Strings.Text(name))
				own[name] = isOwn
			}
			if isOwn && th != model.NoThread {
				start := t.Overheads.StartNs[i]
				spans[th] = append(spans[th], interval.Span{StartNs: start, EndNs: start + t.Overheads.DurNs[i]})
			}
		}
		out := make(map[model.ThreadRow]interval.Set, len(spans))
		for th, list := range spans {
			out[th] = interval.Union(list) // they lie within each other
		}
		return out
	})
}

func isToolWork(name string) bool {
	name = strings.ToLower(name)
	for _, part := range toolWork {
		if strings.Contains(name, part) {
			return true
		}
	}
	return name == "resource" // PyTorch's word for CUPTI's
}

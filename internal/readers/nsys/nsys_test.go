package nsys

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	ref "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
	"lacuna/tools/synth"
)

// readFile reads a capture as the program does.
func readFile(path string, opt reader.Options) (*model.Trace, error) {
	return reader.Open(context.Background(), path, []*reader.Format{&Format}, opt)
}

// mustRead reads a capture that must be in order.
func mustRead(t testing.TB, path string, need model.Parts) *model.Trace {
	t.Helper()
	trace, err := readFile(path, reader.Options{Need: need, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	check(t, trace)
	return trace
}

func check(t testing.TB, trace *model.Trace) {
	t.Helper()
	if err := model.Check(trace); err != nil {
		t.Error(err)
	}
	if err := model.CheckStrings(trace); err != nil {
		t.Error(err)
	}
}

// unpacked is a writable copy of a packed capture.
func unpacked(t testing.TB, packed string) string {
	t.Helper()
	in, err := os.Open(packed)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := zstd.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	path := filepath.Join(t.TempDir(), "x.sqlite")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, z); err != nil {
		t.Fatal(err)
	}
	return path
}

// sql runs a script on a file through SQLite itself.
func sql(t testing.TB, path, script string) {
	t.Helper()
	db, err := ref.OpenConn(path, ref.OpenReadWrite|ref.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := sqlitex.ExecuteScript(db, script, nil); err != nil {
		t.Fatal(err)
	}
}

// ask is a query's rows, the columns of each joined by "|".
func ask(t testing.TB, path, query string) []string {
	t.Helper()
	db, err := ref.OpenConn(path, ref.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var out []string
	err = sqlitex.Execute(db, query, &sqlitex.ExecOptions{ResultFunc: func(s *ref.Stmt) error {
		var cells []string
		for i := range s.ColumnCount() {
			cells = append(cells, s.ColumnText(i))
		}
		out = append(out, strings.Join(cells, "|"))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRows compares whole tables with what SQLite says of the same file.
func TestRows(t *testing.T) {
	tests := []struct {
		file, name, query string
		rows              func(*model.Trace) []string
	}{
		{"dtype_churn", "kernels", `select start, end - start, deviceId, contextId, streamId, correlationId, globalPid >> 24 & 0xffffff, d.value, s.value, gridX, blockX, registersPerThread, dynamicSharedMemory
			from CUPTI_ACTIVITY_KIND_KERNEL join StringIds d on d.id = demangledName join StringIds s on s.id = shortName order by start`,
			func(tr *model.Trace) (out []string) {
				k := &tr.Kernels
				for i := range k.StartNs {
					out = append(out, row(k.StartNs[i], k.DurNs[i], k.Device[i], k.Context[i], k.Stream[i], k.Corr[i],
						tr.Processes[k.Process[i]].Pid,
						tr.Strings.Text(k.Name[i]), tr.Strings.Text(k.Short[i]), k.GridX[i], k.BlockX[i],
						k.Registers[i], k.DynShared[i]))
				}
				return out
			}},
		{"dtype_churn", "calls", `select start, end - start, globalTid & 0xffffff, correlationId, eventClass, returnValue, value
			from CUPTI_ACTIVITY_KIND_RUNTIME join StringIds on id = nameId order by start, end desc`,
			func(tr *model.Trace) (out []string) {
				c := &tr.Calls
				for i := range c.StartNs {
					out = append(out, row(c.StartNs[i], c.DurNs[i], tr.Threads[c.Thread[i]].Tid, c.Corr[i], c.Class[i],
						c.Return[i], tr.Strings.Text(c.Name[i])))
				}
				return out
			}},
		{"dtype_churn", "ranges", `select start, end - start, globalTid & 0xffffff, eventType, coalesce(value, text), NVTX_EVENTS.rowid
			from NVTX_EVENTS left join StringIds on id = textId where eventType in (59, 60) order by start, end desc`,
			func(tr *model.Trace) (out []string) {
				r := &tr.Ranges
				for i := range r.StartNs {
					out = append(out, row(r.StartNs[i], r.DurNs[i], tr.Threads[r.Thread[i]].Tid, r.Style[i],
						tr.Strings.Text(r.Name[i]), r.RowID[i]))
				}
				return out
			}},
		{"flameox-graphs", "graph runs", `select start, end - start, graphId, graphExecId, correlationId from CUPTI_ACTIVITY_KIND_GRAPH_TRACE order by start`,
			func(tr *model.Trace) (out []string) {
				g := &tr.GraphRuns
				for i := range g.StartNs {
					out = append(out, row(g.StartNs[i], g.DurNs[i], g.Graph[i], g.Exec[i], g.Corr[i]))
				}
				return out
			}},
		{"flameox-graphs", "OS calls with stacks",
			`select start, value, (select group_concat(value, ' < ') from (select value from OSRT_CALLCHAINS c join StringIds s on s.id = c.symbol
			where c.id = callchainId order by stackDepth)) from OSRT_API join StringIds n on n.id = nameId order by start, end desc`,
			func(tr *model.Trace) (out []string) {
				o := &tr.OSCalls
				for i := range o.StartNs {
					var stack []string
					for f := o.Stack[i]; f != model.NoFrame; f = tr.Frames.Parent[f] {
						stack = append(stack, tr.Strings.Text(tr.Frames.Symbol[f]))
					}
					out = append(out, row(o.StartNs[i], tr.Strings.Text(o.Name[i]), strings.Join(stack, " < ")))
				}
				return out
			}},
		{"rtx3080-small", "copies", `select start, end - start, bytes, copyKind, srcKind + 1, dstKind + 1, label from CUPTI_ACTIVITY_KIND_MEMCPY join ENUM_CUDA_MEMCPY_OPER on id = copyKind`,
			func(tr *model.Trace) (out []string) {
				c := &tr.Copies
				for i := range c.StartNs {
					out = append(out, row(c.StartNs[i], c.DurNs[i], c.Bytes[i], c.Kind[i], c.Src[i], c.Dst[i],
						tr.Strings.Text(c.Label[i])))
				}
				return out
			}},
		{"rtx3080-small", "diagnostics", `select timestamp, severity, text from DIAGNOSTIC_EVENT order by timestamp`,
			func(tr *model.Trace) (out []string) {
				d := &tr.Diagnostics
				for i := range d.TimeNs {
					out = append(out, row(d.TimeNs[i], d.Severity[i], tr.Strings.Text(d.Text[i])))
				}
				return out
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := unpacked(t, filepath.Join("testdata", tt.file+".sqlite.zst"))
			got, want := tt.rows(mustRead(t, path, 0)), ask(t, path, tt.query)
			if len(want) == 0 || len(got) != len(want) {
				t.Fatalf("%d rows, SQLite has %d", len(got), len(want))
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("row %d\ngot  %s\nwant %s", i, got[i], want[i])
				}
			}
		})
	}
}

func row(cells ...any) string {
	var out []string
	for _, c := range cells {
		out = append(out, fmt.Sprint(c))
	}
	return strings.Join(out, "|")
}

// TestInfo reads what a file says of itself.
func TestInfo(t *testing.T) {
	trace := mustRead(t, "testdata/dtype_churn.sqlite.zst", 0)
	if trace.Info.Producer != "Nsight Systems 2025.3.2" || trace.Info.Schema != "3.20.3" ||
		trace.Info.Format != "nsys" || trace.Info.Driver != 13000 ||
		trace.Info.Cores != 16 {
		t.Errorf("info is %+v", trace.Info)
	}
	if len(trace.Devices) == 0 || trace.Devices[0].Name != "NVIDIA H200" || trace.Devices[0].SMs != 132 ||
		trace.Devices[0].ComputeMajor != 9 || trace.Devices[0].ThreadsPerSM != 2048 {
		t.Errorf("devices are %+v", trace.Devices)
	}
	if trace.Epoch.UnixNs == 0 || len(trace.Contexts) == 0 || len(trace.Streams) == 0 {
		t.Errorf("epoch %+v, %d contexts, %d streams", trace.Epoch, len(trace.Contexts), len(trace.Streams))
	}
	for _, kv := range trace.Info.Meta {
		if strings.Contains(kv.Key, "ENV") || strings.Contains(kv.Key, "Environment") {
			t.Errorf("the environment is in the metadata: %s", kv.Key)
		}
	}
}

// TestGraphDetail: how graphs were recorded is what the options of the capture say; without them it is unknown.
func TestGraphDetail(t *testing.T) {
	path := unpacked(t, "testdata/flameox-graphs.sqlite.zst")
	sql(t, path, "CREATE TABLE IF NOT EXISTS META_DATA_CAPTURE (name TEXT, value TEXT); DELETE FROM META_DATA_CAPTURE")
	if got := mustRead(t, path, 0).Info.Graphs; got != model.GraphsUnknown {
		t.Errorf("without options %d", got)
	}
	for mode, want := range map[string]model.GraphDetail{"Node": model.GraphsByNode, "graph": model.GraphsWhole} {
		sql(t, path, "DELETE FROM META_DATA_CAPTURE; INSERT INTO META_DATA_CAPTURE (name, value) VALUES ('PROCESS_0:"+
			graphMode+"', '"+mode+"')")
		if got := mustRead(t, path, 0).Info.Graphs; got != want {
			t.Errorf("%s: %d, want %d", mode, got, want)
		}
	}
}

// TestSessionEnd: one session tells when recording ended, two do not.
func TestSessionEnd(t *testing.T) {
	path := unpacked(t, "testdata/flameox-graphs.sqlite.zst")
	const details = "INSERT INTO ANALYSIS_DETAILS (globalVid, duration, startTime, stopTime) VALUES (0, 700, 50, 750);"
	sql(t, path, "CREATE TABLE IF NOT EXISTS ANALYSIS_DETAILS (globalVid INTEGER, duration INTEGER, startTime INTEGER, "+
		"stopTime INTEGER); DELETE FROM ANALYSIS_DETAILS;"+details)
	if got := mustRead(t, path, 0).Info.EndNs; got != 700 {
		t.Errorf("of one session: %d", got)
	}
	sql(t, path, details)
	if got := mustRead(t, path, 0).Info.EndNs; got != 0 {
		t.Errorf("of two: %d", got)
	}
}

// TestOutput: of what a process wrote, the end is kept.
func TestOutput(t *testing.T) {
	path := unpacked(t, "testdata/flameox-graphs.sqlite.zst")
	output := func() (p model.Process) {
		for _, p := range mustRead(t, path, 0).Processes {
			if p.Stdout != "" {
				return p
			}
		}
		return p
	}
	if p := output(); p.Stdout != "nsight smoke complete\n" || p.Stderr != "" {
		t.Errorf("stdout %q, stderr %q", p.Stdout, p.Stderr)
	}
	sql(t, path, "UPDATE StringIds SET value = '"+strings.Repeat("x", 2*model.OutputBytes)+"end' WHERE id = "+
		"(SELECT p.contentId FROM ProcessStreams p JOIN StringIds f ON f.id = p.filenameId WHERE f.value LIKE '%stdout%')")
	if p := output(); len(p.Stdout) != model.OutputBytes || !strings.HasSuffix(p.Stdout, "xend") {
		t.Errorf("of a long output %d bytes are kept", len(p.Stdout))
	}
}

// TestSyncKinds: the name of the call tells what a record waited for, whatever its number.
func TestSyncKinds(t *testing.T) {
	path := unpacked(t, "testdata/flameox-graphs.sqlite.zst")
	for _, need := range []model.Parts{0, model.PartSyncs, model.PartSyncs | model.PartCalls} {
		s := mustRead(t, path, need).Syncs
		if s.Len() != 2 || s.Kind[0] != model.SyncStream || s.Kind[1] != model.SyncStream {
			t.Errorf("parts %b: kinds are %v, want streams", need, s.Kind)
		}
	}
	sql(t, path, "DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME; UPDATE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION SET syncType "+
		"= 4 WHERE rowid = 1")
	if s := mustRead(t, path, 0).Syncs; s.Kind[0] != model.SyncContext || s.Kind[1] != model.SyncStream {
		t.Errorf("without calls, kinds are %v", s.Kind)
	}
}

// TestParts: what is not asked for is not read, and what is asked for is all there.
func TestParts(t *testing.T) {
	all := mustRead(t, "testdata/dtype_churn.sqlite.zst", 0)
	k := mustRead(t, "testdata/dtype_churn.sqlite.zst", model.PartKernels)
	if k.Calls.Len() != 0 || k.Ranges.Len() != 0 || k.Kernels.GridX != nil {
		t.Error("more was read than kernels")
	}
	if !reflect.DeepEqual(k.Kernels.StartNs, all.Kernels.StartNs) || k.Loaded != model.PartKernels ||
		all.Loaded != model.PartsAll {
		t.Error("kernels differ when read alone")
	}
}

// TestParallel: the same trace comes out however many processors share the work.
func TestParallel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sqlite")
	if err := synth.Nsys(path, 40_000); err != nil {
		t.Fatal(err)
	}
	// names in the rows themselves, and rows that are dropped, so that there is something to renumber and gaps to close
	sql(t, path, `UPDATE NVTX_EVENTS SET text = 'range ' || rowid % 100, textId = NULL; UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'x' WHERE rowid % 100 = 3;
		UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = globalTid + rowid / 5000;`)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := mustRead(t, path, 0)
	runtime.GOMAXPROCS(8)
	eight := mustRead(t, path, 0)
	if one.Kernels.Len() != 39_600 || one.Calls.Len() != 41_600 || one.Ranges.Len() != 2400 {
		t.Errorf("%d kernels, %d calls, %d ranges", one.Kernels.Len(), one.Calls.Len(), one.Ranges.Len())
	}
	other := eight.Tables()
	for i, table := range one.Tables() {
		for j, c := range table.Columns {
			if !reflect.DeepEqual(c.Slice.Interface(), other[i].Columns[j].Slice.Interface()) {
				t.Errorf("%s.%s differs", table.Name, c.Name)
			}
		}
	}
	if !reflect.DeepEqual(one.Threads, eight.Threads) || !reflect.DeepEqual(one.Losses.All(), eight.Losses.All()) {
		t.Error("threads or losses differ")
	}
	for i := range one.Strings.Len() {
		if a, b := one.Strings.Text(model.StringID(i)), eight.Strings.Text(model.StringID(i)); a != b {
			t.Fatalf("text %d is %q and %q", i, a, b)
		}
	}
}

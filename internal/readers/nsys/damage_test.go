package nsys

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
	"lacuna/tools/synth"
)

// TestWrong: values of wrong types and sizes are counted, and the rest is read.
func TestWrong(t *testing.T) {
	tests := []struct {
		name, script string
		losses       map[model.LossCode]int64
		ok           func(*model.Trace) bool
	}{
		{"starts that are text", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'x'",
			map[model.LossCode]int64{model.LossBadTime: 100},
			func(tr *model.Trace) bool { return tr.Kernels.Len() == 0 && tr.Calls.Len() == 104 }},
		{"no start", "CREATE TABLE k AS SELECT end, deviceId, demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL; DROP " +
			"TABLE CUPTI_ACTIVITY_KIND_KERNEL; ALTER TABLE k RENAME TO CUPTI_ACTIVITY_KIND_KERNEL",
			map[model.LossCode]int64{model.LossBadTime: 100},
			func(tr *model.Trace) bool { return tr.Kernels.Len() == 0 }},
		{"far away times", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 9223372036854775807 WHERE rowid = 1; " +
			"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = -9223372036854775808 WHERE rowid = 2",
			map[model.LossCode]int64{model.LossBadTime: 2},
			func(tr *model.Trace) bool { return tr.Kernels.Len() == 99 && tr.Kernels.DurNs[0] == 0 }},
		{"times that are floats", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = start + 0.5, end = 1e300 WHERE " +
			"rowid = 5",
			map[model.LossCode]int64{model.LossBadTime: 1},
			func(tr *model.Trace) bool { return tr.Kernels.Len() == 99 }},
		{"backwards", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start - 1000 WHERE rowid % 2",
			map[model.LossCode]int64{model.LossNegative: 50},
			func(tr *model.Trace) bool {
				return tr.Kernels.Len() == 100 && tr.Kernels.DurNs[0] == 0 && tr.Kernels.DurNs[1] > 0
			}},
		{"ids out of range", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = -1, streamId = 1e300, shortName = " +
			"99999999, demangledName = -5, registersPerThread = 70000 WHERE rowid <= 10",
			map[model.LossCode]int64{model.LossWidth: 50}, func(tr *model.Trace) bool {
				k := &tr.Kernels
				return k.Len() == 100 && k.Device[0] == model.NoDevice && k.Stream[0] == model.NoStream &&
					k.Name[0] == 0 && k.Short[0] == 0 && k.Registers[0] == 0
			}},
		{"names that are no text", "UPDATE StringIds SET value = x'c328' WHERE id % 2; UPDATE NVTX_EVENTS SET text " +
			"= x'fffe00', textId = NULL", nil,
			func(tr *model.Trace) bool { return tr.Strings.Text(tr.Ranges.Name[0]) == "\xff\xfe\x00" }},
		{"names that are missing", "DELETE FROM StringIds",
			map[model.LossCode]int64{model.LossWidth: 100 + 100 + 104 + 6},
			func(tr *model.Trace) bool { return tr.Kernels.Len() == 100 && tr.Kernels.Name[0] == 0 }},
		{"ids of texts that are far apart", "UPDATE StringIds SET id = id * 1000000007 WHERE id >= 100; UPDATE " +
			"CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = demangledName * 1000000007, shortName = shortName * " +
			"1000000007", nil,
			func(tr *model.Trace) bool { return strings.HasPrefix(tr.Strings.Text(tr.Kernels.Short[0]), "kernel_") }},
		{"ranges without end", "UPDATE NVTX_EVENTS SET end = NULL WHERE rowid <= 2",
			map[model.LossCode]int64{model.LossUnclosed: 2},
			func(tr *model.Trace) bool { return tr.Ranges.Len() == 6 && tr.Ranges.DurNs[0] == model.OpenDurNs }},
		{"no correlation", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = 0 WHERE rowid = 1; UPDATE " +
			"CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = NULL WHERE rowid = 2", nil,
			func(tr *model.Trace) bool {
				return tr.Kernels.Corr[0] == model.NoCorr && tr.Kernels.Corr[1] == model.NoCorr &&
					tr.Kernels.Corr[2] != model.NoCorr
			}},
		{"only strings", "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME; DROP " +
			"TABLE CUPTI_ACTIVITY_KIND_MEMCPY; DROP TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION; DROP TABLE NVTX_EVENTS",
			nil,
			func(tr *model.Trace) bool { return tr.Info.Events == 0 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.sqlite")
			if err := synth.Nsys(path, 100); err != nil {
				t.Fatal(err)
			}
			sql(t, path, tt.script)
			trace := mustRead(t, path, 0)
			if !tt.ok(trace) {
				t.Error("the trace is not as it should be")
			}
			for _, l := range trace.Losses.All() {
				if tt.losses[l.Code] != l.Count {
					t.Errorf("loss %+v, want %d", l, tt.losses[l.Code])
				}
			}
			if len(trace.Losses.All()) != len(tt.losses) {
				t.Errorf("losses are %+v, want %v", trace.Losses.All(), tt.losses)
			}
		})
	}
}

// TestPayloads reads every form of a range's payload, marks, domains and names of threads.
func TestPayloads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sqlite")
	if err := synth.Nsys(path, 100); err != nil {
		t.Fatal(err)
	}
	const tid = "1<<48 | 1000<<24 | 1001"
	sql(t, path, `DELETE FROM NVTX_EVENTS; INSERT INTO StringIds VALUES (900, '{"a": 1}');
		CREATE TABLE NVTX_PAYLOAD_SCHEMAS (domainId INTEGER, schemaId INTEGER, payloadSize INTEGER);
		CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER, schemaId INTEGER, idx INTEGER, type INTEGER, name TEXT, offset INTEGER);
		INSERT INTO NVTX_PAYLOAD_SCHEMAS VALUES (3, 1, 16), (3, 2, 8), (4, 1, 16);
		INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (3, 1, 0, 18, 'comm "x"', NULL), (3, 1, 1, 5, 'rank', 8), (3, 1, 2, 19, 'x', 12), (3, 1, 3, 5, 'outside', 13);
		INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text, domainId) VALUES (-50, NULL, 75, `+tid+
		`, 'NCCL', 3), (-40, NULL, 39, `+tid+`, 'MPI Rank 2', 0), (7, NULL, 34, `+tid+`, 'mark', 3);
		INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text, domainId, uint64Value) VALUES (10, 20, 59, `+
		tid+`, 'r', 0, -1);
		INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text, domainId, int64Value) VALUES (11, 20, 60, `+
		tid+`, 'r', 3, -1);
		INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text, domainId, doubleValue) VALUES (12, 20, 70, `+
		tid+`, 'r', 9, 2);
		INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text, domainId, jsonTextId) VALUES (13, 20, 71, `+
		tid+`, 'r', 0, 900);
		INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text, domainId, binaryData) VALUES (14, 20, 59, `+
		tid+`, 'r', 3, x'0100000000000080fbffffff0000003f'), (15, 20, 59, `+tid+`, 'r', 3, x'0102');`)
	trace := mustRead(t, path, 0)
	want := []string{"18446744073709551615", "-1", "2", `{"a": 1}`,
		`{"comm \"x\"":9223372036854775809,"rank":-5,"x":0.5,"outside":null}`, "0102"}
	for i, w := range want {
		if got := trace.Strings.Text(trace.Ranges.Payload[i]); got != w {
			t.Errorf("payload %d is %s, want %s", i, got, w)
		}
	}
	r := &trace.Ranges
	if r.Domain[0] != model.NoDomain || trace.Domains[r.Domain[1]].Name != "NCCL" || r.Domain[2] != model.NoDomain ||
		r.DomainID[2] != 9 {
		t.Errorf("domains of ranges are %v of %v", r.Domain, trace.Domains)
	}
	if m := &trace.Marks; m.Len() != 1 || trace.Strings.Text(m.Name[0]) != "mark" ||
		trace.Domains[m.Domain[0]].Name != "NCCL" {
		t.Errorf("marks are %+v", trace.Marks)
	}
	if th := trace.Threads[r.Thread[0]]; th.Name != "MPI Rank 2" || trace.Processes[th.Process].Rank != 2 ||
		trace.Info.Rank != 2 {
		t.Errorf("thread %+v of process %+v", th, trace.Processes[th.Process])
	}
}

// TestNCCL finds the collective of a kernel in the payload of the range that NCCL puts around its launch.
func TestNCCL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sqlite")
	if err := synth.Nsys(path, 100); err != nil {
		t.Fatal(err)
	}
	sql(t, path, `CREATE TABLE NVTX_PAYLOAD_SCHEMAS (domainId INTEGER, schemaId INTEGER, payloadSize INTEGER);
		INSERT INTO StringIds VALUES (900, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL');
		CREATE TABLE one AS SELECT r.start, r.end, r.globalTid, r.correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME r
			JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.correlationId = r.correlationId ORDER BY r.start LIMIT 1 OFFSET 5;
		UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 900, shortName = 900 WHERE correlationId = (SELECT correlationId FROM one);
		INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text, domainId) SELECT 1, NULL, 75, globalTid, 'NCCL', 3 FROM one;
		INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text, domainId, jsonText)
			SELECT start - 1, end + 1, 59, globalTid, 'ncclAllReduce', 3, '{"NCCL communicator ID":255,"Message size [bytes]":4096,"Reduction operation":0}' FROM one;`)
	for _, need := range []model.Parts{0, model.PartOps | model.PartRanges | model.PartKernels | model.PartCalls} {
		trace := mustRead(t, path, need)
		c, k := &trace.Collectives, &trace.Kernels
		if c.Len() != 1 || c.InBytes[0] != 4096 || trace.Strings.Text(c.Group[0]) != "0xff" ||
			trace.Strings.Text(c.Name[0]) != "allreduce" {
			t.Fatalf("need %b: collectives %+v", need, c)
		}
		if (trace.Ranges.Payload != nil) != (need == 0) {
			t.Errorf("need %b: payloads %v", need, trace.Ranges.Payload != nil)
		}
		for i, row := range k.Collective {
			if ours := strings.HasPrefix(trace.Strings.Text(k.Name[i]), "nccl"); ours != (row == 0) {
				t.Errorf("kernel %d, %s: collective %d", i, trace.Strings.Text(k.Name[i]), row)
			}
		}
	}
}

// TestCounters reads sampled metrics as NVIDIA documents their tables.
func TestCounters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sqlite")
	sql(t, path, `CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
		CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, cuDevice INTEGER); INSERT INTO TARGET_INFO_GPU VALUES (0, 'a', 1), (1, 'b', 0);
		CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, typeName TEXT, metricId INTEGER, metricName TEXT);
		INSERT INTO TARGET_INFO_GPU_METRICS VALUES (72057594037928193, 0, 'GPU', 4, 'SMs Active [Throughput %]'), (72057594037928193, 0, 'GPU', 5, 'GPC Clock');
		CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);
		INSERT INTO GPU_METRICS VALUES (20, 72057594037928193, 5, 1000), (20, 72057594037928193, 4, 77), (10, 72057594037928193, 4, 50), (10, 1, 4, 1);
		CREATE TABLE TARGET_INFO_NIC_INFO (nicId INTEGER, name TEXT); INSERT INTO TARGET_INFO_NIC_INFO VALUES (5, 'mlx5_0');
		CREATE TABLE NIC_ID_MAP (nicId INTEGER, globalId INTEGER); INSERT INTO NIC_ID_MAP VALUES (5, 500);
		CREATE TABLE TARGET_INFO_NETWORK_METRICS (metricsListId INTEGER, metricsIdx INTEGER, name TEXT, description TEXT, unit TEXT); INSERT INTO TARGET_INFO_NETWORK_METRICS VALUES (1, 0, 'Bytes sent', '', 'B');
		CREATE TABLE NET_NIC_METRIC (start INTEGER, end INTEGER, globalId INTEGER, portId INTEGER, metricsListId INTEGER, metricsIdx INTEGER, value INTEGER);
		INSERT INTO NET_NIC_METRIC VALUES (5, 6, 500, 1, 1, 0, 12345);
		CREATE TABLE GENERIC_EVENT_SOURCES (sourceId INTEGER PRIMARY KEY, data TEXT); INSERT INTO GENERIC_EVENT_SOURCES VALUES (7, '{"Name": "GpuMetrics"}'), (8, '{"Name": "FTrace"}');
		CREATE TABLE GENERIC_EVENT_TYPES (typeId INTEGER PRIMARY KEY, sourceId INTEGER, data TEXT); INSERT INTO GENERIC_EVENT_TYPES VALUES (256, 7, '{}'), (257, 8, '{}');
		CREATE TABLE GENERIC_EVENTS (rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER, data TEXT);
		INSERT INTO GENERIC_EVENTS VALUES (30, NULL, 256, '{"SM Active": "50", "Name": "x"}'), (31, 29, 256, '{"SM Active": 51.5}'), (1, 1, 257, '{"a": 1}'), (2, 2, 256, 'no JSON');`)
	trace := mustRead(t, path, 0)
	var got []string
	for i := range trace.Counters.TimeNs {
		track := trace.Tracks[trace.Counters.Track[i]]
		got = append(got, row(trace.Counters.TimeNs[i], track.Name, track.Unit, track.Device, trace.Counters.Value[i]))
	}
	want := "10|SMs Active|Throughput %|0|50 20|SMs Active|Throughput %|0|77 20|GPC Clock||0|1000 5|mlx5_0: Bytes " +
		"sent|B|4294967295|12345 29|SM Active||1|51.5 30|SM Active||1|50"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
	if trace.Losses.Count(model.LossUnknownEvent) != 1 {
		t.Errorf("losses are %v", trace.Losses.All())
	}
}

// TestForeign: a SQLite file that is no export is an error that names its tables.
func TestForeign(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sqlite")
	sql(t, path, "CREATE TABLE bookmarks (a)")
	_, err := readFile(path, reader.Options{})
	if err == nil || !strings.Contains(err.Error(), `"bookmarks"`) || !strings.HasPrefix(err.Error(), path) ||
		!strings.Contains(err.Error(), "nsys export") {
		t.Errorf("error is %v", err)
	}
}

// TestWriteAheadLog: rows that SQLite still keeps beside the file are not read, and that is said.
func TestWriteAheadLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sqlite")
	if err := synth.Nsys(path, 10); err != nil {
		t.Fatal(err)
	}
	if trace := mustRead(t, path, 0); len(trace.Warnings) > 0 {
		t.Errorf("without a log: %v", trace.Warnings)
	}
	if err := os.WriteFile(path+"-wal", []byte("log"), 0o666); err != nil {
		t.Fatal(err)
	}
	if trace := mustRead(t, path, 0); len(trace.Warnings) != 1 ||
		!strings.Contains(trace.Warnings[0], "wal_checkpoint") {
		t.Errorf("with a log: %v", trace.Warnings)
	}
}

// TestCut reads exports that were cut off: a loss or an error says so, and more of the file never means less of the
// trace.
func TestCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sqlite")
	if err := synth.Nsys(path, 5000); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var before int64
	for i := range 11 {
		trace, err := readFile("cut.sqlite", reader.Options{Data: whole[:len(whole)*i/11]})
		if i == 0 {
			continue // an empty file is nobody's
		}
		if err != nil {
			if !strings.Contains(err.Error(), "damaged") {
				t.Errorf("%d of 11: %v", i, err)
			}
			continue
		}
		check(t, trace)
		if trace.Losses.Count(model.LossTruncated) != 1 || trace.Losses.Count(model.LossUnreadableTable) == 0 {
			t.Errorf("%d of 11: losses %v", i, trace.Losses.All())
		}
		if trace.Info.Events < before {
			t.Errorf("%d of 11: %d events, %d before", i, trace.Info.Events, before)
		}
		before = trace.Info.Events
	}
	if before == 0 {
		t.Error("nothing was ever read")
	}
}

// TestFlipped reads files with 200 bits turned over, and packed ones cut off.
func TestFlipped(t *testing.T) {
	whole, err := os.ReadFile(unpacked(t, "testdata/dtype_churn.sqlite.zst"))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(40) {
		rng, data := rand.New(rand.NewPCG(seed, 1)), bytes.Clone(whole)
		for range 200 {
			data[100+rng.IntN(len(data)-100)] ^= 1 << rng.IntN(8)
		}
		if trace, err := readFile("x.sqlite", reader.Options{Data: data}); err == nil {
			check(t, trace)
		}
	}
	packed, err := os.ReadFile("testdata/dtype_churn.sqlite.zst")
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < 8; i++ {
		trace, err := readFile("x.sqlite.zst", reader.Options{Data: packed[:len(packed)*i/8]})
		if err == nil && trace.Losses.Count(model.LossTruncated) == 0 {
			t.Errorf("%d of 8: nothing says that it is cut", i)
		}
	}
}

// FuzzRead reads mutated exports: no panic, no promise of the model broken.
func FuzzRead(f *testing.F) {
	path := filepath.Join(f.TempDir(), "x.sqlite")
	if err := synth.Nsys(path, 60); err != nil {
		f.Fatal(err)
	}
	seed, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	for i := range 8 {
		data := bytes.Clone(seed)
		rng := rand.New(rand.NewPCG(uint64(i), 2))
		for range 50 {
			data[100+rng.IntN(len(data)-100)] = byte(rng.IntN(256))
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if trace, err := readFile("x.sqlite", reader.Options{Data: append([]byte("SQLite format 3\x00"),
			data[min(16, len(data)):]...)}); err == nil {
			check(t, trace)
		}
	})
}

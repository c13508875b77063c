package spool

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"lacuna/internal/base/golden"
	raw "lacuna/internal/capture/spool"
	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
)

// small is a capture in which every table has a row or a few.
func small(t testing.TB) []byte { return append(program(t), recorder(t, 40, 3_000_000)...) }

// program is what the agent wrote of it.
func program(t testing.TB) []byte {
	l := newLoop(t, 40, map[string]string{"RANK": "0"})
	l.push("step_0")
	l.say(l.Flush())
	l.kernel(gemm, 9000)
	l.kernel("k", 9000)
	l.say(l.Flush())
	l.pop()
	l.graph()
	l.row(raw.Overhead{Start: l.gpu(1), End: l.gpu(5), Kind: 1 << 16, Tid: 40},
		raw.Memory{Time: l.gpu(4), Bytes: 9, Operation: 2, Kind: 3, Corr: 1, Name: l.Text("m")})
	l.row(raw.Pool{Time: l.gpu(1)}, raw.Module{Module: 1}, raw.JIT{Start: l.gpu(1), End: l.gpu(2)},
		raw.Category{Category: 1, Name: l.Text("c")})
	l.row(raw.Sync{Start: l.gpu(1), End: l.gpu(2), Kind: 3, Context: 1}, raw.Event{Time: l.gpu(3), Context: 1},
		raw.GraphRun{Start: l.gpu(1), End: l.gpu(2), Graph: 4})
	l.row(raw.Copy{Start: l.gpu(1), End: l.gpu(2), Bytes: 5, Kind: 10, SrcDevice: 0, DstDevice: 1},
		raw.Set{Start: l.gpu(1), End: l.gpu(2)})
	return l.end()
}

// rows is how many rows each table has.
func rows(x *model.Trace) map[string]int {
	out := make(map[string]int)
	for _, t := range x.Tables() {
		out[t.Name] = t.Len()
	}
	return out
}

// TestEveryTable reads a row of every table, and says which have no place.
func TestEveryTable(t *testing.T) {
	x := readBytes(t, small(t), reader.Options{})
	for _, name := range []string{"Kernels", "Copies", "Sets", "GraphRuns", "Calls", "Syncs", "EventRecords",
		"GraphEvents", "Ranges", "DeviceAllocs", "Samples", "Frames", "Sched", "Counters", "Overheads"} {
		if rows(x)[name] == 0 {
			t.Errorf("%s has no rows", name)
		}
	}
	if d := &x.DeviceAllocs; d.Bytes[0] != -9 || x.Strings.Text(d.Name[0]) != "m" || d.Mem[0] != model.MemDevice {
		t.Errorf("allocations %+v", d)
	}
	if o := &x.Overheads; x.Strings.Text(o.Name[0]) != "CUPTI buffer flush" || x.Threads[o.Thread[0]].Tid != 40 {
		t.Errorf("overheads %+v", o)
	}
	last := model.KeyValue{Key: "in the file and not read", Value: "jit (1 rows), module (1 rows), pool (1 rows)"}
	if !slices.Contains(x.Info.Meta, last) {
		t.Errorf("says of itself %v", x.Info.Meta)
	}
}

// TestCutAtEveryByte reads what is whole of a capture that is cut, and says that it is cut.
func TestCutAtEveryByte(t *testing.T) {
	file := program(t)
	begun := bytes.Index(file[1:], []byte(raw.Magic)) + 1 // the first chunk is whole from here on
	before := map[string]int{}
	whole, cut := 0, 0
	chunks := bytes.Count(file, []byte(raw.Magic))
	for n := range len(file) + 1 {
		// Every seventh byte, and what is near the end of a chunk; a long test tries every byte.
		if near := file[max(0, n-8):min(len(file), n+8)]; !golden.IsLong() && n%7 > 0 && n < len(file) &&
			!bytes.Contains(near, []byte(raw.Magic)) {
			continue
		}
		x, err := tryRead(file[:n], reader.Options{})
		if n < begun {
			if err == nil || !strings.HasPrefix(err.Error(), "x.lacuna: is ") {
				t.Fatalf("%d bytes: %v", n, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if err := model.Check(x); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		// calls and samples can also lose rows: the driver's inside the runtime's, those without a clock
		for name, have := range before {
			if got := rows(x)[name]; got < have && name != "Calls" && name != "Samples" && name != "Sched" &&
				name != "Ranges" {
				t.Fatalf("%d bytes: %d rows of %s, with fewer bytes %d", n, got, name, have)
			}
		}
		before = rows(x)
		if x.Losses.Count(model.LossTruncated) > 0 {
			cut++
		} else {
			whole++
		}
	}
	if whole != chunks || golden.IsLong() && cut != len(file)-begun+1-chunks || cut < (len(file)-begun)/8 {
		t.Errorf("%d of %d cuts lie between two of %d chunks, %d within one", whole, len(file), chunks, cut)
	}
	if want := rows(readBytes(t, file, reader.Options{})); fmt.Sprint(before) != fmt.Sprint(want) {
		t.Errorf("whole: %v, want %v", before, want)
	}
}

// TestFlippedBytes reads a capture of which any one byte is another: it is said, and the rest is there.
func TestFlippedBytes(t *testing.T) {
	file := program(t)
	all := rows(readBytes(t, file, reader.Options{}))
	total := 0
	for _, n := range all {
		total += n
	}
	for n := range file {
		damaged := slices.Clone(file)
		damaged[n] ^= 1 << (n % 8)
		x, err := tryRead(damaged, reader.Options{})
		if err != nil {
			t.Fatalf("byte %d: %v", n, err)
		}
		if err := model.Check(x); err != nil {
			t.Fatalf("byte %d: %v", n, err)
		}
		left := 0
		for _, n := range rows(x) {
			left += n
		}
		if x.Losses.Count(model.LossUnreadableTable)+x.Losses.Count(model.LossTruncated) == 0 {
			t.Fatalf("byte %d: the damage is not said", n)
		}
		if left < total*2/3 {
			t.Fatalf("byte %d: %d rows of %d are left", n, left, total)
		}
	}
}

// TestPackedAndCut reads what can be unpacked of a packed capture.
func TestPackedAndCut(t *testing.T) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	packed := z.EncodeAll(training(t, 40, 200, nil), nil)
	x := readBytes(t, packed[:len(packed)*3/4], reader.Options{})
	if x.Losses.Count(model.LossTruncated) != 1 || x.Info.Events == 0 {
		t.Errorf("%d events, losses %+v", x.Info.Events, x.Losses.All())
	}
}

// TestSlowNames reads names that stand for far longer ones: what they unpack to is bounded.
func TestSlowNames(t *testing.T) {
	l := newLoop(t, 40, nil)
	bomb := "_Z1fI" + strings.Repeat("1AIS", 4000) // nested substitutions
	for i := range 2000 {
		l.row(raw.Kernel{Start: l.gpu(1), End: l.gpu(2),
			Name: l.Text(fmt.Sprintf("_Z1fI1AIiS0_S0_S0_EE%dv%s", i, bomb[:100]))})
	}
	x := readBytes(t, l.end(), reader.Options{})
	bytes := 0
	for i := range x.Strings.Len() {
		bytes += len(x.Strings.Text(model.StringID(i)))
	}
	if bytes > 4<<20 {
		t.Errorf("%d bytes of texts", bytes)
	}
}

// TestManyStreams reads a file of nothing but beginnings of streams.
func TestManyStreams(t *testing.T) {
	const streams = 20_000
	one := reseal(append(append([]byte(raw.Magic), make([]byte, 4)...),
		append([]byte{12, 0, 0, 0}, append(make([]byte, 20), `{"format":1}`...)...)...))
	file := bytes.Repeat(one, streams)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	x := readBytes(t, file, reader.Options{})
	runtime.ReadMemStats(&after)
	if len(x.Processes) != streams || len(x.Warnings) != 1 ||
		after.TotalAlloc-before.TotalAlloc > 64*uint64(len(file)) {
		t.Errorf("%d processes; %d bytes allocated for a file of %d", len(x.Processes),
			after.TotalAlloc-before.TotalAlloc, len(file))
	}
}

// FuzzRead reads anything: it must not panic, and what it reads must keep the model's promises.
func FuzzRead(f *testing.F) {
	f.Add([]byte(raw.Magic))
	f.Add(small(f))
	f.Fuzz(func(t *testing.T, file []byte) {
		x, err := tryRead(reseal(file), reader.Options{})
		if err != nil {
			return
		}
		if err := model.Check(x); err != nil {
			t.Fatal(err)
		}
		if err := model.CheckStrings(x); err != nil {
			t.Fatal(err)
		}
		if x.Info.Events > int64(len(file))*32 {
			t.Fatalf("%d events of %d bytes", x.Info.Events, len(file))
		}
	})
}

// reseal makes the checksums of a file's chunks right again, so that what a fuzzer changes is read.
func reseal(file []byte) []byte {
	file = slices.Clone(file)
	table := crc32.MakeTable(crc32.Castagnoli)
	for at := 0; at+32 <= len(file); {
		next := bytes.Index(file[at:], []byte(raw.Magic))
		if next < 0 || at+next+32 > len(file) {
			break
		}
		at += next
		h := file[at : at+32]
		stored := int(binary.LittleEndian.Uint32(h[8:]))
		if stored > len(file)-at-32 {
			at++
			continue
		}
		if h[6]&1 == 0 {
			copy(h[12:16], h[8:12])
		}
		binary.LittleEndian.PutUint32(h[24:], crc32.Checksum(file[at+32:at+32+stored], table))
		binary.LittleEndian.PutUint32(h[28:], crc32.Checksum(h[:28], table))
		at += 32 + stored
	}
	return file
}

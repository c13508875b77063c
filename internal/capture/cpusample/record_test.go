package cpusample

import (
	"encoding/binary"
	"reflect"
	"testing"
)

// u32s, u64s and name are parts of a record as the kernel writes it.
func u32s(v ...uint32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

func u64s(v ...uint64) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

// name is a text with its zero, padded to 8 bytes.
func name(s string) []byte {
	b := append([]byte(s), 0)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

// made is a record of a kind; of all but samples the trailer is that of thread 11 of process 10 on CPU 3 at timeNs.
func made(kind uint32, misc uint16, timeNs uint64, parts ...[]byte) []byte {
	b := u32s(kind, 0)
	for _, p := range parts {
		b = append(b, p...)
	}
	if kind != recordSample {
		b = append(append(append(b, u32s(10, 11)...), u64s(timeNs)...), u32s(3, 0)...)
	}
	binary.LittleEndian.PutUint16(b[4:], misc)
	binary.LittleEndian.PutUint16(b[6:], uint16(len(b)))
	return b
}

// sampleOf is a sample of a thread on CPU 3 that stands for 5 ns.
func sampleOf(pid, tid uint32, timeNs uint64, misc uint16, chain ...uint64) []byte {
	ip := uint64(0)
	if len(chain) > 1 {
		ip = chain[1]
	}
	return made(recordSample, misc, 0, u64s(ip), u32s(pid, tid), u64s(timeNs), u32s(3, 0), u64s(5, uint64(len(chain))),
		u64s(chain...))
}

func mmapOf(pid uint32, timeNs, start, size, offset uint64, file string) []byte {
	return made(recordMmap2, 0, timeNs, u32s(pid, pid), u64s(start, size, offset, 0, 77, 0, 0), name(file))
}

func TestParse(t *testing.T) {
	const markUser, markKernel = contextUser, ^uint64(127)
	deep := []uint64{markUser}
	for i := range uint64(200) {
		deep = append(deep, i+1)
	}
	for _, test := range []struct {
		name string
		b    []byte
		want record
	}{
		{"sample in user code", sampleOf(10, 12, 7, 2, markUser, 100, 200),
			record{kind: recordSample, timeNs: 7, pid: 10, tid: 12, cpu: 3, stack: []uint64{100, 200}, weightNs: 5}},
		{"sample in the kernel", sampleOf(10, 12, 7, 1, markUser, 100),
			record{kind: recordSample, timeNs: 7, pid: 10, tid: 12, cpu: 3, stack: []uint64{100}, weightNs: 5,
				kernel: true}},
		{"kernel frames are left out", sampleOf(10, 12, 7, 1, markKernel, 1<<63, markUser, 100),
			record{kind: recordSample, timeNs: 7, pid: 10, tid: 12, cpu: 3, stack: []uint64{100}, weightNs: 5,
				kernel: true}},
		{"mmap2", mmapOf(10, 9, 0x1000, 0x2000, 0x40, "/lib/x y.so"),
			record{kind: recordMmap2, timeNs: 9, pid: 10, tid: 10, cpu: 3, start: 0x1000, size: 0x2000, offset: 0x40,
				inode: 77, name: "/lib/x y.so"}},
		{"comm", made(recordComm, 0, 9, u32s(10, 11), name("worker")),
			record{kind: recordComm, timeNs: 9, pid: 10, tid: 11, cpu: 3, name: "worker"}},
		{"comm that is no UTF-8", made(recordComm, 0, 9, u32s(10, 11), name("\xff\xfe")),
			record{kind: recordComm, timeNs: 9, pid: 10, tid: 11, cpu: 3, name: "\uFFFD"}},
		{"exec", made(recordComm, miscExec, 9, u32s(10, 10), name("python")),
			record{kind: recordComm, timeNs: 9, pid: 10, tid: 10, cpu: 3, name: "python", exec: true}},
		{"fork", made(recordFork, 0, 9, u32s(20, 10, 21, 11), u64s(9)),
			record{kind: recordFork, timeNs: 9, pid: 20, parent: 10, tid: 21, parentTid: 11, cpu: 3}},
		{"switch in", made(recordSwitch, 0, 9), record{kind: recordSwitch, timeNs: 9, pid: 10, tid: 11, cpu: 3}},
		{"preempted", made(recordSwitch, miscSwitchOut|miscPreempted, 9),
			record{kind: recordSwitch, timeNs: 9, pid: 10, tid: 11, cpu: 3, out: true, preempted: true}},
		{"lost", made(recordLost, 0, 9, u64s(1, 42)),
			record{kind: recordLost, timeNs: 9, pid: 10, tid: 11, cpu: 3, count: 42}},
		{"lost samples", made(recordLostSample, 0, 9, u64s(42)),
			record{kind: recordLostSample, timeNs: 9, pid: 10, tid: 11, cpu: 3, count: 42}},
	} {
		got, ok := parse(test.b, false)
		if !ok || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, %v; want %+v", test.name, got, ok, test.want)
		}
		for n := range len(test.b) {
			parse(test.b[:n], true) // cut anywhere it must not panic
		}
	}
	got, ok := parse(sampleOf(10, 12, 7, 2, deep...), false)
	if !ok || !got.cut || len(got.stack) != MaxDepth || got.stack[0] != 1 {
		t.Errorf("a deep stack: %d frames, cut %v", len(got.stack), got.cut)
	}
	lie := sampleOf(10, 12, 7, 2, markUser, 100)
	binary.LittleEndian.PutUint64(lie[8+5*8:], 1<<60) // frames that are not there
	if _, ok := parse(lie, false); ok {
		t.Error("a sample with 2^60 frames is read")
	}
}

// Whatever bytes come, reading neither panics nor makes up more frames than there is room for, and what is read becomes
// a whole spool.
func FuzzRecords(f *testing.F) {
	f.Add(sampleOf(10, 12, 7, 2, contextUser, 100, 200))
	f.Add(mmapOf(10, 9, 0x1000, 0x2000, 0, "//anon"))
	f.Add(made(recordComm, miscExec, 9, u32s(10, 10), name("python")))
	f.Add(made(recordFork, 0, 9, u32s(20, 10, 21, 11), u64s(9)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, ok := parse(b, true); ok && len(r.stack)*8 > len(b) {
			t.Fatalf("%d frames of %d bytes", len(r.stack), len(b))
		}
		r := newRecording(t)
		s := newSampler(r.w, newSymbols(t.TempDir()))
		if len(b)%16 == 0 {
			s.unwind = newUnwinder("/proc")
		}
		for n := 8; n <= len(b); n += 8 { // as records of every length, one after the other
			s.take(0, b[:n])
		}
		s.turn(^uint64(0), 0)
		s.resolve(true)
		r.read(t)
	})
}

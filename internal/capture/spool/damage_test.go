package spool

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"
)

// A whole is a chunk as a scan found it.
type whole struct {
	stream   int
	kind     int
	sequence uint32
	payload  string
}

func scan(file []byte) (found []whole, lost Lost) {
	s := NewScanner(bytes.NewReader(file))
	for s.Next() {
		c := s.Chunk()
		found = append(found, whole{c.Process.Index, c.Type, c.Sequence, string(c.Payload)})
	}
	return found, s.Lost()
}

// edges is where each chunk of a whole file begins, and where the last one ends.
func edges(t *testing.T, file []byte) []int {
	t.Helper()
	at := []int{0}
	for n := 0; n < len(file); {
		h, ok := parseHeader(file[n:])
		if !ok {
			t.Fatalf("no header at %d", n)
		}
		n += headerBytes + int(h.stored)
		at = append(at, n)
	}
	return at
}

// TestCut cuts a file at every byte: what is whole is read, and every other byte is said to be cut off.
func TestCut(t *testing.T) {
	file := append(write(t, Begin{Role: RoleAgent}), write(t, Begin{Role: RoleRecorder})...)
	all, at := first(scan(file)), edges(t, file)
	for n := range file {
		chunks := 0
		for at[chunks+1] <= n {
			chunks++
		}
		got, lost := scan(file[:n])
		if !slices.Equal(got, all[:chunks]) {
			t.Fatalf("cut at %d: %d chunks, want %d", n, len(got), chunks)
		}
		if want := int64(n - at[chunks]); lost != (Lost{Cut: want}) {
			t.Fatalf("cut at %d: lost %+v, want %d bytes", n, lost, want)
		}
	}
}

func first(found []whole, _ Lost) []whole { return found }

// TestFlip flips every byte of a file: what the damage does not touch is read, no more, and the loss is said.
func TestFlip(t *testing.T) {
	file := append(write(t, Begin{Role: RoleAgent}), write(t, Begin{Role: RoleRecorder})...)
	all, at := first(scan(file)), edges(t, file)
	for n := range file {
		for _, with := range []byte{1 << (n % 8)} { // each bit in turn
			damaged := slices.Clone(file)
			damaged[n] ^= with
			hit := 0
			for at[hit+1] <= n {
				hit++
			}
			want := slices.Delete(slices.Clone(all), hit, hit+1)
			got, lost := scan(damaged)
			if !slices.Equal(got, want) {
				t.Fatalf("byte %d of chunk %d: %d chunks, want %d", n, hit, len(got), len(want))
			}
			if size := int64(at[hit+1] - at[hit]); lost.Bytes+lost.Cut != size {
				t.Fatalf("byte %d of chunk %d: lost %+v, want %d bytes", n, hit, lost, size)
			}
		}
	}
}

// TestHole takes bytes out of the middle, and puts others in.
func TestHole(t *testing.T) {
	file := write(t, Begin{Role: RoleAgent})
	all, at := first(scan(file)), edges(t, file)
	hole := slices.Concat(file[:at[3]+40], file[at[7]:]) // chunk 3 breaks off, 4 to 6 are gone
	if got, lost := scan(hole); len(got) != len(all)-4 || lost.Chunks != 4 || lost.Bytes != 40 ||
		lost.First != int64(at[3]) {
		t.Errorf("hole: %d chunks of %d, lost %+v", len(got), len(all), lost)
	}
	more := slices.Concat([]byte("LCK"), file[:at[3]], []byte("LCK1LCK1 and so on, over thirty-two bytes of it"),
		file[at[3]:], []byte("end"))
	if got, lost := scan(more); !slices.Equal(got, all) || lost.Places != 3 || lost.Bytes != 3+47+3 ||
		lost.Chunks != 0 {
		t.Errorf("more: %d chunks of %d, lost %+v", len(got), len(all), lost)
	}
}

// TestMadeToBeSlow reads a file of headers that each claim all that follows: the time must not grow with the square.
func TestMadeToBeSlow(t *testing.T) {
	const claimed = 4 << 20
	var file []byte
	for len(file) < 16<<20 {
		file = header{kind: 40, stored: claimed, plain: claimed, payloadCRC: 1}.append(file)
	}
	start := time.Now()
	if got, lost := scan(file); len(got) != 0 || lost.Bytes+lost.Cut != int64(len(file)) {
		t.Errorf("%d chunks, lost %+v", len(got), lost)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestMemory reads a short file that claims to be long.
func TestMemory(t *testing.T) {
	for _, kind := range []uint16{TypeBegin, TypeTexts, 40} {
		h := header{kind: kind, stored: maxPlain, plain: maxPlain, rows: 1 << 31}
		file := append(h.append(nil), "few"...)
		s := NewScanner(bytes.NewReader(file))
		for s.Next() {
		}
		if c := cap(s.buf) + cap(s.plain); c > 256<<10 {
			t.Errorf("a file of %d bytes takes %d", len(file), c)
		}
	}
	texts := binary.LittleEndian.AppendUint32([]byte{1, 0, 0, 0}, 1<<31)
	if (&Chunk{Count: 1 << 31, Payload: texts}).Texts(func(Text, []byte) { t.Error("a text") }) {
		t.Error("texts that break off are whole")
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte{})
	f.Add(write(f, Begin{Role: RoleAgent, Pid: 3}))
	f.Fuzz(func(t *testing.T, file []byte) {
		s := NewScanner(bytes.NewReader(file))
		given := int64(0)
		for s.Next() {
			c := s.Chunk()
			given++
			c.Texts(func(Text, []byte) {})
			if _, err := c.Note(nil); err == nil && c.Type == TypeBegin && c.Process.Index < 0 {
				t.Error("no stream")
			}
			if c.Table == nil {
				continue
			}
			for _, field := range c.Table.Fields {
				if n := len(Append[uint64](nil, c.Column(field.Name), 0, 0)); n != c.Count {
					t.Fatalf("%d values in %d rows", n, c.Count)
				}
			}
		}
		if l := s.Lost(); l.Bytes < 0 || l.Cut < 0 || l.Bytes+l.Cut > int64(len(file)) ||
			given*headerBytes > int64(len(file)) {
			t.Fatalf("%d bytes, %d chunks, lost %+v", len(file), given, l)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	for _, table := range []Row{Kernel{}, Call{}} {
		b.Run(fmt.Sprintf("table=%T", table), func(b *testing.B) {
			var file bytes.Buffer
			w, err := NewWriter(&file, Begin{})
			if err != nil {
				b.Fatal(err)
			}
			const rows = 100_000
			for i := range rows {
				if err := w.Append(filled(table, i)); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(file.Len()))
			b.ReportAllocs()
			for b.Loop() {
				found := 0
				s := NewScanner(bytes.NewReader(file.Bytes()))
				for s.Next() {
					found += s.Chunk().Count
				}
				if found != rows {
					b.Fatal(found)
				}
			}
			b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

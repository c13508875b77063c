package cpusample

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A fakeRing is the kernel's side of a ring.
type fakeRing struct {
	ring
	head uint64
}

func newFakeRing(size int) *fakeRing {
	return &fakeRing{ring: ring{cpu: 3, page: make([]byte, 4096), data: make([]byte, size)}}
}

// write writes as the kernel does: not at all where there is no room.
func (f *fakeRing) write(b []byte) bool {
	if f.head+uint64(len(b))-*f.end(tailAt) > uint64(len(f.data)) {
		return false
	}
	for i, x := range b {
		f.data[(f.head+uint64(i))%uint64(len(f.data))] = x
	}
	f.head += uint64(len(b))
	*f.end(headAt) = f.head
	return true
}

// Records of all lengths come out as they went in, however they lie around the end.
func TestRing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, start := range []uint64{0, 8, 1 << 40, ^uint64(0) - 255} { // heads count on and on
		f := newFakeRing(256)
		f.head = start &^ 7
		*f.end(headAt), *f.end(tailAt) = f.head, f.head
		var want, got [][]byte
		visit := func(cpu int, b []byte) {
			if cpu != 3 {
				t.Fatalf("CPU %d", cpu)
			}
			got = append(got, bytes.Clone(b))
		}
		for i := range 1000 {
			b := make([]byte, 8*(1+random.IntN(16)))
			for j := range b {
				b[j] = byte(i + j)
			}
			binary.LittleEndian.PutUint16(b[6:], uint16(len(b)))
			if f.write(b) {
				want = append(want, b)
			}
			if random.IntN(3) == 0 {
				if broken := f.drain(visit); broken != 0 {
					t.Fatalf("%d broken", broken)
				}
			}
		}
		f.drain(visit)
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("from %d: %d records went in, %d came out, or others", start, len(want), len(got))
		}
		if *f.end(tailAt) != f.head {
			t.Errorf("the tail is %d, not at the head %d", *f.end(tailAt), f.head)
		}
	}
}

// What cannot be true costs what lies in the ring, once, and no more.
func TestRingBroken(t *testing.T) {
	for _, length := range []uint16{0, 4, 12, 65528} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			f := newFakeRing(256)
			good := made(recordSwitch, 0, 9)
			bad := made(recordSwitch, 0, 9)
			binary.LittleEndian.PutUint16(bad[6:], length)
			f.write(good)
			f.write(bad)
			n := 0
			count := func(int, []byte) { n++ }
			if broken := f.drain(count); broken != 1 || n != 1 {
				t.Errorf("%d broken, %d read", broken, n)
			}
			f.write(good)
			if broken := f.drain(count); broken != 0 || n != 2 {
				t.Errorf("afterwards %d broken, %d read", broken, n)
			}
		})
	}
	f := newFakeRing(256)
	*f.end(headAt) = 10_000
	if broken := f.drain(func(int, []byte) { t.Error("read") }); broken != 1 || *f.end(tailAt) != 10_000 {
		t.Errorf("a head beyond the ring: %d broken, tail %d", broken, *f.end(tailAt))
	}
}

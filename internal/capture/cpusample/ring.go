package cpusample

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// Where perf_event_mmap_page has the ends of the ring: the kernel moves the head, the reader the tail. Both only grow.
const (
	headAt = 1024
	tailAt = 1032
)

// A ring is one CPU's buffer, shared with the kernel.
type ring struct {
	cpu    int
	mapped []byte // the whole of both
	page   []byte // the control page
	data   []byte // its length is a power of two
	spare  []byte // for a record that lies around the end
}

func (r *ring) end(at int) *uint64 { return (*uint64)(unsafe.Pointer(&r.page[at])) }

// drain visits every record between tail and head, and gives their room back. A record whose length cannot be true
// makes the rest unreadable: it is given up, and counted.
func (r *ring) drain(visit func(cpu int, record []byte)) (broken int64) {
	head := atomic.LoadUint64(r.end(headAt)) // acquires: what is before it has been written
	tail := *r.end(tailAt)                   // only we write it
	size := uint64(len(r.data))
	if head-tail > size {
		atomic.StoreUint64(r.end(tailAt), head)
		return 1
	}
	for tail != head {
		at := tail & (size - 1)
		// Records are multiples of 8, and so is size: a header never lies around the end.
		n := uint64(binary.LittleEndian.Uint16(r.data[at+6:]))
		if n < 8 || n%8 != 0 || n > head-tail {
			broken++
			tail = head
			break
		}
		if at+n <= size {
			visit(r.cpu, r.data[at:at+n])
		} else {
			r.spare = append(append(r.spare[:0], r.data[at:]...), r.data[:at+n-size]...)
			visit(r.cpu, r.spare)
		}
		tail += n
	}
	atomic.StoreUint64(r.end(tailAt), tail) // releases: the kernel may write there again
	return broken
}

package cpusample

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// MaxDepth is how many frames of a stack by frame pointers are kept, the innermost first: the kernel's own default
// (kernel.perf_event_max_stack). maxWalk is how many of one by call frame information: a call of a Python function is
// four, and what is taken of a stack holds 150 of these.
const (
	MaxDepth = 127
	maxWalk  = 1024
)

// Kinds of records, and bits of their header, as linux/perf_event.h numbers them.
const (
	recordLost       = 2
	recordComm       = 3
	recordExit       = 4
	recordThrottle   = 5
	recordFork       = 7
	recordSample     = 9
	recordMmap2      = 10
	recordLostSample = 13
	recordSwitch     = 14
	recordSwitchCPU  = 15

	miscModeMask   = 7
	miscKernel     = 1
	miscExec       = 1 << 13 // of recordComm
	miscSwitchOut  = 1 << 13 // of recordSwitch
	miscPreempted  = 1 << 14
	contextMarkers = ^uint64(4094) // from here on an address of a call chain is a marker: PERF_CONTEXT_MAX is -4095
	contextUser    = ^uint64(511)  // PERF_CONTEXT_USER, -512
)

// A record is what the kernel wrote, read. What a kind does not say is zero.
type record struct {
	kind     uint32
	timeNs   uint64 // CLOCK_MONOTONIC
	pid, tid uint32
	cpu      uint32

	stack    []uint64 // sample: user addresses, innermost first
	kernel   bool     // sample: was within the kernel
	cut      bool     // sample: the stack is deeper than this
	weightNs uint64   // sample: CPU time that it stands for
	dump     *dump    // sample: registers and stack, where they are asked for

	start, size, offset uint64 // mmap2: addresses, and where in the file
	inode               uint64
	name                string // mmap2: the file; comm: the thread's name

	parent    uint32 // fork: the process that did it
	parentTid uint32 // and its thread
	exec      bool   // comm: by exec, so that the address space is new
	out       bool   // switch
	preempted bool
	count     uint64 // lost
}

// sampleType is what every sample says, and every other record at its end (sample_id_all); parse knows it by heart.
// Samples with dumps say sampleDump too.
const (
	sampleType = sampleIP | sampleTID | sampleTime | sampleCPU | samplePeriod | sampleChain
	sampleDump = sampleRegs | sampleStack
)

const (
	sampleIP     = 1 << 0
	sampleTID    = 1 << 1
	sampleTime   = 1 << 2
	sampleChain  = 1 << 5
	sampleCPU    = 1 << 7
	samplePeriod = 1 << 8
	sampleRegs   = 1 << 12
	sampleStack  = 1 << 13
)

// trailerBytes is what sampleType leaves at the end of other records: pid and tid, time, CPU and padding.
const trailerBytes = 24

// cursor reads a record's body; failed stays set once it ended too early.
type cursor struct {
	b      []byte
	failed bool
}

func (c *cursor) u64() uint64 {
	if len(c.b) < 8 {
		c.b, c.failed = nil, true
		return 0
	}
	v := binary.LittleEndian.Uint64(c.b)
	c.b = c.b[8:]
	return v
}

func (c *cursor) pair() (uint32, uint32) {
	v := c.u64()
	return uint32(v), uint32(v >> 32)
}

// text is a name that ends at its zero byte.
func (c *cursor) text() string {
	b := c.b
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// parse reads a record, header and all. ok is false when it is shorter than its kind says; of kinds that say nothing
// here, kind is all that is read. dumps says that samples have registers and stack. The stack of a dump is b's,
// nothing else is. The machine is little endian, as all are that CUDA runs on.
func parse(b []byte, dumps bool) (r record, ok bool) {
	if len(b) < 8 {
		return r, false
	}
	r.kind = binary.LittleEndian.Uint32(b)
	misc := binary.LittleEndian.Uint16(b[4:])
	c := cursor{b: b[8:]}
	if r.kind == recordSample {
		r.sample(&c, misc)
		if dumps && !c.failed {
			r.dump = parseDump(&c)
		}
		return r, !c.failed
	}
	if len(c.b) < trailerBytes {
		return r, false
	}
	trailer := cursor{b: c.b[len(c.b)-trailerBytes:]}
	c.b = c.b[:len(c.b)-trailerBytes]
	r.pid, r.tid = trailer.pair()
	r.timeNs = trailer.u64()
	r.cpu, _ = trailer.pair()
	switch r.kind {
	case recordMmap2:
		r.pid, r.tid = c.pair()
		r.start, r.size, r.offset = c.u64(), c.u64(), c.u64()
		c.u64() // device
		r.inode = c.u64()
		c.u64() // the inode's generation
		c.u64() // protection and flags
		r.name = c.text()
	case recordComm:
		r.pid, r.tid = c.pair()
		r.name, r.exec = c.text(), misc&miscExec != 0
	case recordFork, recordExit:
		r.pid, r.parent = c.pair()
		r.tid, r.parentTid = c.pair()
	case recordSwitch, recordSwitchCPU:
		r.out, r.preempted = misc&miscSwitchOut != 0, misc&miscPreempted != 0
	case recordLost:
		c.u64() // the event's ID
		r.count = c.u64()
	case recordLostSample:
		r.count = c.u64()
	}
	return r, !c.failed
}

// sample reads a sample. The first user address of the chain is where the thread was, or, if it was in the kernel,
// where it entered it.
func (r *record) sample(c *cursor, misc uint16) {
	ip := c.u64()
	r.pid, r.tid = c.pair()
	r.timeNs = c.u64()
	r.cpu, _ = c.pair()
	r.weightNs = c.u64()
	n := c.u64()
	if n > uint64(len(c.b)/8) {
		c.failed = true
		return
	}
	r.kernel = misc&miscModeMask == miscKernel
	r.stack = make([]uint64, 0, n)
	user := true
	for range n {
		switch a := c.u64(); {
		case a >= contextMarkers:
			user = a == contextUser
		case user:
			r.stack = append(r.stack, a)
		}
	}
	if len(r.stack) == 0 && !r.kernel {
		r.stack = append(r.stack, ip)
	}
	if len(r.stack) >= MaxDepth {
		r.stack, r.cut = r.stack[:MaxDepth], true
	}
}

// dumpRegs is the registers that a dump has: the 16 general ones and the instruction pointer, as bits of Linux's
// numbering (asm/perf_regs.h), in whose order they come; dwarfRegs is what DWARF calls each.
const dumpRegs = 0x1ff | 0xff<<16

var dwarfRegs = [regCount]uint8{0, 3, 2, 1, 4, 5, 6, 7, regRA, 8, 9, 10, 11, 12, 13, 14, 15}

// parseDump reads registers and stack; nil: the thread has none, or the record ends too early.
func parseDump(c *cursor) *dump {
	const abi64 = 2
	if c.u64() != abi64 {
		return nil
	}
	var d dump
	for _, reg := range dwarfRegs {
		d.regs[reg] = c.u64()
	}
	stack := c.take(c.u64())
	if size := c.u64(); !c.failed && size <= uint64(len(stack)) {
		d.full = size == uint64(len(stack))
		d.stack = stack[:size]
	}
	if c.failed {
		return nil
	}
	return &d
}

// Package spool writes and reads spools: the files of lacuna record. agent/spool.h is their specification; a test holds
// the tables here against it. What the rows mean is the business of readers/spool.
package spool

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/compress/snappy"
)

// Format is the version of the format that is written here.
const Format = 1

// Magic is how every chunk, and so every spool, begins.
const Magic = "LCK1"

const (
	headerBytes = 32
	maxPlain    = 4 << 20 // SPOOL_MAX_PLAIN
	flagSnappy  = 1
)

// Types of chunks; a table's chunk has the table's number.
const (
	TypeBegin  = 0
	TypeSchema = 1
	TypeTexts  = 2
	TypeNote   = 3
)

// None is what an ID (correlation, stream, event, device) says that there is none.
const None = ^uint32(0)

// Roles of the process that wrote a stream.
const (
	RoleAgent    = "agent"    // the agent, within the program
	RoleRecorder = "recorder" // lacuna record, beside it
)

// Begin is what a stream says first: who wrote it, where, and when it began.
type Begin struct {
	Format  int               `json:"format"` // set by NewWriter
	Role    string            `json:"role"`
	Version string            `json:"version"`
	Session string            `json:"session"`
	Pid     int64             `json:"pid"`
	Ppid    int64             `json:"ppid"`
	Host    string            `json:"host"`
	Boot    string            `json:"boot"` // /proc/sys/kernel/random/boot_id: CLOCK_MONOTONIC compares within it
	Command []string          `json:"command"`
	Exe     string            `json:"exe"`
	RealNs  int64             `json:"real_ns"` // CLOCK_REALTIME when the stream began
	Env     map[string]string `json:"env,omitempty"`
}

// header is a chunk's, as spool.h lays it out.
type header struct {
	kind, flags         uint16
	stored, plain, rows uint32
	sequence            uint32
	payloadCRC          uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// append adds the header to b.
func (h header) append(b []byte) []byte {
	at := len(b)
	b = append(b, Magic...)
	b = binary.LittleEndian.AppendUint16(b, h.kind)
	b = binary.LittleEndian.AppendUint16(b, h.flags)
	for _, v := range []uint32{h.stored, h.plain, h.rows, h.sequence, h.payloadCRC} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return binary.LittleEndian.AppendUint32(b, checksum(b[at:]))
}

// parseHeader reads the header at the beginning of b, which has headerBytes or more. ok: it is whole, and what it says
// of sizes can be true.
func parseHeader(b []byte) (h header, ok bool) {
	b = b[:headerBytes]
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
	if string(b[:4]) != Magic || u32(28) != checksum(b[:28]) {
		return h, false
	}
	h = header{
		kind: binary.LittleEndian.Uint16(b[4:]), flags: binary.LittleEndian.Uint16(b[6:]),
		stored: u32(8), plain: u32(12), rows: u32(16), sequence: u32(20), payloadCRC: u32(24),
	}
	switch {
	case h.plain > maxPlain, h.flags&^flagSnappy != 0:
		return h, false
	case h.flags&flagSnappy == 0:
		return h, h.stored == h.plain
	}
	return h, int(h.stored) <= snappy.MaxEncodedLen(int(h.plain))
}

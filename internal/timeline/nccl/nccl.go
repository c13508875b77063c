// Package nccl understands what NCCL says of its calls in NVTX: from its ranges and their payloads it fills the
// Collectives of a trace, and says which collective a kernel is of.
//
// NCCL (src/include/nvtx_payload_schemas.h, src/collectives.cc, src/init.cc) pushes a range around each of its calls
// in the domain NCCL. Their payload says how large one message is, and of which peer; in newer versions also which
// communicator it is of, by a hash that is the same on all of its ranks. The size of a communicator is in the payload
// of the call that makes it.
package nccl

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// domain is the name of NCCL's NVTX domain.
const domain = "NCCL"

// A message says what the size of a message is of.
type message uint8

const (
	same       message = iota // of what each rank gives and of what it gets
	ofInput                   // of what each rank gives: it gets that of all
	ofOutput                  // of what each rank gets: it gives that for all
	ofEachPeer                // of what each rank gives to each, and gets from each
)

// An operation is one of NCCL's calls that move data.
type operation struct {
	call    string // the range's name
	name    string // in Collectives, as PyTorch calls it
	kernel  string // the word for it in kernels' names
	message message
}

// operations is all of them. Those without kernels of their own are made of sends.
var operations = []operation{
	{"ncclAllReduce", "allreduce", "AllReduce", same},
	{"ncclAllGather", "all_gather", "AllGather", ofInput},
	{"ncclReduceScatter", "reduce_scatter", "ReduceScatter", ofOutput},
	{"ncclBroadcast", "broadcast", "Broadcast", same},
	{"ncclReduce", "reduce", "Reduce", same},
	{"ncclSend", "send", exchange, same},
	{"ncclRecv", "recv", exchange, same},
	{"ncclAlltoAll", "all_to_all", exchange, ofEachPeer},
	{"ncclGather", "gather", exchange, ofInput},
	{"ncclScatter", "scatter", exchange, ofOutput},
}

// toPeer says whether it moves data between two ranks.
func (o *operation) toPeer() bool { return o.kernel == exchange && o.message == same }

// exchange is the word for sends and receives in kernels' names.
const exchange = "SendRecv"

// The calls that put others together: what is asked for between them is launched by the last.
const (
	groupStart = "ncclGroupStart"
	groupEnd   = "ncclGroupEnd"
)

// isKernel says whether a kernel is one of NCCL's, by its name.
func isKernel(name string) bool { return strings.Contains(strings.ToLower(name), "nccl") }

// wordOf is the word of an operation that a kernel's name has; "": it may be any.
func wordOf(kernel string) string {
	words := strings.FieldsFunc(kernel, func(r rune) bool { return r == '_' || r == '(' || r == ' ' || r == '<' })
	for _, op := range operations {
		if slices.Contains(words, op.kernel) {
			return op.kernel
		}
	}
	return ""
}

// said is the payload of a range. What it does not have is "".
type said struct {
	Comm  json.Number `json:"NCCL communicator ID"`
	Size  json.Number `json:"Message size [bytes]"`
	Bytes json.Number `json:"Bytes"` // what older versions call the size, of some calls
	Ranks json.Number `json:"No. of ranks"`
	Rank  json.Number `json:"Rank"`
	Peer  json.Number `json:"Peer rank"`
}

const (
	// maxBytes and maxRanks bound what is believed, so that products of them are numbers.
	maxBytes = 1 << 42
	maxRanks = 1 << 20
)

// number is a number of a payload between 0 and most; -1: it has none.
func number(n json.Number, most int64) int64 {
	v, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil || v < 0 || v > most {
		return -1
	}
	return v
}

// bytes is the size of one message; -1: unknown.
func (s *said) bytes() int64 {
	if s.Size != "" {
		return number(s.Size, maxBytes)
	}
	return number(s.Bytes, maxBytes)
}

// comm is the name of the communicator; "": unknown.
func (s *said) comm() string {
	v, err := strconv.ParseUint(string(s.Comm), 10, 64)
	if err != nil || v == 0 {
		return ""
	}
	return "0x" + strconv.FormatUint(v, 16)
}

// read is what a payload says; ok false: nothing.
func read(payload string) (s said, ok bool) {
	if !strings.HasPrefix(payload, "{") || json.Unmarshal([]byte(payload), &s) != nil {
		return said{}, false
	}
	return s, true
}

// A Member is what a process is in a communicator, as the call says that makes it.
type Member struct {
	Comm        string // its hash, the same for all of its members
	Rank, Ranks int32
}

// MemberOf is what the payload of a call that makes a communicator says; ok false: it is another payload.
func MemberOf(payload string) (m Member, ok bool) {
	if !strings.Contains(payload, `"No. of ranks"`) {
		return m, false
	}
	s, ok := read(payload)
	if !ok {
		return m, false
	}
	rank, ranks := number(s.Rank, maxRanks), number(s.Ranks, maxRanks)
	return Member{s.comm(), int32(rank), int32(ranks)}, s.comm() != "" && rank >= 0 && rank < ranks
}

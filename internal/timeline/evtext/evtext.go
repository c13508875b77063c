// Package evtext is the text form of a model.Trace, both ways: fixtures, goldens and bug
// reports speak it.
//
// One line is one row of one table:
//
//	thread 2 p1 tid=4711 loader
//	range annotation 0+1000 forward
//	call c5 90+8 cudaLaunchKernel
//	kernel s7 c5 grid=128x1x1 100+200 gemm
//	copy HtoD pageable->device s7 bytes=4096 300+50
//	mark 990 end of epoch
//
// # Lines
//
//	line      = keyword { attribute } [ time ] { attribute } [ name ]
//	attribute = key "=" value | short number | word
//	time      = start "+" duration | start "+open" | instant
//
// The keyword names the table (see keywords in spec.go). Attributes come in any order, each
// once. The name is the rest of the line. Empty lines and lines that begin with # are skipped.
// Rows may come in any order: Parse sorts them as every reader does.
//
// A time is an integer of nanoseconds since the epoch, or a decimal number with a unit
// (ns, us, µs, ms, s). Tables without times (dimensions, collectives, frames, links) have none;
// those that others point to may begin with their number, counted from 1.
//
// A key is the column's field name in lower case, without Ns at its end. The common ones are short:
//
//	s7 stream   d1 device   t2 thread   p1 process   c5 correlation ID   x9 external ID   ctx=1 context
//
// grid=128x1x1 and block=256x1x1 are three columns, pageable->device is source and target of a copy.
// The kind of a copy, synchronisation, call or range is a word by itself: HtoD, stream, driver,
// startend. "-" is an explicit absent value: t- is "thread unknown".
//
// Threads and processes may be declared (thread 2 p1 tid=4711 loader) or come into being where
// they are first used: thread N of process 1. Domains, tracks, collectives and frames are referred to by
// their number and must exist.
//
// What a line does not say is absent: no correlation, no external ID, no duration known; or, where
// a row cannot do without, device 0, context 1, stream 7, thread 1 and process 1.
//
// A value or name is Go-quoted if it is not plain: control characters, blanks at its ends, quotes,
// or a beginning that looks like an attribute.
//
// # Lines that are not rows
//
//	info format=kineto rank=0 …   where the capture comes from
//	tool call=2500 spread=0.35 …  the tool that recorded it, with what that costs (model.Tool)
//	meta "key" value              one of the file's own metadata
//	epoch unix=17… clock          what time 0 is
//	loaded 0x3f                   which model.Parts were read; without it: all
//	loss bad-event 3 example      what was lost
//	warning text                  a sentence for people
//	columns kernel -corr +registers
//	                              columns that are absent, or present although no row says so
//	step 0+1000                   short for: range 0+1000 step_0, the number counting up
package evtext

import "lacuna/internal/timeline/model"

// sugar for the steps of a test: a range of this name and a number.
const stepPrefix = "step_"

// newTrace is what Parse fills: the defaults of everything that is said once.
func newTrace() *model.Trace {
	return &model.Trace{Info: model.Info{Rank: -1}, Loaded: model.PartsAll}
}

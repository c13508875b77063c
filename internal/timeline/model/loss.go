package model

import (
	"cmp"
	"slices"
)

// A LossCode names a way to lose data. It is stable: people grep for it.
type LossCode string

// The losses that more than one reader can meet.
const (
	LossTruncated       LossCode = "truncated-input"      // the file ends before its format does
	LossSurplus         LossCode = "after-the-end"        // bytes behind what the format says is all
	LossBadEvent        LossCode = "bad-event"            // an event that could not be understood
	LossBadTime         LossCode = "bad-time"             // no time, not a number, out of range
	LossNegative        LossCode = "negative-duration"    // end before start; kept with duration 0
	LossZeroTime        LossCode = "zero-timestamp"       // GPU work at time 0: CUPTI did not collect it
	LossUnknownEvent    LossCode = "unknown-event"        // a kind of event that the model has no place for
	LossWidth           LossCode = "value-out-of-range"   // a value that does not fit its column
	LossUnclosed        LossCode = "unclosed-range"       // a range that never ended; kept as open
	LossDuplicateCorr   LossCode = "duplicate-call"       // two calls with one correlation ID; the first is used
	LossUnreadableTable LossCode = "unreadable-table"     // part of the file is damaged
	LossDropped         LossCode = "dropped-by-collector" // the collector itself says that it dropped records
	LossForeignDevice   LossCode = "foreign-accelerator"  // work of a device that is no GPU we know
)

// A Loss is something that a reader met and could not keep, or kept only in part.
// A trace with losses is still good for what its losses do not touch.
type Loss struct {
	Code    LossCode
	Count   int64
	Example string // the first one: "byte 812: \"ts\" is \"n/a\""
}

// A Ledger counts losses, and what was left unread. The zero value is ready to use.
type Ledger struct {
	losses map[LossCode]*Loss
	left   map[string]int64
}

// Add counts n losses; the first example is kept.
func (l *Ledger) Add(code LossCode, n int64, example string) {
	if n == 0 {
		return
	}
	if l.losses == nil {
		l.losses = make(map[LossCode]*Loss)
	}
	have := l.losses[code]
	if have == nil {
		have = &Loss{Code: code, Example: example}
		l.losses[code] = have
	}
	have.Count += n
}

// Merge adds all of o's.
func (l *Ledger) Merge(o *Ledger) {
	for _, x := range o.All() {
		l.Add(x.Code, x.Count, x.Example)
	}
	for what, n := range o.left {
		l.Leave(what, n)
	}
}

// All is every loss, sorted by code.
func (l *Ledger) All() []Loss {
	out := make([]Loss, 0, len(l.losses))
	for _, x := range l.losses {
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b Loss) int { return cmp.Compare(a.Code, b.Code) })
	return out
}

// Count is how often code was met.
func (l *Ledger) Count(code LossCode) int64 {
	if x := l.losses[code]; x != nil {
		return x.Count
	}
	return 0
}

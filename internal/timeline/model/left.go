package model

import (
	"cmp"
	"slices"
	"strings"
)

// Left is events of one kind that a capture holds and that were left unread, because nobody asked for them or the
// model has no place for them. They are no loss: another question may read them.
type Left struct {
	What  string // in words: "CPU samples with stacks"
	Count int64  // of some files, at most so many
}

// Leave counts n events that were left unread.
func (l *Ledger) Leave(what string, n int64) {
	if n <= 0 {
		return
	}
	if l.left == nil {
		l.left = make(map[string]int64)
	}
	l.left[what] += n
}

// LeavePart is Leave for what belongs to a part that nobody asked for.
func (l *Ledger) LeavePart(p Parts, n int64) { l.Leave(strings.Join(p.Words(), " and "), n) }

// Left is everything that was left unread, most first.
func (l *Ledger) Left() []Left {
	out := make([]Left, 0, len(l.left))
	for what, n := range l.left {
		out = append(out, Left{what, n})
	}
	slices.SortFunc(out, func(a, b Left) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.What, b.What))
	})
	return out
}

package tables

import (
	"cmp"
	"slices"

	"lacuna/internal/timeline/model"
)

// What rows are grouped by: dense numbers for names and other keys.

// An indexer numbers distinct keys in the order in which they are first seen.
type indexer[K comparable] struct {
	keys   []K
	ids    map[K]uint32
	recent [1 << 10]uint32 // in front of ids: one more than the ID last seen with a hint
}

// id is the number of k. Keys that come again with the same hint are found faster.
func (x *indexer[K]) id(k K, hint uint32) uint32 {
	r := &x.recent[hint%uint32(len(x.recent))]
	if *r != 0 && x.keys[*r-1] == k {
		return *r - 1
	}
	id, ok := x.ids[k]
	if !ok {
		if x.ids == nil {
			x.ids = make(map[K]uint32)
		}
		id = uint32(len(x.keys))
		x.keys = append(x.keys, k)
		x.ids[k] = id
	}
	*r = id + 1
	return id
}

// printed numbers names by the text that is printed for them: two names with one text are one.
type printed struct {
	texts  *model.Strings
	print  func(string) string
	seen   []uint32 // one more than the number, by StringID
	byText indexer[string]
}

func (p *printed) id(name model.StringID) uint32 {
	if p.seen == nil {
		p.seen = make([]uint32, p.texts.Len())
	}
	if p.seen[name] == 0 {
		p.seen[name] = p.byText.id(p.print(p.texts.Text(name)), 0) + 1
	}
	return p.seen[name] - 1
}

// all is the texts by number.
func (p *printed) all() []string { return p.byText.keys }

// naming is a name for each row: a number below len(text), and the texts.
type naming struct {
	of   []uint32
	text []string
}

// compare orders names as texts.
func (n *naming) compare(a, b uint32) int { return cmp.Compare(n.text[a], n.text[b]) }

// addSums adds a row of durations for each name.
func (n *naming) addSums(durNs []int64, out *Rows) {
	sums := summarize(n.of, durNs, len(n.text))
	all := grandTotal(sums)
	for _, g := range byTotal(sums, n.compare) {
		out.Add(sums[g].timeCells(all, Str(n.text[g]))...)
	}
}

// number replaces the numbers by those of their distinct texts.
func (n *naming) number(text func(uint32) string) {
	var byText indexer[string]
	var size uint32
	if len(n.of) > 0 {
		size = slices.Max(n.of) + 1
	}
	seen := make([]uint32, size) // one more than the new number
	for i, id := range n.of {
		if seen[id] == 0 {
			seen[id] = byText.id(text(id), 0) + 1
		}
		n.of[i] = seen[id] - 1
	}
	n.text = byText.keys
}

// at is column[i], or absent where the capture lacks the column.
func at[T any](column []T, i int, absent T) T {
	if i < len(column) {
		return column[i]
	}
	return absent
}

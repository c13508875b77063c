package facts

import (
	"strings"

	"lacuna/internal/timeline/model"
)

// Programs count in the names of their ranges: "IO 190", "IO 200"; PyTorch's emit_nvtx adds what it knows of
// a call: "aten::add, seq = 3, op_id = 314359". Such names tell one instance from the next, and a sum over
// one instance tells nobody anything: they are one name to whoever sums.
//
// A number is a counter where at least minFamily names differ by nothing else and the usual one of
// them occurs once in each process. Layers, which come back with every step, keep their numbers.
const minFamily = 3

// rangeNames is what ranges are called when instances do not matter.
type rangeNames struct {
	of   []model.StringID          // by name: the one that stands for it
	text map[model.StringID]string // of those that are not simply their own text
}

// RangeNames gives the name that stands for each name of a range: itself, or the first of its family.
// Names of anything else stand for themselves.
func (f *Facts) RangeNames() []model.StringID { return f.names().of }

// NameText is the text of a name that RangeNames gave: of a family with a * where it counts.
func (f *Facts) NameText(id model.StringID) string {
	if text, ok := f.names().text[id]; ok {
		return text
	}
	return f.Trace.Strings.Text(id)
}

func (f *Facts) names() *rangeNames {
	return f.kept.rangeNames.of(f, func(f *Facts) *rangeNames {
		t := f.Trace
		counts := make([]int64, t.Strings.Len())
		processes := make(map[model.ProcessRow]bool)
		for i, id := range t.Ranges.Name {
			counts[id]++
			processes[f.ProcessOf(t.Ranges.Thread[i])] = true
		}
		n := &rangeNames{of: make([]model.StringID, len(counts)), text: make(map[model.StringID]string)}
		families := make(map[string][]model.StringID)
		var keys []string
		for i := range n.of {
			id := model.StringID(i)
			n.of[i] = id
			if counts[i] == 0 {
				continue
			}
			key := familyKey(t.Strings.Text(id))
			if families[key] == nil {
				keys = append(keys, key)
			}
			families[key] = append(families[key], id)
		}
		for _, key := range keys {
			members := families[key]
			if !isFamily(key, members, counts, int64(len(processes))) {
				continue
			}
			n.text[members[0]] = key
			for _, id := range members {
				n.of[id] = members[0]
			}
		}
		return n
	})
}

// isFamily says whether names that share a key are one name.
func isFamily(key string, members []model.StringID, counts []int64, processes int64) bool {
	if !strings.Contains(key, "*") {
		return true // one name, or one with what emit_nvtx appends
	}
	times := make([]int64, len(members))
	for i, id := range members {
		times[i] = counts[id]
	}
	return len(members) >= minFamily && medianOf(times) <= processes
}

// familyKey is a name without what emit_nvtx appends, else with a * for every number in it.
func familyKey(name string) string {
	if op := emittedName(name); op != name {
		return op
	}
	if !strings.ContainsAny(name, "0123456789") {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if c := name[i]; c < '0' || c > '9' {
			b.WriteByte(c)
		} else if i == 0 || name[i-1] < '0' || name[i-1] > '9' {
			b.WriteByte('*')
		}
	}
	return b.String()
}

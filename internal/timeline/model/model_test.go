package model

import (
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fill makes n rows in every column of a table; times are the given ones, others are the row's number.
func fill(table Table, startNs []int64) {
	for _, c := range table.Columns {
		n := len(startNs)
		c.Slice.Set(reflect.MakeSlice(c.Slice.Type(), n, n))
		for i := range n {
			v := c.Slice.Index(i)
			switch {
			case c.Name == "StartNs" || c.Name == "TimeNs":
				v.SetInt(startNs[i])
			case v.CanInt():
				v.SetInt(int64(i))
			case v.CanUint():
				v.SetUint(uint64(i))
			case v.CanFloat():
				v.SetFloat(float64(i))
			case v.Kind() == reflect.Bool:
				v.SetBool(i%2 == 1)
			}
		}
	}
}

func timed(table Table) bool {
	return slices.ContainsFunc(table.Columns, func(c Column) bool { return c.Name == "StartNs" || c.Name == "TimeNs" })
}

// Finish sorts every timed table there is, and moves all columns of a row together. Counters are
// in the order of their tracks.
func TestFinishEveryTable(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	trace := new(Trace)
	starts := make(map[string][]int64)
	for _, table := range trace.Tables() {
		startNs := make([]int64, 50)
		for i := range startNs {
			startNs[i] = random.Int63n(1000) // some are equal
		}
		starts[table.Name] = startNs
		fill(table, startNs)
	}
	trace.Finish()
	for _, table := range trace.Tables() {
		if !timed(table) || table.Name == "Counters" {
			continue
		}
		var order []int64 // the number of each row as it was
		for _, c := range table.Columns {
			switch c.Name {
			case "StartNs", "TimeNs":
				for i := range c.Slice.Len() {
					if i > 0 && c.Slice.Index(i).Int() < c.Slice.Index(i-1).Int() {
						t.Fatalf("%s is not sorted at row %d", table.Name, i)
					}
				}
			}
			if v := c.Slice.Index(0); (v.CanInt() || v.CanUint()) && c.Name != "StartNs" && c.Name != "TimeNs" {
				got := make([]int64, c.Slice.Len())
				for i := range got {
					if v := c.Slice.Index(i); v.CanInt() {
						got[i] = v.Int()
					} else {
						got[i] = int64(v.Uint())
					}
				}
				if order == nil {
					order = got
				} else if !slices.Equal(got, order) {
					t.Errorf("%s.%s did not move with its row", table.Name, c.Name)
				}
			}
		}
		for i, from := range order {
			if i > 0 && starts[table.Name][from] < starts[table.Name][order[i-1]] {
				t.Errorf("%s: row %d was %d and does not belong there", table.Name, i, from)
			}
		}
	}
}

// Finish keeps the order of rows that start together: longest first, then as they came.
func TestFinishTies(t *testing.T) {
	var trace Trace
	k := &trace.Kernels
	k.StartNs = []int64{5, 3, 5, 5, 3}
	k.DurNs = []int64{1, 2, 9, 1, 2}
	k.Corr = []uint32{0, 1, 2, 3, 4}
	trace.Finish()
	if got := fmt.Sprint(k.Corr); got != "[1 4 2 0 3]" {
		t.Errorf("order is %s", got)
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*Trace)
		want  string // "": nothing is wrong
	}{
		{"empty", func(*Trace) {}, ""},
		{"short column", func(t *Trace) { t.Kernels.Corr = []uint32{1} }, "Kernels.Corr has 1 rows, others have 2"},
		{"no times", func(t *Trace) { t.Calls.Corr = []uint32{1} }, "is missing"},
		{"negative duration", func(t *Trace) { t.Kernels.DurNs[1] = -1 }, "Kernels row 1 has duration -1"},
		{"open kernel", func(t *Trace) { t.Kernels.DurNs[0] = OpenDurNs }, "duration"},
		{"open range", func(t *Trace) { t.Ranges.StartNs, t.Ranges.DurNs = []int64{1}, []int64{OpenDurNs} }, ""},
		{"not sorted", func(t *Trace) { t.Kernels.StartNs[0] = 100 }, "Kernels row 1 starts before the row above it"},
		{"no such thread", func(t *Trace) {
			t.Calls.StartNs, t.Calls.DurNs, t.Calls.Thread = []int64{1}, []int64{1}, []ThreadRow{0}
		}, "Calls row 0 is on thread 0 of 0"},
		{"unknown thread", func(t *Trace) {
			t.Calls.StartNs, t.Calls.DurNs, t.Calls.Thread = []int64{1}, []int64{1}, []ThreadRow{NoThread}
		}, ""},
	} {
		trace := new(Trace)
		trace.Kernels.StartNs, trace.Kernels.DurNs = []int64{1, 2}, []int64{5, 5}
		test.spoil(trace)
		err := Check(trace)
		if err == nil && test.want != "" || err != nil &&
			(test.want == "" || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	trace := new(Trace)
	trace.Kernels.StartNs, trace.Kernels.DurNs = []int64{1}, []int64{1}
	trace.Kernels.Name = []StringID{trace.Strings.Intern("a")}
	if err := CheckStrings(trace); err != nil {
		t.Error(err)
	}
	if trace.Kernels.Name[0]++; CheckStrings(trace) == nil {
		t.Error("a string that was never given out is not noticed")
	}
}

func TestStrings(t *testing.T) {
	var s Strings
	if s.Intern("") != 0 || s.Len() != 1 || s.Text(0) != "" {
		t.Error("0 is not the empty string")
	}
	var ids []StringID
	for i := range 20_000 { // more than the cache in front holds
		ids = append(ids, s.InternBytes([]byte(fmt.Sprint("name ", i))))
	}
	for i, id := range ids {
		text := fmt.Sprint("name ", i)
		if s.Text(id) != text || s.Intern(text) != id || s.InternBytes([]byte(text)) != id {
			t.Fatalf("%q came back as %q", text, s.Text(id))
		}
		if got, ok := s.Lookup(text); !ok || got != id {
			t.Fatalf("Lookup(%q) = %d, %v, want %d", text, got, ok, id)
		}
	}
	if _, ok := s.Lookup("never seen"); ok {
		t.Error("Lookup finds what is not there")
	}
	if s.Len() != 20_001 || s.Text(1<<30) != "" {
		t.Errorf("%d texts", s.Len())
	}
	b := []byte("changed later")
	id := s.InternBytes(b)
	if b[0] = 'X'; s.Text(id) != "changed later" {
		t.Error("InternBytes keeps the caller's bytes")
	}
}

func TestStringsAdopt(t *testing.T) {
	var a, b Strings
	a.Intern("one")
	two := a.Intern("two")
	b.Intern("three")
	bTwo := b.Intern("two")
	ids := a.Adopt(&b)
	if ids[0] != 0 || ids[bTwo] != two || a.Text(ids[1]) != "three" {
		t.Errorf("adopted as %v", ids)
	}
	var none Strings
	if ids := a.Adopt(&none); len(ids) != 1 || ids[0] != 0 {
		t.Errorf("nothing is adopted as %v", ids)
	}
}

func TestJoin(t *testing.T) {
	var a, b Kernels
	a.StartNs, a.DurNs, a.Corr = []int64{1, 2}, []int64{1, 1}, []uint32{7, 8}
	b.StartNs, b.DurNs, b.Registers = []int64{3}, []int64{1}, []uint16{40}
	Join(&a, &b)
	if got := fmt.Sprint(a.StartNs, a.Corr, a.Registers, a.GridX == nil); got != "[1 2 3] [7 8 0] [0 0 40] true" {
		t.Errorf("joined: %s", got)
	}
	var empty Kernels
	Join(&a, &empty)
	Join(&empty, &a)
	if a.Len() != 3 || fmt.Sprint(empty.Registers) != "[0 0 40]" {
		t.Errorf("joined with nothing: %+v", empty)
	}
}

func TestLedger(t *testing.T) {
	var a, b Ledger
	a.Add(LossUnknownEvent, 0, "none")
	a.Add(LossUnknownEvent, 2, "first")
	a.Add(LossUnknownEvent, 3, "second")
	b.Add(LossBadEvent, 1, "bad")
	b.Add(LossUnknownEvent, 1, "third")
	a.Merge(&b)
	if got := fmt.Sprint(a.All()); got != "[{bad-event 1 bad} {unknown-event 6 first}]" {
		t.Errorf("losses are %s", got)
	}
	if a.Count(LossUnknownEvent) != 6 || a.Count(LossTruncated) != 0 {
		t.Error("counts are wrong")
	}
}

func TestParts(t *testing.T) {
	if !PartsAll.Has(PartOverheads|PartKernels) || PartsGPU.Has(PartCalls) || PartsGPU.Has(PartKernels|PartCalls) ||
		!PartsGPU.Has(0) {
		t.Error("Has is wrong")
	}
}

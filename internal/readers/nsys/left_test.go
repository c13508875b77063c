package nsys

import (
	"testing"

	"lacuna/internal/timeline/model"
)

// TestLeft: what nobody asked for is counted by part, so that all events are the same number whatever is read; of a
// table that the reader does not know it is counted, too.
func TestLeft(t *testing.T) {
	path := unpacked(t, "testdata/rtx3080-small.sqlite.zst")
	sql(t, path, `create table WDDM_EVENTS (start int, end int);
		insert into WDDM_EVENTS values (1, 2), (3, 4), (5, 6);
		create table WDDM_NAMES (id int, name text); insert into WDDM_NAMES values (1, 'a');`)
	all := mustRead(t, path, model.PartsAll)
	if left := all.Losses.Left(); len(left) != 1 || left[0] != (model.Left{What: "rows of WDDM_EVENTS", Count: 3}) {
		t.Errorf("of everything %v was left, want three rows of WDDM_EVENTS", left)
	}
	some := mustRead(t, path, model.PartKernels)
	counts := make(map[string]int64)
	for _, x := range some.Losses.Left() {
		counts[x.What] = x.Count
	}
	for what, want := range map[string]int{"API calls": all.Calls.Len(), "copies and memsets": all.Copies.Len() +
		all.Sets.Len(), "kernels": 0, "rows of WDDM_EVENTS": 3} {
		if counts[what] != int64(want) {
			t.Errorf("%d %s were left, want %d", counts[what], what, want)
		}
	}
	if some.Info.Events != all.Info.Events || all.Info.Events == 0 {
		t.Errorf("%d events with kernels only, %d with all", some.Info.Events, all.Info.Events)
	}
}

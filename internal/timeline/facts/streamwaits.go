package facts

import (
	"strings"

	"lacuna/internal/timeline/model"
)

// HasStreamWaits says whether the program made streams wait for events of other streams.
func (f *Facts) HasStreamWaits() bool {
	return f.kept.hasStreamWaits.of(f, func(f *Facts) bool {
		t := f.Trace
		waits := judge(&t.Strings, func(name string) bool { return strings.Contains(name, "StreamWaitEvent") })
		for _, id := range t.Calls.Name {
			if waits(id) {
				return true
			}
		}
		for _, k := range t.Syncs.Kind {
			if k == model.SyncStreamWait {
				return true
			}
		}
		return false
	})
}

package facts

import (
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/peaks"
)

// Peak is what the devices that did work can do; false: unknown, or not all alike.
func (f *Facts) Peak() (*peaks.Peak, bool) {
	var found *peaks.Peak
	for _, d := range f.Devices() {
		name, dev := f.DeviceName(d), model.Device{}
		for _, x := range f.Trace.Devices {
			if x.Ordinal == d {
				dev = x
			}
		}
		p, ok := peaks.Find(name, dev)
		if !ok || found != nil && p != found {
			return nil, false
		}
		found = p
	}
	return found, found != nil
}

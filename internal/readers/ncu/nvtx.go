package ncu

import (
	"lacuna/internal/kernel/profile"
)

// nvtx reads the ranges that were open when a kernel was launched: a stack per thread and domain, and ranges
// that were started and not ended.
func (f *filler) nvtx(msg []byte) []profile.Range {
	var ranges []profile.Range
	var domains []uint64 // of ranges, by number: their names may come later
	names := make(map[uint64]string)
	f.each("NVTX state", msg, func(c *cursor) {
		switch c.num {
		case nvtxDomain:
			f.domain(names, c.bytes)
		case nvtxThread:
			thread := uint64(0)
			f.each("NVTX thread", c.bytes, func(c *cursor) {
				switch c.num {
				case threadID:
					thread = c.whole
				case threadDomain:
					if id, stack := f.stack(c.bytes); len(stack) > 0 {
						ranges = keep(f, ranges, profile.Range{Thread: thread, Stack: stack})
						domains = append(domains, id)
					}
				default:
					f.unknown("NVTX thread", c.num)
				}
			})
		case nvtxStartEnd:
			id, started := f.started(c.bytes)
			for _, r := range started {
				ranges, domains = append(ranges, r), append(domains, id)
			}
		case nvtxDefault:
		default:
			f.unknown("NVTX state", c.num)
		}
	})
	for i := range ranges {
		ranges[i].Domain = names[domains[i]]
	}
	return ranges
}

func (f *filler) domain(names map[uint64]string, msg []byte) {
	var id uint64
	var name string
	f.each("NVTX domain", msg, func(c *cursor) {
		switch c.num {
		case domainID:
			id = c.whole
		case domainName:
			name = c.text()
		} // else registered texts and categories: names are resolved where they are used
	})
	if f.held += 64; name != "" {
		names[id] = name
	}
}

// stack reads the open ranges of one thread in one domain, outermost first.
func (f *filler) stack(msg []byte) (domain uint64, names []string) {
	f.each("NVTX stack", msg, func(c *cursor) {
		switch c.num {
		case openDomainID:
			domain = c.whole
		case openRange:
			f.each("NVTX range", c.bytes, func(c *cursor) {
				if c.num == pushName { // else attributes
					names = keep(f, names, c.text())
				}
			})
		default:
			f.unknown("NVTX stack", c.num)
		}
	})
	return domain, names
}

// started reads the ranges of one domain that were started, each a stack of one.
func (f *filler) started(msg []byte) (domain uint64, ranges []profile.Range) {
	f.each("NVTX started ranges", msg, func(c *cursor) {
		switch c.num {
		case openDomainID:
			domain = c.whole
		case openRange:
			var r profile.Range
			f.each("NVTX started range", c.bytes, func(c *cursor) {
				switch c.num {
				case startName:
					r.Stack = []string{c.text()}
				case startThreadID:
					r.Thread = c.whole
				} // else its number and attributes
			})
			if len(r.Stack) > 0 {
				ranges = keep(f, ranges, r)
			}
		default:
			f.unknown("NVTX started ranges", c.num)
		}
	})
	return domain, ranges
}

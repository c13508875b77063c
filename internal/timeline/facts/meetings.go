package facts

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"lacuna/internal/timeline/model"
)

// A Party is one device of one capture of a job: a rank, however many captures there are.
type Party struct {
	Facts  *Facts
	In     int // place of its capture
	Device uint32
}

// A Meeting is one collective: the kernel of each party that takes part, as a row of its Work, else -1. All of them
// run until the last has come and the data has been exchanged.
type Meeting struct{ Rows []int32 }

// Meetings is the collectives that the parties of a job ran together.
type Meetings struct {
	Parties []Party
	// OffsetNs, added to a party's times, gives those of the first party's clock. Captures need not agree on the
	// time: a collective ends on all ranks at nearly the same moment, within 3 µs (nsys) and 15 µs (torch.profiler)
	// on two H200.
	OffsetNs []int64
	All      []Meeting // by when they ended
	Ran      []int     // by party: its collectives, point-to-point apart
	Met      []int     // by party: those of them that were matched
}

const (
	// maxShift is by how many collectives one capture may begin earlier than another; more are not tried.
	maxShift = 600
	// maxCompared is how many collectives a shift is judged by.
	maxCompared = 400
	// minCompared is how many collectives must lie side by side for their ends to say anything.
	minCompared = 3
	// maxEndsApartNs is how far the ends of one collective lie apart at most, in the median over a capture, once the
	// clocks are aligned. Wrongly matched ones lie apart by as much as steps and layers vary.
	maxEndsApartNs = 200_000
	// maxOneApartNs is the same for each single one: the root of a broadcast may be done well before the others.
	maxOneApartNs = 2_000_000
	// maxStampsApartNs is how far the ends of one collective lie apart on aligned clocks if all is well.
	maxStampsApartNs = 50_000
	// maxMissing is how many records of collectives may be missing at one place.
	maxMissing = 8
)

// An encounter is a party's kernel of a collective, before it is known whose else belong to it.
type encounter struct {
	row        int32
	name       string
	start, end int64
}

// Meet matches the collectives of several captures, or of the devices of one: those of one process group, where it is
// recorded, in the order in which they ran. It is not the order's beginning that is compared, which differs between
// captures, but the ends.
func Meet(in []*Facts) *Meetings {
	m := &Meetings{}
	classes := make(map[string][][]encounter) // of each process group, by party
	var names []string
	for place, f := range in {
		for _, d := range f.Devices() {
			own := f.encounters(d)
			if len(own) == 0 {
				continue
			}
			party := len(m.Parties)
			m.Parties = append(m.Parties, Party{f, place, d})
			m.Ran = append(m.Ran, 0)
			for name, list := range own {
				if classes[name] == nil {
					names = append(names, name)
				}
				for len(classes[name]) <= party {
					classes[name] = append(classes[name], nil)
				}
				classes[name][party] = list
				if name != exchanges {
					m.Ran[party] += len(list)
				}
			}
		}
	}
	slices.Sort(names)
	m.Met = make([]int, len(m.Parties))
	m.OffsetNs = make([]int64, len(m.Parties))
	aligned := m.align(classes, names)
	for _, name := range names {
		m.match(classes[name], aligned, name == exchanges)
	}
	slices.SortStableFunc(m.All, func(a, b Meeting) int { return cmp.Compare(m.endNs(a), m.endNs(b)) })
	return m
}

// endNs is when a meeting ended for the first of its parties, on the common clock.
func (m *Meetings) endNs(x Meeting) int64 {
	for p, row := range x.Rows {
		if row >= 0 {
			return m.Parties[p].Facts.Work().EndNs[row] + m.OffsetNs[p]
		}
	}
	return 0
}

// ArrivalNs is when a party came to a meeting, on the common clock.
func (m *Meetings) ArrivalNs(x *Meeting, party int) int64 {
	return m.Parties[party].Facts.Work().StartNs[x.Rows[party]] + m.OffsetNs[party]
}

// Last is the party that came last to a meeting, and when, on the common clock.
func (m *Meetings) Last(x *Meeting) (party int, ns int64) {
	party = -1
	for p, row := range x.Rows {
		if row >= 0 {
			if at := m.ArrivalNs(x, p); party < 0 || at > ns {
				party, ns = p, at
			}
		}
	}
	return party, ns
}

// WaitNs is for how long a party's kernel waited in a meeting until the last one had come: at most as long as it ran.
func (m *Meetings) WaitNs(x *Meeting, party int) int64 {
	_, last := m.Last(x)
	w, row := m.Parties[party].Facts.Work(), x.Rows[party]
	return max(0, min(last-m.ArrivalNs(x, party), w.EndNs[row]-w.StartNs[row]))
}

// exchanges is the class of kernels that are an all-to-all or a point-to-point transfer, and do not tell: NCCL has
// one kernel for both. They met if all parties were done with them at one moment, and else are left alone.
const exchanges = "\x01exchanges"

// maxExchanges bounds how many of them are looked at: a pipeline's transfers are many, and meet nobody.
const maxExchanges = 1 << 16

// encounters is the collectives of a device by process group, in the order in which they ran; "" where no group is
// recorded. Point-to-point transfers have two parties of which the kernel does not say which, and are left out.
func (f *Facts) encounters(device uint32) map[string][]encounter {
	w, t := f.Work(), f.Trace
	out := make(map[string][]encounter)
	groupOf := make(map[uint32]string) // of each stream, the last group seen on it: not every kernel has its record
	for i := range w.Len() {
		if w.Kind[i] != WorkComm || w.Device[i] != device {
			continue
		}
		name, group, kind := f.WorkName(i), groupOf[w.Stream[i]], ""
		if k := int(w.Row[i]); k < len(t.Kernels.Collective) && int(t.Kernels.Collective[k]) < t.Collectives.Len() {
			c := t.Kernels.Collective[k]
			kind = t.Strings.Text(t.Collectives.Name[c])
			group = textAt(t, t.Collectives.Group, c) + " " + textAt(t, t.Collectives.Ranks, c)
			if groupOf[w.Stream[i]] == "" { // those before it on its stream, too
				out[group] = append(out[group], out[streamKey(w.Stream[i])]...)
				delete(out, streamKey(w.Stream[i]))
			}
			groupOf[w.Stream[i]] = group
		}
		switch exchange := strings.Contains(name, "SendRecv"); {
		case isPointToPoint(kind), exchange && kind == "" && len(out[exchanges]) >= maxExchanges:
			continue
		case exchange && kind == "":
			out[exchanges] = append(out[exchanges], encounter{int32(i), name, w.StartNs[i], w.EndNs[i]})
			continue
		}
		if group == "" {
			group = streamKey(w.Stream[i])
		}
		out[group] = append(out[group], encounter{int32(i), name, w.StartNs[i], w.EndNs[i]})
	}
	return mergeUnknown(out)
}

// streamKey stands for the group of a stream while it is not known.
func streamKey(stream uint32) string { return "\x00" + string(rune(stream)) }

// mergeUnknown puts the collectives of all streams whose group is not known together.
func mergeUnknown(by map[string][]encounter) map[string][]encounter {
	var unknown []encounter
	for name, list := range by {
		if strings.HasPrefix(name, "\x00") {
			unknown = append(unknown, list...)
			delete(by, name)
		}
	}
	if len(unknown) > 0 {
		by[""] = unknown
	}
	for _, list := range by {
		slices.SortFunc(list, func(a, b encounter) int { return cmp.Compare(a.row, b.row) })
	}
	return by
}

func textAt(t *model.Trace, column []model.StringID, row model.CollectiveRow) string {
	if int(row) < len(column) {
		return t.Strings.Text(column[row])
	}
	return ""
}

// isPointToPoint says whether what is recorded of a collective is that it sends to or receives from one peer.
func isPointToPoint(collective string) bool {
	collective = strings.ToLower(collective)
	return strings.Contains(collective, "send") || strings.Contains(collective, "recv")
}

// align finds the offset of each party's clock, from one that is aligned already to one that shares a process group
// with it. It says which could be aligned.
func (m *Meetings) align(classes map[string][][]encounter, names []string) []bool {
	done := make([]bool, len(m.Parties))
	if len(done) == 0 {
		return done
	}
	done[0] = true
	for again := true; again; {
		again = false
		for p := range m.Parties {
			if done[p] {
				continue
			}
			for q := range m.Parties {
				if done[q] && m.oneClock(q, p) {
					m.OffsetNs[p], done[p] = m.OffsetNs[q], true
				}
			}
			for _, name := range names {
				lists := classes[name]
				if name == exchanges {
					continue
				}
				for q := 0; q < len(lists) && p < len(lists) && !done[p]; q++ {
					if !done[q] || q == p {
						continue
					}
					guess, told := m.clockGuess(q, p)
					if _, offset, ok := sideBySide(lists[q], lists[p], guess, told, false); ok {
						m.OffsetNs[p], done[p] = m.OffsetNs[q]+offset, true
					}
				}
			}
			again = again || done[p]
		}
	}
	return done
}

// oneClock says whether two parties have the same clock: those of one capture, unless it was seen to be wrong.
func (m *Meetings) oneClock(q, p int) bool {
	a, b := &m.Parties[q], &m.Parties[p]
	shifts := a.Facts.ClockShifts()
	return a.In == b.In && shifts[a.Device] == 0 && shifts[b.Device] == 0
}

// clockGuess is by how much party p's times must be moved to be those of party q if both captures tell the Unix time
// right, and whether they tell it.
func (m *Meetings) clockGuess(q, p int) (ns int64, told bool) {
	a, b := &m.Parties[q].Facts.Trace.Epoch, &m.Parties[p].Facts.Trace.Epoch
	if a.UnixNs == 0 && !a.Unix || b.UnixNs == 0 && !b.Unix {
		return 0, false
	}
	return b.UnixNs - a.UnixNs, true
}

// sideBySide lays the collectives of one party beside those of another: b's place i+shift beside a's place i, so that
// their ends lie as evenly apart as they can; of shifts that are about as good, as in a loop that hardly varies, the
// one that is closest to the guessed offset, or without a guess the least. With known, the guess is right, and it is
// the distance itself that counts.
func sideBySide(a, b []encounter, guess int64, guessed, known bool) (shift int, offset int64, ok bool) {
	type fit struct {
		shift         int
		offset, apart int64
	}
	var fits []fit
	least := int64(1) << 62
	for s := -min(len(a), maxShift); s <= min(len(b), maxShift); s++ {
		var d []int64
		from, to := max(0, -s), min(len(a), len(b)-s)
		if to-from < minCompared && !known || 2*(to-from) < min(len(a), len(b)) {
			continue
		}
		same := 0
		for i := from + max(0, (to-from-maxCompared)/2); i < to && len(d) < maxCompared; i++ {
			d = append(d, a[i].end-b[i+s].end)
			if a[i].name == b[i+s].name {
				same++
			}
		}
		if 10*same < 9*len(d) {
			continue
		}
		mid := guess
		if !known {
			mid = medianOf(slices.Clone(d))
		}
		for i := range d {
			d[i] = max(d[i]-mid, mid-d[i])
		}
		apart := medianOf(d)
		fits, least = append(fits, fit{s, mid, apart}), min(least, apart)
	}
	const alike = 2 // as good as the best one: within twice its scatter and a few µs of stamps
	best := -1
	for i, x := range fits {
		near := func(x fit) int64 {
			if !guessed {
				return int64(max(x.shift, -x.shift))
			}
			return max(x.offset-guess, guess-x.offset)
		}
		if x.apart <= maxEndsApartNs && x.apart <= alike*least+5_000 && (best < 0 || near(x) < near(fits[best])) {
			best = i
		}
	}
	if best < 0 {
		return 0, 0, false
	}
	return fits[best].shift, fits[best].offset, true
}

// match makes meetings of one process group's collectives: those of its first party, with what lies beside them of
// the others. With strict, all parties must have been done with one at one moment.
func (m *Meetings) match(lists [][]encounter, aligned []bool, strict bool) {
	var members []int
	for p, list := range lists {
		if len(list) > 0 && aligned[p] {
			members = append(members, p)
		}
	}
	if len(members) < 2 || strict && len(members) < len(m.Parties) {
		return
	}
	first := members[0]
	shifts := make(map[int]int)
	for _, p := range members[1:] {
		if s, _, ok := sideBySide(lists[first], lists[p], m.OffsetNs[p]-m.OffsetNs[first], true, true); ok {
			shifts[p] = s
		}
	}
	if len(shifts) != len(members)-1 {
		return // whose collectives cannot be found would be missing in all
	}
	next := make([]int, len(lists)) // a record belongs to one collective
	for i, e := range lists[first] {
		x := Meeting{Rows: slices.Repeat([]int32{-1}, len(m.Parties))}
		x.Rows[first] = e.row
		whole := true
		for _, p := range members[1:] {
			k := beside(lists[p], i+shifts[p], e, m.OffsetNs[p]-m.OffsetNs[first])
			if strict && k >= 0 {
				apart := lists[p][k].end + m.OffsetNs[p] - e.end - m.OffsetNs[first]
				whole = whole && max(apart, -apart) <= maxStampsApartNs
			}
			if whole = whole && k >= next[p]; whole {
				x.Rows[p], shifts[p], next[p] = lists[p][k].row, k-i, k+1
			}
		}
		if whole {
			m.All = append(m.All, x)
			for _, p := range members {
				m.Met[p]++
				if strict {
					m.Ran[p]++
				}
			}
		}
	}
}

// beside is the place in a list of what belongs to collective e: the one at k, or if that ended at another time,
// because a record is missing, one near it that ended with e; -1: none.
func beside(list []encounter, k int, e encounter, offset int64) int {
	apart := func(k int) int64 {
		if k < 0 || k >= len(list) || list[k].name != e.name {
			return maxOneApartNs + 1
		}
		d := list[k].end + offset - e.end
		return max(d, -d)
	}
	if apart(k) > maxStampsApartNs {
		for by := 1; by <= maxMissing; by++ {
			for _, near := range [2]int{k - by, k + by} {
				if apart(near) <= maxStampsApartNs {
					return near
				}
			}
		}
	}
	d := apart(k)
	switch {
	case d > maxOneApartNs, d > maxStampsApartNs && k > 0 && 2*d > list[k].end-list[k-1].end,
		d > maxStampsApartNs && k+1 < len(list) && 2*d > list[k+1].end-list[k].end:
		return -1 // it is as near to another one
	}
	return k
}

// NameOf is what a party is called: its rank where the capture says so.
func (m *Meetings) NameOf(party int) string {
	p := &m.Parties[party]
	name := "rank " + strconv.Itoa(int(p.Facts.Trace.Info.Rank))
	if p.Facts.Trace.Info.Rank < 0 {
		name = "capture " + strconv.Itoa(p.In+1)
	}
	device := "device " + strconv.FormatUint(uint64(p.Device), 10)
	several := slices.ContainsFunc(m.Parties, func(q Party) bool { return q.In != p.In })
	switch {
	case !several:
		return device // one capture of all
	case slices.ContainsFunc(m.Parties, func(q Party) bool { return q.In == p.In && q.Device != p.Device }):
		return name + ", " + device
	}
	return name
}

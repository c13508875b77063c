package kineto

import "lacuna/internal/timeline/model"

// addCollectives is the row at which the part's collectives begin.
func (m *merger) addCollectives(p *part, id func(uint32) model.StringID) model.CollectiveRow {
	c := &m.trace.Collectives
	first := model.CollectiveRow(c.Len())
	for i := range p.collectives {
		r := &p.collectives[i]
		c.Name, c.Group, c.GroupDesc = append(c.Name, id(r.name)), append(c.Group, id(r.group)),
			append(c.GroupDesc, id(r.desc))
		c.Ranks, c.Dtype = append(c.Ranks, id(r.ranks)), append(c.Dtype, id(r.dtype))
		c.InSplit, c.OutSplit = append(c.InSplit, id(r.inSplit)), append(c.OutSplit, id(r.outSplit))
		c.GroupSize, c.Peer, c.Seq = append(c.GroupSize, r.groupSize), append(c.Peer, r.peer), append(c.Seq, r.seq)
		c.InElems, c.OutElems = append(c.InElems, r.inElems), append(c.OutElems, r.outElems)
	}
	return first
}

func (m *merger) addRanges(p *part, id func(uint32) model.StringID) {
	if n := len(p.ranges); n > 0 {
		t := &m.trace.Ranges
		before := t.Len()
		start, dur, thread, name := extend(m, &t.StartNs, n), extend(m, &t.DurNs, n), extend(m, &t.Thread, n),
			extend(m, &t.Name, n)
		kind, external := extend(m, &t.Kind, n), extend(m, &t.External, n)
		domain := extend(m, &t.Domain, n)
		sequence := optionally(m, &t.Sequence, before, n, p.has&hasRangeSequence != 0, model.NoSequence)
		shapes := optionally(m, &t.Shapes, before, n, p.has&hasRangeShapes != 0, 0)
		for i := range n {
			r := &p.ranges[i]
			start[i], dur[i], thread[i], name[i] = r.startNs, r.durNs, m.thread(r.pid, r.tid), id(r.name)
			kind[i], external[i], domain[i] = r.kind, r.external, model.NoDomain
			if sequence != nil {
				sequence[i] = r.sequence
			}
			if shapes != nil {
				shapes[i] = id(r.shapes)
			}
		}
	}
	if n := len(p.deviceRanges); n > 0 {
		t := &m.trace.DeviceRanges
		start, dur, device, stream := extend(m, &t.StartNs, n), extend(m, &t.DurNs, n), extend(m, &t.Device, n),
			extend(m, &t.Stream, n)
		name, external := extend(m, &t.Name, n), extend(m, &t.External, n)
		for i := range n {
			r := &p.deviceRanges[i]
			start[i], dur[i], device[i], stream[i], name[i], external[i] = r.startNs, r.durNs, r.device, r.stream,
				id(r.name), r.external
		}
	}
	for i := range p.marks {
		r := &p.marks[i]
		t := &m.trace.Marks
		thread := model.NoThread
		if r.thread {
			thread = m.thread(r.pid, r.tid)
		}
		t.TimeNs, t.Thread = append(t.TimeNs, r.timeNs), append(t.Thread, thread)
		t.Name, t.Domain = append(t.Name, id(r.name)), append(t.Domain, model.NoDomain)
	}
}

// addRest appends the tables that are rarely large.
func (m *merger) addRest(p *part, id func(uint32) model.StringID) {
	m.addPython(p, id)
	m.addSyncs(p)
	m.addAllocs(p)
	m.addCounters(p, id)
	for i := range p.overheads {
		r := &p.overheads[i]
		t := &m.trace.Overheads
		thread := model.NoThread
		if r.pid >= 0 {
			thread = m.thread(r.pid, r.tid)
		}
		t.StartNs, t.DurNs = append(t.StartNs, r.startNs), append(t.DurNs, r.durNs)
		t.Thread, t.Name = append(t.Thread, thread), append(t.Name, id(r.name))
	}
	m.flows = append(m.flows, p.flows...)
	for _, r := range p.spans {
		m.addSpan(r, m.trace.Strings.Text(id(r.name)))
	}
	for _, r := range p.metas {
		m.named[metaKey{r.pid, r.tid, r.what}] = id(r.text)
	}
}

func (m *merger) addPython(p *part, id func(uint32) model.StringID) {
	n := len(p.pyCalls)
	if n == 0 {
		return
	}
	t := &m.trace.PyCalls
	start, dur, thread, name := extend(m, &t.StartNs, n), extend(m, &t.DurNs, n), extend(m, &t.Thread, n),
		extend(m, &t.Name, n)
	ids, parent := extend(m, &t.ID, n), extend(m, &t.Parent, n)
	for i := range n {
		r := &p.pyCalls[i]
		start[i], dur[i], thread[i], name[i] = r.startNs, r.durNs, m.thread(r.pid, r.tid), id(r.name)
		ids[i], parent[i] = r.id, r.parent
	}
}

func (m *merger) addSyncs(p *part) {
	n := len(p.syncs)
	if n == 0 {
		return
	}
	t := &m.trace.Syncs
	before := t.Len()
	start, dur, device, context := extend(m, &t.StartNs, n), extend(m, &t.DurNs, n), extend(m, &t.Device, n),
		extend(m, &t.Context, n)
	stream, kind, corr, event := extend(m, &t.Stream, n), extend(m, &t.Kind, n), extend(m, &t.Corr, n),
		extend(m, &t.Event, n)
	record := optionally(m, &t.RecordCorr, before, n, p.has&hasWait != 0, model.NoCorr)
	on := optionally(m, &t.OnStream, before, n, p.has&hasWait != 0, model.NoStream)
	for i := range n {
		r := &p.syncs[i]
		start[i], dur[i], device[i], context[i] = r.startNs, r.durNs, r.device, r.context
		stream[i], kind[i], corr[i], event[i] = r.stream, r.kind, r.corr, r.event
		if record != nil {
			record[i], on[i] = r.recordCorr, r.onStream
		}
	}
}

func (m *merger) addAllocs(p *part) {
	n := len(p.allocs)
	if n == 0 {
		return
	}
	t := &m.trace.AllocEvents
	before := t.Len()
	at, thread, device := extend(m, &t.TimeNs, n), extend(m, &t.Thread, n), extend(m, &t.Device, n)
	delta, allocated, reserved := extend(m, &t.DeltaBytes, n), extend(m, &t.AllocatedBytes, n),
		extend(m, &t.ReservedBytes, n)
	addr := optionally(m, &t.Addr, before, n, p.has&hasAddr != 0, 0)
	for i := range n {
		r := &p.allocs[i]
		at[i], thread[i], device[i] = r.timeNs, m.thread(r.pid, r.tid), r.device
		delta[i], allocated[i], reserved[i] = r.delta, r.allocated, r.reserved
		if addr != nil {
			addr[i] = r.addr
		}
	}
}

func (m *merger) addCounters(p *part, id func(uint32) model.StringID) {
	for _, r := range p.counters {
		key := trackKey{id(r.name), r.device}
		track, ok := m.tracks[key]
		if !ok {
			track = uint32(len(m.trace.Tracks))
			m.tracks[key] = track
			m.trace.Tracks = append(m.trace.Tracks,
				model.CounterTrack{Name: m.trace.Strings.Text(key.name), Device: r.device, Thread: model.NoThread})
		}
		t := &m.trace.Counters
		t.TimeNs, t.Track, t.Value = append(t.TimeNs, r.timeNs), append(t.Track, track), append(t.Value, r.value)
	}
}

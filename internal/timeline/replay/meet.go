package replay

import (
	"sync"

	"lacuna/internal/timeline/facts"
)

// A job is the programs of a job's ranks, run together: a collective goes on once the last rank has come to it, on
// whatever clock. What each rank waited for the others as recorded is left out, and comes again as it must.
type job struct {
	programs []*Program
	offsetNs []int64 // added to a program's times, they are those of the first one's clock
	meetings int
	met      [][]attendance // of each program, by work; meeting none: it meets nobody
}

// An attendance is a piece of work's part in a collective.
type attendance struct {
	meeting  int32
	parties  int32   // how many programs take part
	transfer float64 // share of its kernel's recorded time that is left when the last one has come
}

// Join makes the programs of a job's ranks run together from now on, each being replayed with all others. The
// captures behind them are those that meetings were found in, in the same order, each with one device that
// communicates; false: they are not.
func Join(programs []*Program, m *facts.Meetings) bool {
	if len(m.Parties) != len(programs) || len(programs) < 2 || len(m.All) == 0 {
		return false
	}
	j := &job{programs: programs, offsetNs: m.OffsetNs, meetings: len(m.All)}
	for i, p := range programs {
		if m.Parties[i].In != i {
			return false
		}
		j.met = append(j.met, p.attends(m, i))
	}
	parties := make([]int32, j.meetings)
	for _, list := range j.met {
		for _, a := range list {
			if a.meeting != none {
				parties[a.meeting]++
			}
		}
	}
	for i, p := range programs {
		for k := range j.met[i] {
			if a := &j.met[i][k]; a.meeting != none {
				a.parties = parties[a.meeting]
			}
		}
		p.job, p.place, p.residuals = j, i, p.Residuals()
	}
	return true
}

// attends is which meeting each piece of work of a party is part of.
func (p *Program) attends(m *facts.Meetings, party int) []attendance {
	byRow := make(map[int32]attendance)
	for k := range m.All {
		x := &m.All[k]
		row := x.Rows[party]
		if row < 0 {
			continue
		}
		w := p.Facts.Work()
		ran := w.EndNs[row] - w.StartNs[row]
		byRow[row] = attendance{meeting: int32(k), transfer: 1 - float64(m.WaitNs(x, party))/float64(max(1, ran))}
	}
	out := make([]attendance, len(p.Works))
	for i := range p.Works {
		out[i].meeting = none
		if a, ok := byRow[p.Works[i].Row]; ok {
			out[i] = a
		}
	}
	return out
}

// A gathering is where the programs of one joint run wait for one another.
type gathering struct {
	mu      sync.Mutex
	changed *sync.Cond
	j       *job
	lastNs  []int64       // of each meeting, when the last of those who have come did, on the common clock
	here    []int32       // how many have come, or never will
	on      []bool        // it goes on: all have come, or those who have not are not waited for
	running int           // programs that run and do not wait
	waiting map[int32]int // how many wait in each meeting
}

func newGathering(j *job) *gathering {
	g := &gathering{j: j, lastNs: make([]int64, j.meetings), here: make([]int32, j.meetings),
		on: make([]bool, j.meetings), running: len(j.programs), waiting: make(map[int32]int)}
	g.changed = sync.NewCond(&g.mu)
	for i := range g.lastNs {
		g.lastNs[i] = minNs
	}
	return g
}

// come says when a program comes to a meeting and returns when the last does, both on its own clock.
func (g *gathering) come(place int, a attendance, ns int64) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	offset := g.j.offsetNs[place]
	if g.on[a.meeting] { // it was not waited for
		return max(ns, g.lastNs[a.meeting]-offset)
	}
	g.lastNs[a.meeting] = max(g.lastNs[a.meeting], ns+offset)
	g.arrive(a)
	if !g.on[a.meeting] {
		g.running--
		g.waiting[a.meeting]++
		g.unblock()
		for !g.on[a.meeting] {
			g.changed.Wait()
		}
		g.waiting[a.meeting]--
	}
	return g.lastNs[a.meeting] - offset
}

// stayAway says that a program never comes to a meeting.
func (g *gathering) stayAway(a attendance) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.arrive(a)
}

func (g *gathering) arrive(a attendance) {
	g.here[a.meeting]++
	if g.here[a.meeting] == a.parties {
		g.goOn(a.meeting)
	}
}

// goOn lets those who wait in a meeting run.
func (g *gathering) goOn(meeting int32) {
	if !g.on[meeting] {
		g.on[meeting] = true
		g.running += g.waiting[meeting]
		g.changed.Broadcast()
	}
}

// unblock gives a meeting up that all wait in or for: programs that come to meetings in different orders, or not at
// all. It is the earliest one that somebody waits in, whoever came first.
func (g *gathering) unblock() {
	if g.running > 0 {
		return
	}
	first := none
	for meeting, n := range g.waiting {
		if n > 0 && !g.on[meeting] && (first == none || meeting < first) {
			first = meeting
		}
	}
	if first != none {
		g.goOn(first)
	}
}

// leave says that a program has run to its end.
func (g *gathering) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	g.unblock()
}

// meet is how long work that starts at ns waits for other ranks, and how long it takes from then on.
func (s *simulation) meet(i int32, ns, dur int64, dropped bool) (waits, takes int64) {
	met := s.p.job.met[s.p.place]
	if int(i) >= len(met) || met[i].meeting == none {
		return 0, dur
	}
	if dropped {
		s.opt.with.stayAway(met[i])
		return 0, dur
	}
	last := s.opt.with.come(s.p.place, met[i], ns)
	return max(0, last-ns), max(1, int64(float64(dur)*met[i].transfer))
}

// simulate runs all programs of a job together, each under its own options.
func (j *job) simulate(opts []Options) []*Run {
	g := newGathering(j)
	out := make([]*Run, len(j.programs))
	var all sync.WaitGroup
	for i, p := range j.programs {
		all.Go(func() {
			defer g.leave()
			opt := opts[i]
			opt.with = g
			out[i] = p.simulate(opt, nil)
		})
	}
	all.Wait()
	return out
}

// run simulates all programs of a job under the same assumptions, each with its own residuals if there are any.
func (j *job) run(opt Options) []*Run {
	opts := make([]Options, len(j.programs))
	slowed := make(map[int]*relaxation)
	for i, p := range j.programs {
		opts[i] = opt
		if opt.Residuals != nil {
			opts[i].Residuals = p.residuals
		}
		if p.contention != nil {
			slowed[i] = p.newRelaxation(&opts[i])
		}
	}
	runs := j.simulate(opts)
	for range maxRelaxations {
		most := 0.0
		for i, x := range slowed {
			most = max(most, x.again(runs[i]))
		}
		if len(slowed) == 0 {
			break
		}
		runs = j.simulate(opts)
		if most < relaxed {
			break
		}
	}
	return runs
}

// OneOfRanks says whether a program meets other ranks that it is not replayed with: what it waits for them is taken
// as recorded, whenever it comes.
func (p *Program) OneOfRanks() bool {
	if p.job != nil {
		return false
	}
	device, talks := none, false
	for i := range p.Works {
		if w := &p.Works[i]; w.Kind == facts.WorkComm {
			d := int32(p.Lanes[w.Lane].Device)
			if talks && d != device {
				return false // the devices of one capture meet each other
			}
			device, talks = d, true
		}
	}
	return talks
}

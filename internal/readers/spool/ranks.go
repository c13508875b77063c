package spool

import (
	"fmt"

	raw "lacuna/internal/capture/spool"
	"lacuna/internal/timeline/nccl"
)

// rankNames is how launchers tell a process its rank and how many there are, the surest first.
var rankNames = [][2]string{{"RANK", "WORLD_SIZE"}, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"PMI_RANK", "PMI_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"}}

// rankOf is a process' rank and how many there are; -1 and 0: it has none.
func rankOf(env map[string]string) (rank, world int32) {
	for _, names := range rankNames {
		if n, ok := number32(env[names[0]]); ok {
			world, _ := number32(env[names[1]])
			return n, max(world, 0)
		}
	}
	return -1, 0
}

// ranks says whose rank the capture is, if its processes with kernels are all of one.
func (r *reading) ranks() {
	info, chief := &r.trace.Info, r.chief()
	found := make(map[int32]bool)
	byNCCL := r.ranksOfNCCL()
	for _, s := range r.streams {
		if s.recorder {
			continue
		}
		rank, world := rankOf(s.from.Begin.Env)
		if m, ok := byNCCL[s]; ok {
			rank, world = m.Rank, m.Ranks
		}
		r.trace.Processes[s.process].Rank = rank
		info.World = max(info.World, world)
		if rank >= 0 && (s.kernels > 0 || s == chief) {
			found[rank] = true
			info.Rank = rank
		}
	}
	if len(found) != 1 {
		info.Rank, info.Merged = -1, int32(len(found))
	}
	if len(found) == 0 {
		r.warnOfOne()
	}
}

// alikeShare is the share of the busiest process' kernels from which another one is no helper of it.
const alikeShare = 0.1

// warnOfOne says that processes of which none is known to be a rank are read as one program.
func (r *reading) warnOfOne() {
	var most int64
	for _, s := range r.streams {
		most = max(most, s.kernels)
	}
	n := 0
	for _, s := range r.streams {
		if s.kernels > 0 && float64(s.kernels) >= alikeShare*float64(most) {
			n++
		}
	}
	if n > 1 {
		r.warn(fmt.Sprintf("%d processes used GPUs and none says which rank it is: they are read as one program, "+
			"so that a step has the kernels and calls of all; with RANK and WORLD_SIZE in their environment, as "+
			"torchrun sets them, they are distinguished", n))
	}
}

// members notes of which of NCCL's communicators a process becomes a member.
func (r *reading) members(s *stream, c *raw.Chunk) {
	for _, id := range r.ids(c, "extended") {
		if id == 0 || s.payloads[id] {
			continue
		}
		if s.payloads == nil {
			s.payloads = make(map[uint32]bool)
		}
		s.payloads[id] = true
		if m, ok := nccl.MemberOf(r.string(s, raw.Text(id))); ok {
			s.members = append(s.members, m)
		}
	}
}

// ranksOfNCCL is the ranks of processes whose launcher did not say them, as in a program that starts its own
// processes: those in the largest communicator that at least two processes with kernels made together, each with a
// rank of its own.
func (r *reading) ranksOfNCCL() map[*stream]nccl.Member {
	type made struct {
		of    map[*stream]nccl.Member
		ranks map[int32]bool
		twice bool
	}
	comms := make(map[string]*made)
	var names []string
	for _, s := range r.streams {
		if rank, _ := rankOf(s.from.Begin.Env); rank >= 0 {
			return nil
		}
		if s.kernels == 0 {
			continue
		}
		for _, m := range s.members {
			c := comms[m.Comm]
			if c == nil {
				c = &made{make(map[*stream]nccl.Member), make(map[int32]bool), false}
				comms[m.Comm] = c
				names = append(names, m.Comm)
			}
			if have, ok := c.of[s]; ok && have == m {
				continue
			}
			c.twice = c.twice || c.ranks[m.Rank]
			c.of[s], c.ranks[m.Rank] = m, true
		}
	}
	var best *made
	for _, name := range names {
		if c := comms[name]; !c.twice && len(c.of) == len(c.ranks) && len(c.of) > 1 &&
			(best == nil || len(c.of) > len(best.of)) {
			best = c
		}
	}
	if best == nil {
		return nil
	}
	return best.of
}

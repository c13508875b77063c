package engine

import (
	"fmt"
	"slices"
	"strconv"

	"lacuna/internal/runs/measure"
	"lacuna/internal/timeline/facts"
)

// rankNumbers is the ranks that captures say they are.
func rankNumbers(in []*facts.Facts) (out []int32) {
	for _, f := range in {
		if r := f.Trace.Info.Rank; r >= 0 && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// rankLabel names the label of a run that says which rank of its recording it is.
const rankLabel = "rank"

// A rankChoice is which rank a comparison looks at where a file holds several: that of --rank; else the one that an
// earlier input is of; else the slowest of the first such file, as a report judges it. Of all other files it is the
// same rank: ranks may do different work, and are no repeats of one another.
type rankChoice struct {
	asked bool
	rank  int32 // -1: not chosen
	of    string
	met   []int32  // of inputs that were passed over
	first string   // what is to be said of the first file of several ranks; "": there was none
	more  []string // such files after it
}

func newRankChoice(rank int) *rankChoice {
	return &rankChoice{asked: rank >= 0, rank: int32(max(rank, -1))}
}

// choose is the place, among the ranks of one file, of the one to look at; -1: the file is of another rank than --rank.
func (c *rankChoice) choose(r *ranks) (int, error) {
	in := r.in
	path, have := in[0].Trace.Info.Path, rankNumbers(in)
	if len(in) == 1 {
		switch own := in[0].Trace.Info.Rank; {
		case c.asked && own != c.rank:
			c.met = append(c.met, have...)
			return -1, nil
		case own >= 0:
			c.settle(own, path)
		}
		return 0, nil
	}
	why := "as of " + c.of
	switch {
	case c.asked:
		why = "as --rank says"
	case c.rank < 0:
		i, err := r.slowest()
		if err != nil {
			return 0, err
		}
		c.settle(in[i].Trace.Info.Rank, path)
		why = "the one with the longest step; --rank takes another"
	}
	i := slices.IndexFunc(in, func(f *facts.Facts) bool { return f.Trace.Info.Rank == c.rank })
	switch {
	case i < 0 && c.asked:
		c.met = append(c.met, have...)
		return -1, nil
	case i < 0:
		return 0, &OtherRanksError{path, have, c.rank, c.of}
	}
	if c.first == "" {
		c.first = fmt.Sprintf("of ranks %s in %s, rank %d is taken: %s", rankList(have), path, c.rank, why)
	} else {
		c.more = append(c.more, path)
	}
	return i, nil
}

// said is which ranks were taken, in words; nothing if no file had several.
func (c *rankChoice) said() (out []string) {
	if c.first != "" {
		out = append(out, c.first)
	}
	switch len(c.more) {
	case 0:
	case 1:
		out = append(out, fmt.Sprintf("rank %d is taken of %s, too", c.rank, c.more[0]))
	default:
		out = append(out, fmt.Sprintf("rank %d is taken of %d more files, too", c.rank, len(c.more)))
	}
	return out
}

// settle chooses a rank for all inputs to come, if none is chosen.
func (c *rankChoice) settle(rank int32, of string) {
	if c.rank < 0 {
		c.rank, c.of = rank, of
	}
}

// keep says whether a run of a file of measures is looked at: if it is labelled with a rank, with that which is chosen.
func (c *rankChoice) keep(r *measure.Run) bool {
	own := labelledRank(r)
	switch {
	case own < 0:
	case c.asked && own != c.rank:
		c.met = append(c.met, own)
		return false
	default:
		c.settle(own, r.Name)
	}
	return true
}

// labelledRank is the rank that a run's label says; -1: it has none.
func labelledRank(r *measure.Run) int32 {
	i := slices.IndexFunc(r.Labels, func(p measure.Pair) bool { return p.Name == rankLabel })
	if i < 0 {
		return -1
	}
	n, err := strconv.ParseInt(r.Labels[i].Value, 10, 32)
	if err != nil {
		return -1
	}
	return int32(n)
}

// sameIn is those of a history's runs that are of no other rank than the one that was taken of a recording.
func (c *rankChoice) sameIn(runs []*measure.Run, where string) ([]*measure.Run, error) {
	if c.first == "" {
		return runs, nil
	}
	var out []*measure.Run
	var others []int32
	for _, r := range runs {
		if own := labelledRank(r); own < 0 || own == c.rank {
			out = append(out, r)
		} else if !slices.Contains(others, own) {
			others = append(others, own)
		}
	}
	if len(out) == 0 {
		return nil, &OtherRanksError{Where: where, Have: others, Rank: c.rank}
	}
	return out, nil
}

// some is the error of a side of which --rank leaves nothing.
func (c *rankChoice) some(n int) error {
	if n > 0 || !c.asked {
		return nil
	}
	slices.Sort(c.met)
	return &NoRankError{int(c.rank), slices.Compact(c.met)}
}

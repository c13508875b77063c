package kernelrules

import (
	"fmt"
	"math"
	"testing"

	"lacuna/internal/kernel/cubin"
)

// A line of code with its counts: executed by warps, lanes that were there, lanes that worked.
type line struct {
	name           string
	dest           uint16 // 0: none
	uses           []uint16
	sets           cubin.Predicates
	guard          uint8 // 0: none, else the predicate's number from 1
	to             int   // of a branch: line; 0: none
	warps, lanes   float64
	working, parts float64 // lanes a warp that work, -1: all that are there; how often lanes parted
	special        uint8
}

func listing(lines []line) (body []cubin.Instruction, n laneCounts) {
	kinds := map[string]cubin.Kind{"LDG": cubin.LoadGlobal, "STG": cubin.StoreGlobal, "REDG": cubin.Atomic,
		"BRA": cubin.Branch, "EXIT": cubin.Exit}
	for at, l := range lines {
		in := cubin.Instruction{Offset: uint64(at) * cubin.InstructionBytes, Name: l.name, Kind: kinds[l.name],
			Guard: 7, Writes: -1, Reads: -1, Sets: l.sets, Selects: l.special, Bytes: 4}
		if l.guard > 0 {
			in.Guard = l.guard - 1
		}
		if l.dest > 0 {
			in.Dest = cubin.Span{First: l.dest, Count: 1}
		}
		for i, u := range l.uses {
			in.Uses[i] = cubin.Span{First: u, Count: 1}
		}
		in.Branch, in.Target = l.name == "BRA", uint64(l.to)*cubin.InstructionBytes
		in.Ends = kinds[l.name] >= cubin.Branch && l.guard == 0
		working := l.working
		if working < 0 {
			working = l.lanes
		}
		body = append(body, in)
		n.warps, n.lanes = append(n.warps, l.warps), append(n.lanes, l.lanes*l.warps)
		n.working, n.divergent = append(n.working, working*l.warps), append(n.divergent, l.parts)
	}
	return body, n
}

// all is a line that all lanes of 100 warps run.
func all(name string, dest uint16, uses ...uint16) line {
	return line{name: name, dest: dest, uses: uses, warps: 100, lanes: 32, working: -1, special: 0x21}
}

func test(use uint16) line {
	l := all("ISETP", 0, use)
	l.sets = 1
	return l
}

// in is a line that some lanes run, more often.
func in(l line, warps, lanes float64) line { l.warps, l.lanes = warps, lanes; return l }

// branch is a branch on P0 that parts lanes.
func branch(to int, warps, lanes, working, parts float64) line {
	return line{name: "BRA", guard: 1, to: to, warps: warps, lanes: lanes, working: working, parts: parts}
}

func TestIdleLanes(t *testing.T) {
	for _, c := range []struct {
		what string
		code []line
		want idleLanes
	}{
		{"a loop of as many rounds as loaded", []line{all("S2R", 1), all("LDG", 2, 1), all("MOV", 3, 9),
			in(all("IADD3", 3, 3), 1000, 8), in(test(2), 1000, 8), branch(3, 1000, 8, 7, 700), all("EXIT", 0)},
			idleLanes{known: true, counted: 1}},
		{"until a value carried around is small", []line{all("S2R", 1), all("MOV", 3, 1),
			in(all("FMUL", 3, 3, 3), 1000, 8), in(test(3), 1000, 8), branch(2, 1000, 8, 7, 700), all("EXIT", 0)},
			idleLanes{known: true, walked: 1}},
		{"a branch by the thread's index", []line{all("S2R", 1), test(1), branch(5, 100, 32, 16, 100),
			in(all("FMUL", 4, 4), 100, 16), in(all("FMUL", 4, 4), 100, 16), all("EXIT", 0)},
			idleLanes{known: true, thread: 1}},
		{"a branch by a loaded kind", []line{all("S2R", 1), all("LDG", 2, 1), test(2), branch(6, 100, 32, 16, 100),
			in(all("FMUL", 4, 4), 100, 16), in(all("FMUL", 4, 4), 100, 16), all("EXIT", 0)},
			idleLanes{known: true, data: 1}},
		{"the rest of an unrolled loop, by the length that the loop has", []line{all("S2R", 1), all("LDG", 2, 1),
			all("MOV", 3, 9), in(all("IADD3", 3, 3), 1000, 16), in(test(2), 1000, 16), branch(3, 1000, 16, 14, 500),
			test(2), branch(9, 100, 32, 16, 100), in(all("FMUL", 4, 4), 1000, 16), all("EXIT", 0)},
			idleLanes{known: true, counted: 1}},
		{"a branch that never parted lanes is not why", []line{all("S2R", 1), all("LDG", 2, 1), test(2),
			branch(5, 100, 16, 16, 0), in(all("FMUL", 4, 4), 100, 16), all("EXIT", 0)}, idleLanes{known: true}},
		{"code that is not understood", []line{all("S2R", 1), all("", 0), in(all("FMUL", 4, 4), 1000, 8)}, idleLanes{}},
	} {
		body, counts := listing(c.code)
		var s idleSum
		s.add(body, counts)
		got := s.shares()
		off := math.Abs(got.walked-c.want.walked) + math.Abs(got.counted-c.want.counted) +
			math.Abs(got.data-c.want.data) + math.Abs(got.thread-c.want.thread)
		if got.known != c.want.known || off > 0.02 {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
}

func TestRandomAccesses(t *testing.T) {
	for _, c := range []struct {
		what string
		code []line
		want string
		same bool // lanes load one index
	}{
		{"a[index[i]]", []line{all("S2R", 1), all("LDG", 2, 1), all("LDG", 3, 2)}, "[false false true]", false},
		{"a[row[warp] + 16 * lane]", []line{all("S2R", 1), all("LDG", 2, 1), all("LDG", 3, 2)},
			"[false false false]", true},
		{"an atomic there", []line{all("S2R", 1), all("LDG", 2, 1), all("REDG", 0, 2, 5)}, "[false false true]", false},
		{"a store there", []line{all("S2R", 1), all("LDG", 2, 1), all("STG", 0, 2, 5)}, "[false false true]", false},
		{"a row that an index names, walked", []line{all("S2R", 1), all("LDG", 2, 1),
			in(all("IADD3", 2, 2), 1000, 32), in(all("LDG", 3, 2), 1000, 32), branch(2, 1000, 32, 29, 0)},
			"[false false false false false]", false},
		{"single values in the order of a row that is walked", []line{all("S2R", 1), all("LDG", 2, 1),
			in(all("IADD3", 2, 2), 1000, 32), in(all("LDG", 3, 2), 1000, 32), in(all("LDG", 4, 3), 1000, 32),
			branch(2, 1000, 32, 29, 0)}, "[false false false false true false]", false},
		{"rows of a matrix", []line{all("S2R", 1), all("IMAD", 2, 1, 7), all("LDG", 3, 2)}, "[false false false]",
			false},
	} {
		body, counts := listing(c.code)
		sectors := make([]float64, len(body)) // indices lie side by side
		for i := range sectors {
			sectors[i] = counts.lanes[i] * 4 / sectorBytes
			if c.same {
				sectors[i] = counts.warps[i]
			}
		}
		if got := fmt.Sprint(randomAccesses(body, accessCounts{counts.warps, sectors, counts.working})); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

package cubin_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lacuna/internal/kernel/cubin"
)

// Words of an H200's code, as Nsight Compute names their operands.
func TestPredicates(t *testing.T) {
	for _, test := range []struct {
		low, high   uint64
		name        string
		sets, tests cubin.Predicates
	}{
		{0x000001900700780c, 0x000fe40003f06070, "ISETP", 1, 0},
		{0x000000600800780c, 0x000fe40004f23470, "ISETP", 2, 2},
		{0xfffffffc00c48947, 0x000fea000083ffff, "BRA", 0, 2},
		{0x000000000000781c, 0x000fc6000170e170, "PLOP3", 1, 4},
		{0x00000007ff037c10, 0x000fca00087fe4ff, "IADD3", 0, 1},
		{0x000000070200798e, 0x000fe2000c10e184, "REDG", 0, 0},
	} {
		word := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, test.low), test.high)
		i := (&cubin.Function{Code: word}).Instructions()[0]
		if i.Name != test.name || i.Sets != test.sets || i.Tests != test.tests {
			t.Errorf("%s sets %x and tests %x, want %s, %x and %x", i.Name, i.Sets, i.Tests, test.name, test.sets,
				test.tests)
		}
		if i.Name == "REDG" && (i.Kind != cubin.Atomic || i.Uses[0] != cubin.Span{First: 2, Count: 2} ||
			i.Uses[1] != cubin.Span{First: 7, Count: 1}) {
			t.Errorf("REDG [R2.64], R7 uses %v", i.Uses)
		}
	}
}

// code makes a list from lines "NAME dest <- uses | sets P <- tests P | @guard | ->target | =constant ^table"; only the
// name is needed. Registers and predicates are numbers.
func code(text string) (list []cubin.Instruction) {
	kinds := map[string]cubin.Kind{
		"LDG": cubin.LoadGlobal, "STG": cubin.StoreGlobal, "REDG": cubin.Atomic, "LDS": cubin.LoadShared,
		"BRA": cubin.Branch, "EXIT": cubin.Exit,
	}
	for n, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		i := cubin.Instruction{
			Offset: uint64(n) * cubin.InstructionBytes, Name: words[0], Kind: kinds[words[0]], Guard: 7, Writes: -1,
			Reads: -1,
		}
		uses := 0
		for _, w := range words[1:] {
			var v int
			fmt.Sscanf(strings.TrimLeft(w, "dupq@>+=^x"), "%d", &v)
			switch w[0] {
			case 'd':
				i.Dest = cubin.Span{First: uint16(v), Count: 1}
			case 'u', '+':
				i.Uses[uses] = cubin.Span{First: uint16(v), Count: 1}
				if w[0] == '+' {
					i.Third = i.Uses[uses]
				}
				uses++
			case 'p':
				i.Sets |= 1 << v
			case 'q':
				i.Tests |= 1 << v
			case '@':
				i.Guard = uint8(v)
			case '>':
				i.Branch, i.Target = true, uint64(v)*cubin.InstructionBytes
			case '=':
				i.Form, i.Constant = 4, uint32(v)
			case '^':
				i.Selects = uint8(v)
			}
		}
		i.Ends = (i.Branch || i.Kind == cubin.Exit) && i.Guard == 7
		list = append(list, i)
	}
	return list
}

// thread is R0 = threadIdx.x.
const thread = "S2R d0 ^33\n"

func TestAddresses(t *testing.T) {
	for _, test := range []struct {
		what, code string
		at         int
		scattered  bool
		feeds      string
	}{
		{"a[i]", thread + "LDG d1 u0", 1, false, "[]"},
		{"a[index[i]]", thread + "LDG d1 u0\nIMAD d2 u1 +9\nLDG d3 u2", 3, true, "[1]"},
		{"atomicAdd(a + index[i], 1)", thread + "LDG d1 u0\nREDG u1 u5", 2, true, "[1]"},
		{"a[index[block]], the same in all lanes", "S2R d0 ^37\nLDG d1 u0\nLDG d2 u1", 2, false, "[]"},
		{"a[index[block] + i]", thread + "S2R d4 ^37\nLDG d1 u4\nIADD3 d2 u1 u0\nLDG d3 u2", 4, false, "[]"},
		{"a[hash(i)]", thread + "LOP3 d1 u0 u7 ^60\nIMAD d1 u1 =2654435761\nLDG d2 u1", 3, true, "[]"},
		{"a[i ^ 1], a partner", thread + "LOP3 d1 u0 ^60\nIMAD d1 u1 =4\nLDG d2 u1", 3, false, "[]"},
		{"p = next[p]", thread + "LDG d0 u0\nBRA @0 >1", 1, true, "[1]"},
		{"index overwritten", thread + "LDG d1 u0\nMOV d1 u0\nLDG d2 u1", 3, false, "[]"},
		{"index overwritten in some lanes", thread + "LDG d1 u0\nMOV d1 u0 @0\nLDG d2 u1", 3, true, "[1]"},
	} {
		list := code(test.code)
		trail := cubin.Trace(list)
		if got := trail.Address[test.at].Scattered(); got != test.scattered ||
			fmt.Sprint(trail.Feeds[test.at]) != test.feeds {
			t.Errorf("%s: scattered %v, fed by %v", test.what, got, trail.Feeds[test.at])
		}
	}
}

func TestConditions(t *testing.T) {
	const all = cubin.FromThread | cubin.FromLoad | cubin.Carried
	for _, test := range []struct {
		what, code string
		at         int
		want       cubin.Origin // of all
		repeats    bool
	}{
		{"if (i & 1)", thread + "LOP3 d1 u0\nISETP u1 p0\nBRA @0 >5\nMOV d2 u0\nEXIT", 3, cubin.FromThread, false},
		{"if (kind[i])", thread + "LDG d1 u0\nISETP u1 p0\nBRA @0 >5\nMOV d2 u0\nEXIT", 3, cubin.FromLoad, false},
		{"for (k = 0; k < n; k++)", thread + "MOV d1 u9\nIADD3 d1 u1\nISETP u1 p0\nBRA @0 >2\nEXIT", 4, 0, true},
		{"for (k = i; k < n; k += 256)", thread + "MOV d1 u0\nIADD3 d1 u1\nISETP u1 p0\nBRA @0 >2\nEXIT", 4,
			cubin.FromThread, true},
		{"for (k = 0; k < length[i]; k++)", thread + "LDG d2 u0\nMOV d1 u9\nIADD3 d1 u1\nISETP u1 u2 p0\nBRA @0 >3\nEXIT",
			5, cubin.FromLoad, true},
		{"while (x < 4) x = x * x + c", thread + "MOV d1 u0\nFFMA d1 u1 u1 +0\nFSETP u1 p0\nBRA @0 >2\nEXIT", 4,
			cubin.FromThread | cubin.Carried, true},
		{"a state multiplied each round", thread + "IMAD d0 u0 +8 =1664525\nISETP u0 p0\nBRA @0 >1\nEXIT", 3,
			cubin.FromThread | cubin.Carried, true},
		{"k = k * 1 + step", thread + "IMAD d0 u8 +0\nISETP u0 p0\nBRA @0 >1\nEXIT", 3, cubin.FromThread, true},
		{"two conditions of which one is carried", thread + "MOV d1 u0\nFMUL d1 u1 u1\nFSETP u1 p1\n" +
			"PLOP3 q1 q2 p0\nBRA @0 >2\nEXIT", 5, cubin.FromThread | cubin.Carried, true},
		{"any(x) is one for the warp", thread + "ISETP u0 p0\nVOTE q0 p1\nBRA @1 >1\nEXIT", 3, 0, true},
	} {
		trail := cubin.Trace(code(test.code))
		if got := trail.Condition[test.at] & all; got != test.want || trail.Repeats(int32(test.at)) != test.repeats {
			t.Errorf("%s: origin %04b, want %04b; repeats %v", test.what, got, test.want, !test.repeats)
		}
	}
}

// What decides whether an instruction runs: both sides of an if, a loop itself, a guarded exit all behind it, and
// nothing what comes after they meet.
func TestDeciders(t *testing.T) {
	list := code(thread + `ISETP u0 p0
EXIT @0
BRA @1 >6
MOV d1 u2
BRA >7
MOV d1 u3
MOV d4 u1
IADD3 d5 u5
BRA @2 >8
EXIT`)
	trail := cubin.Trace(list)
	want := []string{"[]", "[]", "[]", "[2]", "[2 3]", "[2 3]", "[2 3]", "[2]", "[2 9]", "[2 9]", "[2]"}
	for i := range list {
		if got := fmt.Sprint(trail.Deciders(i)); got != want[i] {
			t.Errorf("%d %s: %s, want %s", i, list[i].Name, got, want[i])
		}
	}
	if endless := cubin.Trace(code("BRA >0")); endless.Repeats(0) {
		t.Error("a branch without a condition decides nothing")
	}
}

// A product of the last round that the next one reads has two readers.
func TestReaders(t *testing.T) {
	loop := cubin.Trace(code("FMUL d1 u2 u2\nFADD d3 u1 u4\nISETP u3 p0\nBRA @0 >5\nEXIT\nFADD d2 u1 u5\nBRA >0"))
	if got := loop.Readers(0); !slices.Equal(got, []int32{1, 5}) {
		t.Errorf("the product is read by %v", got)
	}
	once := cubin.Trace(code("FMUL d1 u2 u2\nFADD d1 u1 u4\nFADD d2 u1 u5\nEXIT"))
	if got := once.Readers(0); !slices.Equal(got, []int32{1}) {
		t.Errorf("overwritten, yet read by %v", got)
	}
}

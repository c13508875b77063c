package launchplan

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
)

// A loop of steps as lines of the text form. Each step launches a hot kernel of two sizes, a warm one, one that only
// communicates, and a tiny one; before the first step come five launches of the hot one.
type loop struct {
	markers  bool // NVTX ranges step_N
	mangled  bool
	backward bool // the warm kernel is launched by another thread
	between  int  // launches of the hot kernel between its chosen launch and the warm kernel
}

func (l loop) text() string {
	var b strings.Builder
	b.WriteString("thread 2 p1 tid=99\n")
	corr := 0
	launch := func(at, ns, thread int, grid, name, mangled string) {
		corr++
		if l.mangled {
			name = fmt.Sprintf("mangled=%s %s", mangled, name)
		}
		fmt.Fprintf(&b, "call t%d c%d %d+500 cudaLaunchKernel\n", thread, corr, at)
		// attributes come before the name
		fields := strings.Fields(name)
		attr, rest := "", name
		if strings.HasPrefix(name, "mangled=") {
			attr, rest = fields[0], strings.TrimPrefix(name, fields[0]+" ")
		}
		fmt.Fprintf(&b, "kernel c%d grid=%s block=128x1x1 %s %d+%d %q\n", corr, grid, attr, at+1000, ns, rest)
	}
	const hot, warm = "void ns::hot<(int)4>(float *)", "warm(int)"
	for i := range 5 {
		launch(-1_000_000+i*100_000, 50_000, 1, "8x1x1", hot, "_Z3hotILi4EE")
	}
	for i := range 4 {
		at := i * 1_000_000
		if l.markers {
			fmt.Fprintf(&b, "range %d+990000 step_%d\n", at, i)
		}
		launch(at, 10_000, 1, "8x1x1", hot, "_Z3hotILi4EE")
		launch(at+20_000, 300_000, 1, "64x1x1", hot, "_Z3hotILi4EE")
		for k := range l.between {
			launch(at+330_000+k*1200, 100, 1, "64x1x1", hot, "_Z3hotILi4EE")
		}
		thread := 1
		if l.backward {
			thread = 2
		}
		launch(at+400_000, 200_000, thread, "16x1x1", warm, "_Z4warmi")
		launch(at+620_000, 250_000, 1, "4x1x1", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "nccl")
		launch(at+900_000, 2_000, 1, "1x1x1", "tiny", "tiny")
	}
	return b.String()
}

func choose(t *testing.T, text string, w Wish) (*Plan, error) {
	t.Helper()
	trace, err := evtext.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return Choose(facts.Of(trace), w)
}

func (p *Plan) text() string {
	var out []string
	for _, r := range p.Runs {
		names := ""
		for _, i := range r.Picks {
			names += fmt.Sprintf(" %s%v", short(p.Picks[i].Name), p.Picks[i].Grid)
		}
		out = append(out, fmt.Sprintf("%s %s skip=%d count=%d range=%q threads=%v:%s", p.Base, r.Name, r.Skip, r.Count,
			r.Range, r.Threads, names))
	}
	return strings.Join(out, "\n")
}

func TestChoose(t *testing.T) {
	for _, test := range []struct {
		name string
		loop loop
		wish Wish
		want string
	}{
		// without markers the first steady step is the second: five launches before, three of the first step, and the
		// small one
		{"counted from the first launch", loop{mangled: true}, Wish{Top: 2},
			`mangled ^(_Z3hotILi4EE|_Z4warmi)$ skip=9 count=2 range="" threads=false:` +
				" ns::hot<4>[64 1 1] warm[16 1 1]"},
		{"without mangled names", loop{}, Wish{Top: 2},
			`function ^(hot|warm)$ skip=9 count=2 range="" threads=false:` + " ns::hot<4>[64 1 1] warm[16 1 1]"},
		{"inside a step", loop{markers: true, mangled: true}, Wish{Top: 2},
			`mangled ^(_Z3hotILi4EE|_Z4warmi)$ skip=1 count=2 range="step_0" threads=false:` +
				" ns::hot<4>[64 1 1] warm[16 1 1]"},
		{"backward on its own thread", loop{markers: true, backward: true}, Wish{Top: 2},
			`function ^(hot|warm)$ skip=1 count=2 range="step_0" threads=true:` + " ns::hot<4>[64 1 1] warm[16 1 1]"},
		{"too many between: two runs", loop{markers: true, between: 30}, Wish{Top: 2},
			`function ^hot$ skip=1 count=1 range="step_0" threads=false:` + " ns::hot<4>[64 1 1]\n" +
				`function ^warm$ skip=0 count=1 range="step_0" threads=false:` + " warm[16 1 1]"},
		{"the hottest", loop{markers: true}, Wish{Top: 1},
			`function ^hot$ skip=1 count=1 range="step_0" threads=false:` + " ns::hot<4>[64 1 1]"},
		{"one that a finding names", loop{markers: true}, Wish{Top: 1, First: []string{"warm(int)"}},
			`function ^warm$ skip=0 count=1 range="step_0" threads=false:` + " warm[16 1 1]"},
		{"by name", loop{markers: true}, Wish{Top: 3, Keep: regexp.MustCompile("tiny").MatchString},
			`function ^tiny$ skip=0 count=1 range="step_0" threads=false:` + " tiny[1 1 1]"},
	} {
		p, err := choose(t, test.loop.text(), test.wish)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := p.text(); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
		for _, r := range p.Runs {
			if r.Count > maxReplayed {
				t.Errorf("%s: %d launches in a run", test.name, r.Count)
			}
		}
	}
}

// Communication is left out and said; where there is nothing else, that is the answer.
func TestChooseNothing(t *testing.T) {
	p, err := choose(t, loop{markers: true}.text(), Wish{Top: 9})
	if err != nil || len(p.Left) != 1 || !strings.Contains(p.Left[0], "ncclDevKernel") || len(p.Picks) != 3 {
		t.Errorf("%+v, %v", p, err)
	}
	var nothing *NothingError
	if _, err := choose(t, "call c1 0+5 cudaLaunchKernel\nkernel c1 10+500 ncclDevKernel_AllReduce_Sum_f32_RING_LL",
		Wish{Top: 1}); !errors.As(err, &nothing) || !strings.Contains(err.Error(), "communicate") {
		t.Errorf("%v", err)
	}
	if _, err := choose(t, "call c1 0+5 cudaGraphLaunch\ngraph c1 10+500", Wish{Top: 1}); !errors.As(err, &nothing) ||
		!strings.Contains(err.Error(), "--cuda-graph node") {
		t.Errorf("%v", err)
	}
	if _, err := choose(t, "call c1 0+5 hipLaunchKernel\nkernel c1 10+500 gemm", Wish{Top: 1}); !errors.As(err,
		&nothing) || !strings.Contains(err.Error(), "AMD") {
		t.Errorf("%v", err)
	}
	if _, err := choose(t, "range 0+5 nothing", Wish{Top: 1}); !errors.As(err, &nothing) {
		t.Errorf("%v", err)
	}
}

// What was profiled is held against what was chosen.
func TestCheck(t *testing.T) {
	p, err := choose(t, loop{}.text(), Wish{Top: 2})
	if err != nil {
		t.Fatal(err)
	}
	hot := Profiled{Name: "void ns::hot<4>(float *)", Grid: [3]uint32{64, 1, 1}, Block: [3]uint32{128, 1, 1}}
	warm := Profiled{Name: "warm(int)", Grid: [3]uint32{16, 1, 1}, Block: [3]uint32{128, 1, 1}}
	small := hot
	small.Grid[0] = 8
	for _, test := range []struct {
		name string
		done []Profiled
		want string
	}{
		{"as chosen", []Profiled{small, hot, warm}, ""},
		{"another size", []Profiled{small, warm}, "ns::hot<4>: the launch chosen has grid [64 1 1]"},
		{"missing", []Profiled{hot}, "warm: is not in the reports"},
	} {
		var got []string
		for _, m := range p.Check(test.done) {
			got = append(got, m.Why)
		}
		if all := strings.Join(got, "\n"); test.want == "" && all != "" || !strings.Contains(all, test.want) ||
			len(got) > 1 {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

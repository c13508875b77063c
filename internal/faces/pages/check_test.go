package pages

import (
	"slices"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/page/pagetest"
	"lacuna/internal/faces/pages/samples"
	"lacuna/internal/runs/gate"
)

func TestCheckGoldens(t *testing.T) {
	r := samples.Check(t)
	var seen []gate.Verdict
	for i := range r.Measures {
		seen = append(seen, r.Measures[i].Verdict)
	}
	for _, v := range []gate.Verdict{gate.Pass, gate.Improvement, gate.Regression, gate.Inconclusive,
		gate.NotComparable} {
		if !slices.Contains(seen, v) {
			t.Errorf("no row is %s", v)
		}
	}
	golden.File(t, "testdata/check_100.txt", textOf(t, Check(r), page.Layout{Width: 100}))
	golden.File(t, "testdata/check_60_ascii.txt", textOf(t, Check(r), page.Layout{Width: 60, ASCII: true}))
	pagetest.Goldens(t, "check", Check(r))

	r.WhyNot = []string{"the GPU differs: \x1b[31mH100 before, <b> after"}
	r.Verdict, r.Before.Runs = gate.NotComparable, nil
	pagetest.Check(t, Check(r))
}

// Where colours can be shown a line breaks where it does without them.
func TestCheckColours(t *testing.T) {
	p := Check(samples.Check(t))
	plain, painted := textOf(t, p, page.Layout{Width: 80}), textOf(t, p, page.Layout{Width: 80, Color: true})
	for _, style := range []string{"\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[35m"} {
		painted = strings.ReplaceAll(painted, style, "")
	}
	golden.Equal(t, "painted", painted, plain)
}

func TestCheckName(t *testing.T) {
	for name, want := range map[string]string{
		"step:p90": "step:p90",
		"kernel:void ns::f<int>(float const*, int)":    "kernel:f<int>",
		"kernel:rowdot(const float *, int):duration":   "kernel:rowdot:duration",
		"kernel:at::native::add":                       "kernel:add",
		"kernel:void a::b(c::d):occupancy_theoretical": "kernel:b:occupancy_theoretical",
		"kernel:*gemm*": "kernel:*gemm*",
	} {
		if got := checkName(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

package writers

import (
	"strings"
	"testing"

	"lacuna/internal/report"
)

func TestBlocks(t *testing.T) {
	got := blocksOf("\nA\n B\n\nC\n\n    x = 1\n\n        y\nD\n")
	var b strings.Builder
	for _, x := range got {
		b.WriteString(map[bool]string{true: "code", false: "text"}[x.code] + "[" + strings.Join(x.lines, "|") + "] ")
	}
	if want := "text[A|B] text[C] code[x = 1||    y] text[D] "; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// Abstentions for one reason are one line; what is of the report itself comes first; the rest is counted.
func TestAbstainedLines(t *testing.T) {
	lines, rest := abstainedLines(sample(), false)
	want := []string{
		"No CUDA calls were recorded: why the GPU idled cannot be told. Get it with nsys profile --trace=cuda.",
		"Two steps are too few to tell: memory_growth cannot be judged. Get it with a capture of 10 steps.",
		"The capture has no shapes of operators: tensor_cores_idle, misaligned_shapes and unfused_attention cannot be judged. Get it with torch.profiler.profile(record_shapes=True).",
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") || rest != "cpu_contention, memory_fragmentation and throttled cannot be judged: the capture lacks what they look at." {
		t.Errorf("got\n%s\n%s", strings.Join(lines, "\n"), rest)
	}
	if lines, rest = abstainedLines(sample(), true); len(lines) != 6 || rest != "" {
		t.Errorf("asked for all: %d lines, %q", len(lines), rest)
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{"a/b.json": "a/b.json", "a b": "'a b'", "it's": `'it'\''s'`, "-x": "'-x'", "": "''", "$(x)": "'$(x)'"} {
		if got := ShellWord(in); got != want {
			t.Errorf("ShellWord(%q) = %s, want %s", in, got, want)
		}
	}
}

// Where nothing is worth fixing it is said, with what bounds the step if that is known; not where nothing could be priced.
func TestNothingWorthFixing(t *testing.T) {
	same := func(s string) string { return s }
	r := &report.Report{Profiler: &report.Profiler{}, Findings: []report.Finding{{Rule: "at_limit", Limit: true, Title: "the GPU computes for 99 %", Severity: "info"}}}
	if got, want := afterAllWords(r, same, same), "Nothing was found that is worth fixing. The GPU computes for 99 %."; got != want {
		t.Errorf("at the limit: %q", got)
	}
	r.Findings = append(r.Findings, report.Finding{Rule: "launch_bound", Change: "cuda-graph", Severity: "info", RecoverableMs: 0.01})
	if got := afterAllWords(r, same, same); !strings.HasPrefix(got, "None of this is worth a day") {
		t.Errorf("with something small: %q", got)
	}
	if got := afterAllWords(&report.Report{}, same, same); got != "" {
		t.Errorf("without prices: %q", got)
	}
}

// TestFreeWords: a range wider than half of the step is said as a range, and what to do about it.
func TestFreeWords(t *testing.T) {
	for _, c := range []struct {
		ms, low, high float64
		want          string
	}{
		{96.6, 89, 103.4, "likely takes 96.6 ms (89.0 to 103.4)"},
		{3.39, 1.46, 5.04, "takes 1.46 to 5.04 ms (this capture cannot tell better; time it without the profiler)"},
	} {
		if got := freeWords(c.ms, c.low, c.high); got != c.want {
			t.Errorf("freeWords(%v, %v, %v) = %q, want %q", c.ms, c.low, c.high, got, c.want)
		}
	}
}

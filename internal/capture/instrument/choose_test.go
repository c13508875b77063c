package instrument

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is no single loop is said, with what to do instead.
func TestChoices(t *testing.T) {
	two := "import torch\nfor b in loader:\n    loss = model(b)\n    loss.backward()\nfor b in other_loader:\n    " +
		"model(b).backward()\n    optimizer.step()\n"
	for _, test := range []struct {
		name, text, function string
		line                 int
		loop                 int    // line of the loop that is chosen
		loops                int    // of a ChoiceError
		why                  string // of a HandError
		advice               string
	}{
		{"two loops", two, "", 0, 0, 2, "", ""},
		{"one of two", two, "", 5, 5, 0, "", ""},
		{"no such loop", two, "", 3, 0, 2, "", ""},
		{"any loop that is asked for", "for x in y:\n    f(x)\n", "", 1, 1, 0, "", ""},
		{"a training loop before others", "def a():\n    for b in loader:\n        model(b)\ndef c():\n    for b " +
			"in loader:\n        loss = model(b)\n        loss.backward()\n", "", 0, 5, 0, "", ""},
		{"in a function", "def a():\n    for b in loader:\n        model(b).backward()\ndef c():\n    for b in " +
			"loader:\n        model(b).backward()\n", "c", 0, 5, 0, "", ""},
		{"only calls of a model", "for i in range(10):\n    model(x)\nfor i in range(n):\n    out = model(x)\n", "", 0,
			0, 2, "", ""},
		{"no loop", "import torch\nprint(torch.__version__)\n", "", 0, 0, 0, "no loop in it",
			"for batch in lacuna_steps(loader):"},
		{"Trainer", "from transformers import Trainer, TrainingArguments\ntrainer = Trainer(model=model, " +
			"args=TrainingArguments('out'))\ntrainer.train()\n", "", 0, 0, 0, "Hugging Face's Trainer",
			"class LacunaCallback(TrainerCallback):"},
		{"Lightning", "import lightning as L\ntrainer = L.Trainer(max_epochs=3)\ntrainer.fit(model, loader)\n", "", 0,
			0, 0, "Lightning", ""},
		{"vLLM", "from vllm import LLM\nllm = LLM('m')\nprint(llm.generate(prompts))\n", "", 0, 0, 0, "vLLM", ""},
		{"async", "async def f():\n    async for b in loader:\n        model(b).backward()\n", "", 0, 0, 0,
			"async for", "lacuna_steps"},
		{"walrus", "while (b := q.get()) is not None:\n    model(b).backward()\n", "", 0, 0, 0, "assigns",
			"lacuna_while"},
		{"in a string only", "x = '''\nfor b in loader:\n    loss.backward()\n'''\n# for b in loader: " +
			"loss.backward()\n", "", 0, 0, 0, "no loop in it", "lacuna_steps"},
		{"twice", "for b in lacuna_steps(loader):\n    model(b).backward()\n", "", 0, 0, 0, "instrumented already", ""},
	} {
		for _, kind := range Kinds() {
			r, err := Patch(kind, test.text, test.function, test.line)
			var choice *ChoiceError
			var hand *HandError
			switch {
			case test.loop > 0:
				if err != nil || r.Loop.Line != test.loop {
					t.Errorf("%s: %+v, %v", test.name, r, err)
				}
			case test.loops > 0:
				if !errors.As(err, &choice) || len(choice.Loops) != test.loops {
					t.Errorf("%s: %v", test.name, err)
				}
			case !errors.As(err, &hand) || !strings.Contains(hand.Why, test.why) ||
				!strings.Contains(hand.Advice, test.advice) || len(hand.Advice) < 100:
				t.Errorf("%s: %v", test.name, err)
			}
		}
	}
	used := "from torch.profiler import profile, ProfilerActivity\nwith profile(\n    " +
		"activities=[ProfilerActivity.CUDA]) as p:\n    for b in loader:\n        model(b).backward()\n"
	var hand *HandError
	if _, err := Patch(Torch, used, "", 0); !errors.As(err, &hand) ||
		!strings.Contains(hand.Why, "torch.profiler already") {
		t.Errorf("a second profiler: %v", err)
	}
	if _, err := Patch(NVTX, used, "", 0); err != nil {
		t.Errorf("ranges beside a profiler: %v", err)
	}
}

// What to paste where a library runs the loop is Python that compiles and counts.
func TestAdviceRuns(t *testing.T) {
	for _, kind := range Kinds() {
		if r := run(t, "generic.py", Generic(kind)); r.status != 0 {
			t.Errorf("%s: %s", kind, r.output)
		}
		_, err := Patch(kind, "from transformers import Trainer\nTrainer(model).train()\n", "", 0)
		var hand *HandError
		if !errors.As(err, &hand) {
			t.Fatal(err)
		}
		stub := "import sys, types\nm = types.ModuleType('transformers')\nm.TrainerCallback = " +
			"object\nsys.modules['transformers'] = m\n"
		r := run(t, "trainer.py", stub+hand.Advice+
			"\nc = LacunaCallback()\nfor i in range(9):\n    c.on_step_begin(None, None, None)\n    "+
			"c.on_step_end(None, None, None)\n")
		steps := r.count("step")
		if kind == NVTX {
			steps = r.count("push step_8")*8 + r.count("push step_0")
		}
		if r.status != 0 || steps != 9 {
			t.Errorf("%s: %d steps: %s", kind, steps, r.output)
		}
	}
}

// The time grows with the script, not with its square.
func TestLongScripts(t *testing.T) {
	for _, unit := range []string{" for x in y: model(x)\n", "def f():\n  loss.backward()\n",
		"for x in y:\n  optimizer.step()\n", "x = f'{a!r:{w}}' + \"\\\"\"\n", "f({'a': [1, (2)]},\n  b)\n", "f'{",
		"lambda: "} {
		text := strings.Repeat(unit, 1<<17/len(unit))
		began := time.Now()
		_, _ = Patch(NVTX, text, "", 0)
		_, _ = Patch(NVTX, "for x in y:\n  loss.backward()\n  "+strings.ReplaceAll(text, "\n", "\n  "), "", 1)
		if took := time.Since(began); took > 30*time.Second { // it takes one or two
			t.Errorf("%q: %v", unit, took)
		}
	}
}

// Scripts that are no Python of ours end in an error or a result, never in a panic, and nothing but what was inserted
// changes.
func FuzzPatch(f *testing.F) {
	files, _ := filepath.Glob("testdata/scripts/*.py")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(string(text), 0)
		}
	}
	for _, text := range []string{"", "\x00", "for", "for x in", "while:", "for x in y:",
		"for\\\n x in y:\n  loss.backward()", "f\"{'", "'''", "((((", "\ufeff", "while x:\n\tloss.backward()",
		"for in in:\n model()"} {
		f.Add(text, 1)
	}
	f.Fuzz(func(t *testing.T, text string, line int) {
		r, err := Patch(NVTX, text, "", line)
		if err != nil {
			return
		}
		if !strings.Contains(r.Text, "lacuna_") || len(r.Text) < len(text) {
			t.Errorf("%q became %q", text, r.Text)
		}
	})
}

// The project's own programs and the workloads: each is patched, or what to do is said.
func TestOwnScripts(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../../bench/gpu/*.py", "../../../bench/gpu/*/*.py",
		"../../../../shared/workloads/*.py"} {
		found, _ := filepath.Glob(pattern)
		files = append(files, found...)
	}
	if len(files) < 5 {
		t.Fatalf("%d scripts", len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := scan(string(text))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for _, l := range s.loops() {
			r, err := Patch(Torch, string(text), "", l.Line)
			var hand *HandError
			switch {
			case errors.As(err, &hand):
			case err != nil:
				t.Errorf("%s:%d: %v", file, l.Line, err)
			default:
				compiles(t, file, r.Text)
			}
		}
	}
}

// compiles holds a script against Python's own compiler.
func compiles(t *testing.T, name, text string) {
	t.Helper()
	r := run(t, "compile.py", "import sys\ncompile("+pyString(text)+", 'x', 'exec')\n")
	if r.status != 0 {
		t.Errorf("%s: %s", name, r.output)
	}
}

func pyString(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		const hex = "0123456789abcdef"
		b.WriteString(`\x`)
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	b.WriteString(`".encode("latin-1").decode()`)
	return b.String()
}

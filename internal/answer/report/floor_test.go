package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/llmsize"
)

// decoding is four decode steps of 8 requests that attend to 40,000 tokens, as vLLM marks them with all sums, of 10 ms.
func decoding(device, mark string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "device 0 %s\n", device)
	for i := range 5 {
		at := 10_000 * i
		fmt.Fprintf(&b, "range annotation %dus+50us %s\ncall c%d %dus+5us cudaGraphLaunch\n", at, mark, i+1, at+1)
		fmt.Fprintf(&b, "kernel c%d %dus+9000us gemm\n", i+1, at+10)
	}
	return b.String()
}

// TestFloor: the weights of Llama 3.1 8B, 15.0 GB, and 40,000 tokens of 128 KiB, at an H200's 4,800 GB/s.
func TestFloor(t *testing.T) {
	model, err := llmsize.Parse([]byte(`{"model_type":"llama","num_hidden_layers":32,"hidden_size":4096,
		"intermediate_size":14336,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,
		"torch_dtype":"bfloat16"}`))
	if err != nil {
		t.Fatal(err)
	}
	const h200 = "sms=132 computemajor=9 NVIDIA H200"
	const mark = "execute_context_0(0)_generation_8(8)"
	const sums = "execute_8_context_0(sq0sk0sqsq0sqsk0)_generation_8(sq8sk40000sqsq8sqsk40000)"
	for name, test := range map[string]struct {
		device, mark string
		opt          ServingOptions
		weights, kv  float64 // ms; kv -1: not known
		lacks        string
	}{
		"with the lengths":    {h200, sums, ServingOptions{Model: model}, 3.127, 1.092, ""},
		"on two GPUs":         {h200, sums, ServingOptions{Model: model, GPUs: 2}, 1.563, 0.546, ""},
		"without the lengths": {h200, mark, ServingOptions{Model: model}, 3.127, -1, ""},
		"an unknown GPU":      {"Fancy 9000", sums, ServingOptions{Model: model}, 0, 0, "of this GPU's memory"},
		"prefill": {h200, "execute_context_1(900)_generation_0(0)", ServingOptions{Model: model}, 0, 0,
			"--kind decode takes others"},
		"no model": {h200, sums, ServingOptions{}, 0, 0, ""},
	} {
		trace, err := evtext.Parse(decoding(test.device, test.mark))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Build([]*facts.Facts{facts.Of(trace)}, Options{Serving: test.opt}, unjudged)
		if err != nil {
			t.Fatal(err)
		}
		if lacks := strings.Join(r.Serving.NotKnown, "; "); !strings.Contains(lacks, test.lacks) {
			t.Errorf("%s: not known is %q, want %q", name, lacks, test.lacks)
		}
		f := r.Serving.Floor
		if test.weights == 0 {
			if f != nil {
				t.Errorf("%s: floor %+v", name, f)
			}
			continue
		}
		if f == nil || math.Abs(f.Weights-test.weights) > 0.002 || (f.KV == nil) != (test.kv < 0) ||
			f.KV != nil && math.Abs(*f.KV-test.kv) > 0.002 || math.Abs(f.StepMs-10) > 1e-9 {
			t.Errorf("%s: floor %+v, want %g and %g ms", name, f, test.weights, test.kv)
		}
	}
}

// TestAccepted: a round that costs as much as two plain steps and gives three tokens is 1.5 times as fast.
func TestAccepted(t *testing.T) {
	even := 2.0
	s := &Speculation{BreakEven: &even}
	s.judge(3)
	if s.Faster == nil || *s.Faster != 1.5 {
		t.Errorf("%+v", s)
	}
	(*Speculation)(nil).judge(3)
}

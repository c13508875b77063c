package facts

import (
	"fmt"
	"strings"
	"testing"
)

// engineNames is names, and their engine, kind, requests in prefill and decode of all of them, and tokens likewise.
const engineNames = `
execute_context_2(6144)_generation_3(3) => vllm mixed 2+3 of 5, 6144+3=6147
execute_context_2(14721)_generation_0(0) => vllm prefill 2+0 of 2, 14721+0=14721
execute_context_0(0)_generation_64(64) => vllm decode 0+64 of 64, 0+64=64
execute_context_0(0)_generation_32(128) => vllm decode 0+32 of 32, 0+128=128
execute_context_0(0)_generation_0(0) => vllm idle 0+0 of 0, 0+0=0
context_0(0)_generation_8(8) => vllm decode 0+8 of 8, 0+8=8
rank3 execute_context_0(0)_generation_8(8) step 12 => vllm decode 0+8 of 8, 0+8=8
execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785) => vllm decode 0+32 of 32, 0+32=32
execute_6147_context_2(sq6144sk7144sqsq20971520sqsk23019520)_generation_3(sq3sk6144sqsq3sqsk6144) => vllm mixed 2+3 of 5, 6144+3=6147
execute_new_1_cached_7 => vllm mixed 1+7 of 8, -1+7=-1
execute_new_0_cached_7 => vllm decode 0+7 of 7, 0+7=7
execute_context_99999999(1)_generation_3(3) => vllm other -1+-1 of -1, -1+-1=-1
step[EXTEND bs=2 toks=14721] => sglang prefill 2+0 of 2, 14721+0=14721
step[EXTEND bs=2 toks=14721 c_sqsq=108745533 c_sqsk=108745533 c_sk=14721] => sglang prefill 2+0 of 2, 14721+0=14721
step[DECODE bs=64] => sglang decode 0+64 of 64, 0+64=64
step[DECODE bs=64 g_sq=128 g_sqsq=256 g_sqsk=262144 g_sk=131072] => sglang decode 0+64 of 64, 0+128=128
step[DECODE bs=64 raw_bs=50] => sglang decode 0+50 of 50/64, 0+50=50
step[MIXED bs=2] => sglang mixed -1+-1 of 2, -1+-1=-1
step[MIXED bs=5 c=2 g=3 c_sq=6144 c_sk=7144 g_sq=3 g_sk=6144] => sglang mixed 2+3 of 5, 6144+3=6147
step[MIXED bs=1 c=1 g=0 c_sq=3 c_sk=3 g_sq=0] => sglang prefill 1+0 of 1, 3+0=3
step[IDLE bs=0] => sglang idle -1+-1 of 0, -1+-1=-1
step[TARGET_VERIFY bs=16] => sglang verify -1+-1 of 16, -1+-1=-1
step[DRAFT_EXTEND bs=16] => sglang draft -1+-1 of 16, -1+-1=-1
step[NEWMODE bs=4] => sglang other -1+-1 of 4, -1+-1=-1
[Executor] _forward_step 812: 1 ctx reqs, 512 ctx tokens, 31 gen reqs => trtllm mixed 1+31 of 32, 512+31=543
[Executor] _forward_step 60000: 0 ctx reqs, 32 gen reqs => trtllm decode 0+32 of 32, 0+32=32
[Executor] _forward_step: 4 ctx reqs, 0 gen reqs => trtllm prefill 4+0 of 4, -1+0=-1
prefill[bs=3 tok=16384 ctx=[8063, 7153, 1168]] => atom prefill 3+0 of 3, 16384+0=16384
decode[bs=117/128 tok=117 d=117] => atom decode 0+117 of 117/128, 0+117=117
decode[bs=128 tok=384 p=2 d=126 sqsq=132612 sk=258048 tbo=1] => atom mixed 2+126 of 128, -1+-1=384
eager_decode[bs=32 tok=32 d=32] => atom decode 0+32 of 32, 0+32=32
dummy_decode[bs=1/8 tok=1 d=1] => atom idle -1+1 of 1/8, -1+-1=1
propose_eagle[1/3 tok=32 bs=32/32 (graph)] => atom draft -1+-1 of 32/32, -1+-1=-1
`

// TestEngineBatch: names as engines write them, and what tells kind, batch and tokens apart in them.
func TestEngineBatch(t *testing.T) {
	for _, line := range strings.Split(strings.TrimSpace(engineNames), "\n") {
		name, want, _ := strings.Cut(line, " => ")
		engine, b := EngineBatch(name)
		got := fmt.Sprintf("%s %s %d+%d of %d", engine, b.Kind, b.Prefill, b.Decode, b.Requests)
		if b.Padded != NotSaid {
			got += fmt.Sprintf("/%d", b.Padded)
		}
		if got += fmt.Sprintf(", %d+%d=%d", b.PrefillTokens, b.DecodeTokens, b.Tokens); got != want {
			t.Errorf("%s:\n  is   %s\n  want %s", name, got, want)
		}
	}
	for _, name := range []string{"", "step 3", "ProfilerStep#3", "decode", "prefill", "execute_query_3", "step[0]",
		"forward_step 3", "batch[bs=3]", "## Call CompiledFxGraph abc ##", "Optimizer.step#SGD.step", "step[loss=3]",
		"execute_diffusion_1_256x256"} {
		if engine, b := EngineBatch(name); engine != "" {
			t.Errorf("%q is taken for a mark of %s: %+v", name, engine, b)
		}
	}
}

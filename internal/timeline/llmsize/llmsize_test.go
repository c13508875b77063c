package llmsize

import (
	"math"
	"strings"
	"testing"
)

const (
	llama = `{"model_type":"llama","num_hidden_layers":32,"hidden_size":4096,"intermediate_size":14336,
		"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,"torch_dtype":"bfloat16"}`
	qwenMoE = `{"model_type":"qwen3_moe","num_hidden_layers":48,"hidden_size":2048,"intermediate_size":6144,
		"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"vocab_size":151936,"torch_dtype":"bfloat16",
		"num_experts":128,"num_experts_per_tok":8,"moe_intermediate_size":768}`
	deepseek = `{"model_type":"deepseek_v3","num_hidden_layers":61,"hidden_size":7168,"intermediate_size":18432,
		"num_attention_heads":128,"num_key_value_heads":128,"vocab_size":129280,"torch_dtype":"bfloat16",
		"n_routed_experts":256,"num_experts_per_tok":8,"moe_intermediate_size":2048,"n_shared_experts":1,
		"first_k_dense_replace":3,"q_lora_rank":1536,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,
		"v_head_dim":128,"quantization_config":{"quant_method":"fp8"}}`
)

// TestSizes: parameters are what the models' cards say (8.03, 30.5 and 671 billion), of which a table of embeddings is
// left out where it is not the matrix of the logits.
func TestSizes(t *testing.T) {
	for _, test := range []struct {
		name, config string
		billions     float64 // parameters, without one of two tables of embeddings
		readGB       float64 // of a step of one token
		tokenBytes   float64
	}{
		{"Llama 3.1 8B", llama, 8.03 - 0.525, 15.0, 131072},
		{"Qwen3 30B A3B", qwenMoE, 30.5 - 0.311, 6.1, 98304}, // 3.3 billion are active
		{"DeepSeek V3", deepseek, 671 - 0.927, 37.5, 70272},  // 37 billion are active, of 1 byte
	} {
		m, err := Parse([]byte(test.config))
		if err != nil {
			t.Fatal(err)
		}
		near := func(what string, got, want float64) {
			if math.Abs(got/want-1) > 0.02 {
				t.Errorf("%s: %s is %.4g, want %.4g", test.name, what, got, want)
			}
		}
		near("parameters", m.Parameters()/1e9, test.billions)
		near("read", m.ReadBytes(1)/1e9, test.readGB)
		near("a token's cache", m.TokenBytes(), test.tokenBytes)
	}
}

// TestExperts: a large batch reads nearly all experts, a small one few.
func TestExperts(t *testing.T) {
	m, err := Parse([]byte(qwenMoE))
	if err != nil {
		t.Fatal(err)
	}
	all := (m.layers(float64(m.Experts)) + float64(m.Vocab*m.Hidden)) * 2
	if r := m.ReadBytes(256); r < 0.999*all || r > all {
		t.Errorf("256 tokens read %g of %g", r, all)
	}
	if r := m.ReadBytes(1); r > 0.15*all {
		t.Errorf("one token reads %g of %g", r, all)
	}
	if m.CacheShards(8) != 4 || m.CacheShards(2) != 2 {
		t.Errorf("the cache of 4 heads is divided over %d of 8 and %d of 2 ranks", m.CacheShards(8), m.CacheShards(2))
	}
}

func TestBad(t *testing.T) {
	without := func(config, old, now string) string { return strings.Replace(config, old, now, 1) }
	for config, want := range map[string]string{
		`[1]`:                              "not a config.json",
		`{"model_type":"mamba"}`:           `model_type is "mamba"`,
		without(llama, "bfloat16", "int3"): "torch_dtype",
		without(llama, `"hidden_size":4096`, `"hidden_size":-1`):            "must all be there",
		without(qwenMoE, `_per_tok":8`, `_per_tok":0`):                      "0 of 128 experts",
		without(llama, "{", `{"quantization_config":{"quant_method":"x"},`): "not known",
	} {
		if _, err := Parse([]byte(config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", config, err, want)
		}
	}
}

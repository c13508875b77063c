// Package llmsize says how many bytes a pass of a language model must read at least: its weights and its cache of keys
// and values, from the config.json that Hugging Face keeps beside the weights.
package llmsize

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A Model is the shape of a decoder-only transformer. Sizes are in elements.
type Model struct {
	Type      string // model_type
	Layers    int
	Hidden    int
	Heads     int
	KVHeads   int
	HeadDim   int
	MLP       int // width of a dense layer's MLP
	Vocab     int
	Experts   int // 0: all layers are dense
	TopK      int // experts of a token
	ExpertMLP int // width of an expert
	Shared    int // width of what all tokens take beside the experts
	Dense     int // layers in front without experts

	latent *latent // attention that compresses keys and values; nil: the usual one

	WeightBytes float64 // of an element of a layer's matrices
	HeadBytes   float64 // of an element of the matrix that makes the logits
	CacheBytes  float64 // of an element of the cache
}

// latent is DeepSeek's multi-head latent attention.
type latent struct{ queryRank, kvRank, nope, rope, value int }

// gated is the model types whose layers are attention with four matrices, or latent attention, and gated MLPs with
// three, as the implementations in Hugging Face's transformers have them.
var gated = []string{"deepseek_v2", "deepseek_v3", "granite", "llama", "mistral", "mixtral", "phi3", "qwen2",
	"qwen2_moe", "qwen3", "qwen3_moe"}

// config is the fields of config.json that say a model's shape. Names differ between model types.
type config struct {
	ModelType string `json:"model_type"`
	Layers    int    `json:"num_hidden_layers"`
	Hidden    int    `json:"hidden_size"`
	MLP       int    `json:"intermediate_size"`
	Heads     int    `json:"num_attention_heads"`
	KVHeads   int    `json:"num_key_value_heads"`
	HeadDim   int    `json:"head_dim"`
	Vocab     int    `json:"vocab_size"`
	Dtype     string `json:"torch_dtype"`
	NewDtype  string `json:"dtype"`

	Experts       int `json:"num_experts"`
	LocalExperts  int `json:"num_local_experts"`
	RoutedExperts int `json:"n_routed_experts"`
	TopK          int `json:"num_experts_per_tok"`
	ExpertMLP     int `json:"moe_intermediate_size"`
	SharedMLP     int `json:"shared_expert_intermediate_size"`
	SharedExperts int `json:"n_shared_experts"`
	FirstDense    int `json:"first_k_dense_replace"`

	QueryRank int `json:"q_lora_rank"`
	KVRank    int `json:"kv_lora_rank"`
	Nope      int `json:"qk_nope_head_dim"`
	Rope      int `json:"qk_rope_head_dim"`
	Value     int `json:"v_head_dim"`

	Quantization struct {
		Method string `json:"quant_method"`
		Bits   int    `json:"bits"`
	} `json:"quantization_config"`
}

// dtypeBytes is the types that weights are kept in.
var dtypeBytes = map[string]float64{"bfloat16": 2, "float16": 2, "float32": 4}

// most bounds each number of a config: no model has a dimension of ten million.
const most = 10_000_000

// Parse reads a config.json.
func Parse(text []byte) (*Model, error) {
	var c config
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("not a config.json of Hugging Face: %w", err)
	}
	if !slices.Contains(gated, c.ModelType) {
		return nil, fmt.Errorf("model_type is %q: its layers are not known; known are %s", c.ModelType,
			strings.Join(gated, ", "))
	}
	dtype := c.Dtype
	if c.NewDtype != "" {
		dtype = c.NewDtype
	}
	wide, ok := dtypeBytes[dtype]
	if !ok {
		return nil, fmt.Errorf("torch_dtype is %q: want one of %s", dtype,
			strings.Join(slices.Sorted(maps.Keys(dtypeBytes)), ", "))
	}
	m := &Model{Type: c.ModelType, Layers: c.Layers, Hidden: c.Hidden, Heads: c.Heads, KVHeads: or(c.KVHeads, c.Heads),
		MLP: c.MLP, Vocab: c.Vocab, TopK: c.TopK, ExpertMLP: or(c.ExpertMLP, c.MLP), Dense: c.FirstDense,
		Experts: max(c.Experts, c.LocalExperts, c.RoutedExperts), WeightBytes: wide, HeadBytes: wide, CacheBytes: wide}
	for _, n := range []int{m.Layers, m.Hidden, m.Heads, m.MLP, m.Vocab} {
		if n <= 0 || n > most {
			return nil, fmt.Errorf("num_hidden_layers, hidden_size, num_attention_heads, intermediate_size and " +
				"vocab_size must all be there, and be sizes of a model")
		}
	}
	if m.Experts > 0 && (m.TopK <= 0 || m.TopK > m.Experts) {
		return nil, fmt.Errorf("num_experts_per_tok is %d of %d experts", m.TopK, m.Experts)
	}
	m.HeadDim = or(c.HeadDim, m.Hidden/m.Heads)
	m.Shared = c.SharedMLP + c.SharedExperts*m.ExpertMLP
	if c.KVRank > 0 {
		m.latent = &latent{c.QueryRank, c.KVRank, c.Nope, c.Rope, c.Value}
	}
	switch q := c.Quantization; {
	case q.Method == "fp8":
		m.WeightBytes = 1
	case q.Bits > 0 && q.Bits <= 16:
		m.WeightBytes = float64(q.Bits) / 8
	case q.Method != "":
		return nil, fmt.Errorf("quantization_config: quant_method is %q without bits: the size of its weights is not known",
			q.Method)
	}
	return m, nil
}

func or(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// attention is the elements of a layer's attention matrices.
func (m *Model) attention() float64 {
	h, heads := float64(m.Hidden), float64(m.Heads)
	if l := m.latent; l != nil {
		keys := float64(l.nope + l.rope)
		query := h * heads * keys
		if l.queryRank > 0 {
			query = float64(l.queryRank) * (h + heads*keys)
		}
		return query + h*float64(l.kvRank+l.rope) + float64(l.kvRank)*heads*float64(l.nope+l.value) +
			heads*float64(l.value)*h
	}
	return h * float64(m.HeadDim) * (2*heads + 2*float64(m.KVHeads))
}

// Parameters is the elements of all matrices: those of all experts, and embeddings once.
func (m *Model) Parameters() float64 {
	return m.layers(float64(m.Experts)) + float64(m.Vocab)*float64(m.Hidden)
}

// layers is the elements of the matrices of all layers with so many experts in each.
func (m *Model) layers(experts float64) float64 {
	h := float64(m.Hidden)
	dense := m.Layers
	if m.Experts > 0 {
		dense = min(m.Dense, m.Layers)
	}
	sparse := float64(m.Layers - dense)
	return float64(m.Layers)*m.attention() + float64(dense)*3*h*float64(m.MLP) +
		sparse*(3*h*(experts*float64(m.ExpertMLP)+float64(m.Shared))+h*float64(m.Experts))
}

// ReadBytes is the bytes of weights that a pass over so many tokens reads once: all matrices of the layers, of experts
// those that are taken if tokens spread over them evenly, and the matrix that makes the logits. Embeddings of the
// tokens, norms and biases are left out.
func (m *Model) ReadBytes(tokens int64) float64 {
	experts := 0.0
	if m.Experts > 0 {
		e := float64(m.Experts)
		experts = e * (1 - math.Pow(1-float64(m.TopK)/e, float64(max(1, tokens))))
	}
	return m.layers(experts)*m.WeightBytes + float64(m.Vocab)*float64(m.Hidden)*m.HeadBytes
}

// TokenBytes is what a token has in the cache of keys and values, in all layers.
func (m *Model) TokenBytes() float64 {
	per := 2 * float64(m.KVHeads*m.HeadDim)
	if m.latent != nil {
		per = float64(m.latent.kvRank + m.latent.rope)
	}
	return float64(m.Layers) * per * m.CacheBytes
}

// CacheShards is over how many of n ranks of tensor parallelism the cache is divided: a head of keys is on one at
// least, and a compressed cache on each.
func (m *Model) CacheShards(n int) int {
	if m.latent != nil {
		return 1
	}
	return max(1, min(n, m.KVHeads))
}

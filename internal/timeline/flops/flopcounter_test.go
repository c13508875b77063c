package flops

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"lacuna/internal/base/golden"
)

// A truthOp is an operator of bench/gpu/flops_truth.py's profile.
type truthOp struct {
	Name    string  `json:"name"`
	Tid     string  `json:"tid"`
	StartUs float64 `json:"start_us"`
	DurUs   float64 `json:"dur_us"`
	Shapes  string  `json:"shapes"`
	Types   string  `json:"types"`
	Strides string  `json:"strides"`
	Values  string  `json:"values"`
}

// TestFlopCounter holds the matrix work of each case against torch.utils.flop_counter. A matrix operator within another
// is not counted again. Causal attention is the one difference: flop_counter counts the hidden pairs.
func TestFlopCounter(t *testing.T) {
	path := filepath.Join(golden.Root(t), "bench/gpu/results/flops-h200.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err) // bench/gpu/flops_truth.py makes it where PyTorch is
	}
	var truth struct {
		Torch, Device string
		Cases         []struct {
			Name  string             `json:"name"`
			Total float64            `json:"total"`
			FLOPs map[string]float64 `json:"flops"`
			Ops   []truthOp          `json:"ops"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(text, &truth); err != nil {
		t.Fatal(err)
	}
	if len(truth.Cases) == 0 {
		t.Fatalf("%s has no cases", path)
	}
	for _, c := range truth.Cases {
		got := matrixFLOPs(t, c.Ops)
		ratio := 1.0
		for _, op := range c.Ops {
			if op.Name == "aten::scaled_dot_product_attention" {
				if a, ok := parse(op.op()); ok {
					if causal, _ := a.flag(5); causal {
						n := a.at(0).dims[2]
						ratio = (n + 1) / (2 * n)
					}
				}
			}
		}
		if other, ok := otherwise[c.Name]; ok {
			c.Total = other(c.FLOPs)
		}
		if c.Total == 0 {
			if got != 0 {
				t.Errorf("%s: %g FLOPs of matrix work, flop_counter has none", c.Name, got)
			}
			continue
		}
		if math.Abs(got/(c.Total*ratio)-1) > 1e-9 {
			t.Errorf("%s on %s: %g FLOPs, flop_counter has %g (expected share %g)", c.Name, truth.Device, got, c.Total,
				ratio)
		}
	}
	t.Logf("%d cases on %s, torch %s", len(truth.Cases), truth.Device, truth.Torch)
}

// otherwise is the cases in which flop_counter is not followed, and what is right by hand.
var otherwise = map[string]func(flops map[string]float64) float64{
	// It leaves out the gradient of the bias: an addition for each of 4 x 32 x 50 outputs.
	"conv1d": func(f map[string]float64) float64 {
		return f["aten.convolution"] + f["aten.convolution_backward"] + 4*32*50
	},
	// It forgets the groups in the backward pass, whose two products have the forward's size each.
	"conv2d_grouped":   func(f map[string]float64) float64 { return 3 * f["aten.convolution"] },
	"conv2d_depthwise": func(f map[string]float64) float64 { return 3 * f["aten.convolution"] },
}

func (o truthOp) op() Op { return Op{o.Name, o.Shapes, o.Types, o.Strides, o.Values} }

// matrixFLOPs sums the innermost matrix operators: an outer one is passed over if one inside it is known.
func matrixFLOPs(t *testing.T, ops []truthOp) float64 {
	var sum float64
	for i, o := range ops {
		w, why := Of(o.op())
		if why != Known || !w.Family.Matrix() || !w.HasFLOPs {
			continue
		}
		hasInner := false
		for j, inner := range ops {
			if j != i && inner.Tid == o.Tid && inner.StartUs >= o.StartUs && inner.StartUs+inner.DurUs <= o.StartUs+
				o.DurUs && j > i {
				if w, why := Of(inner.op()); why == Known && w.Family.Matrix() && w.HasFLOPs {
					hasInner = true
				}
			}
		}
		if !hasInner {
			sum += w.FLOPs
		}
	}
	return sum
}

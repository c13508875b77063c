package flops

import (
	"math"
	"testing"
)

// Cases computed by hand: the arithmetic stands beside them.
var cases = []struct {
	op           Op
	flops, bytes float64 // -1: unknown
	dtype        Dtype
}{
	// 2 x 4096^3 = 137.4 GFLOP over 3 x 4096^2 x 2 bytes: 1365 FLOP/byte, not 2730.
	{Op{Name: "aten::mm", Shapes: `[[4096,4096],[4096,4096]]`, Types: `["c10::Half","c10::Half"]`},
		2 * 4096 * 4096 * 4096, 3 * 4096 * 4096 * 2, FP16},
	// 2 x 8 x 16 x 4; 16 (bias) + 8x4 + 4x16 + 8x16 floats.
	{Op{Name: "aten::addmm", Shapes: `[[16],[8,4],[4,16],[],[]]`, Types: `["float","float","float","Scalar","Scalar"]`,
		Values: `["","","","1","1"]`}, 1024, 4 * (16 + 32 + 64 + 128), FP32},
	{Op{Name: "aten::addmm", Shapes: `[[8,16],[8,4],[4,16],[],[]]`,
		Types: `["float","float","float","Scalar","Scalar"]`, Values: `["","","","0","1"]`}, 1024, 4 * (32 + 64 + 128),
		FP32},
	{Op{Name: "aten::bmm", Shapes: `[[3,8,4],[3,4,16]]`, Types: `["float","float"]`}, 3 * 1024,
		4 * 3 * (32 + 64 + 128), FP32},
	// The first operand is one matrix expanded to a batch of 3: read once.
	{Op{Name: "aten::bmm", Shapes: `[[3,8,4],[3,4,16]]`, Types: `["float","float"]`, Strides: `[[0,4,1],[64,16,1]]`},
		3 * 1024, 4 * (32 + 3*64 + 3*128), FP32},
	{Op{Name: "aten::linear", Shapes: `[[2,3,64],[128,64],[128]]`,
		Types: `["c10::BFloat16","c10::BFloat16","c10::BFloat16"]`}, 2 * 6 * 64 * 128,
		2 * (6*64 + 128*64 + 128 + 6*128), BF16},
	{Op{Name: "aten::matmul", Shapes: `[[5,2,3],[3]]`, Types: `["float","float"]`}, 2 * 5 * 2 * 3, 4 * (30 + 3 + 10),
		FP32},
	{Op{Name: "aten::_scaled_mm", Shapes: `[[16,32],[32,64],[],[],[],[],[],[]]`,
		Types:  `["c10::Float8_e4m3fn","c10::Float8_e4m3fn","float","float","","","",""]`,
		Values: `["","","","","","","15","True"]`},
		2 * 16 * 32 * 64, 16*32 + 32*64 + 8 + 2*16*64, FP8},
	{Op{Name: "aten::_int_mm", Shapes: `[[16,32],[32,64]]`, Types: `["signed char","signed char"]`}, 2 * 16 * 32 * 64,
		16*32 + 32*64 + 4*16*64, Int8},

	// ResNet's first layer: out (224 + 6 - 7)/2 + 1 = 112. 2 x 32x112x112 x 64 x 3x7x7.
	{Op{Name: "aten::cudnn_convolution", Shapes: `[[32,3,224,224],[64,3,7,7],[],[],[],[],[],[],[]]`,
		Types:  `["float","float","ScalarList","ScalarList","ScalarList","Scalar","Scalar","Scalar","Scalar"]`,
		Values: `["","","[3, 3]","[2, 2]","[1, 1]","1","False","False","True"]`},
		2 * 32 * 112 * 112 * 64 * 147, 4 * (32*3*224*224 + 64*147 + 32*64*112*112), FP32},
	// Grouped: 8 groups of 4 channels, 1-d, out (10 + 2 - 3)/1 + 1 = 10.
	{Op{Name: "aten::conv1d", Shapes: `[[2,32,10],[16,4,3],[16],[],[],[],[]]`,
		Types:  `["float","float","float","ScalarList","ScalarList","ScalarList","Scalar"]`,
		Values: `["","","","[1]","[1]","[1]","8"]`}, 2 * 2 * 16 * 10 * 4 * 3, 4 * (640 + 192 + 320 + 16), FP32},
	// Transposed: out (5-1)x2 - 2x1 + 3 + 1 = 10; each of 4x5x5 input elements meets 6 x 3 x 3.
	{Op{Name: "aten::convolution", Shapes: `[[1,4,5,5],[4,6,3,3],[],[],[],[],[],[],[]]`,
		Types:  `["float","float","","ScalarList","ScalarList","ScalarList","Scalar","ScalarList","Scalar"]`,
		Values: `["","","","[2, 2]","[1, 1]","[1, 1]","True","[1, 1]","1"]`}, 2 * 100 * 54, 4 * (100 + 216 + 600),
		FP32},
	// Gradients of input and weight, none of a bias: twice the forward 2 x (10x512x7x7) x (512x9).
	{Op{Name: "aten::convolution_backward", Shapes: `[[10,512,7,7],[10,512,7,7],[512,512,3,3],[],[],[],[],[],[],[],[]]`,
		Types:  `["c10::BFloat16","c10::BFloat16","c10::BFloat16","ScalarList","ScalarList","ScalarList","ScalarList","Scalar","ScalarList","Scalar","ScalarList"]`,
		Values: `["","","","[0]","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1","[True, True, False]"]`},
		2 * 2 * 250880 * 4608, 2 * (250880 + 2*250880 + 2*512*4608), BF16},
	// The first layer needs no gradient of its input.
	{Op{Name: "aten::convolution_backward", Shapes: `[[1,8,4,4],[1,3,4,4],[8,3,3,3],[],[],[],[],[],[],[],[]]`,
		Types:  `["float","float","float","ScalarList","ScalarList","ScalarList","ScalarList","Scalar","ScalarList","Scalar","ScalarList"]`,
		Values: `["","","","[8]","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1","[False, True, True]"]`},
		2*128*27 + 128, 4 * (128 + 48 + 216 + 8), FP32},
	{Op{Name: "aten::cudnn_convolution_backward_input",
		Shapes: `[[],[32,2048,7,7],[2048,512,1,1],[],[],[],[],[],[],[]]`,
		Types:  `["GenericList","float","float","GenericList","GenericList","GenericList","Int","Bool","Bool","Bool"]`},
		2 * 32 * 2048 * 49 * 512, -1, FP32},

	// 8 heads, 141 x 141 pairs, 2 x (64 + 64) each.
	{Op{Name: "aten::_flash_attention_forward", Shapes: `[[1,141,8,64],[1,141,8,64],[1,141,8,64],[],[],[],[],[],[],[],[],[],[],[],[]]`,
		Types:  `["c10::BFloat16","c10::BFloat16","c10::BFloat16","","","Scalar","Scalar","Scalar","Scalar","Scalar","Scalar","","","",""]`,
		Values: `["","","","","","141","141","0.","False","False","0.125","","","",""]`}, 8 * 141 * 141 * 256,
		4 * 8 * 141 * 64 * 2, BF16},
	// Causal: 512 x 513 / 2 pairs.
	{Op{Name: "aten::_cudnn_attention_forward", Shapes: `[[8,12,512,64],[8,12,512,64],[8,12,512,64],[],[],[],[],[],[],[],[],[],[]]`,
		Types:  `["c10::BFloat16","c10::BFloat16","c10::BFloat16","","","","Scalar","Scalar","Scalar","Scalar","Scalar","Scalar",""]`,
		Values: `["","","","","","","512","512","True","0.","True","False",""]`}, 8 * 12 * 512 * 513 / 2 * 256,
		4 * 8 * 12 * 512 * 64 * 2, BF16},
	// Five products: 2 x (3 x 64 + 2 x 64) a pair. Reads Q, K, V, O, dO, writes dQ, dK, dV.
	{Op{Name: "aten::_efficient_attention_backward",
		Shapes: `[[8,256,8,64],[8,256,8,64],[8,256,8,64],[8,256,8,64],[],[8,256,8,64],[],[],[],[],[8,8,256],[],[],[],[],[],[],[],[],[]]`,
		Types:  `["float","float","float","float","","float","","","Scalar","Scalar","float","Scalar","long int","long int","Scalar","Scalar","","","","Scalar"]`,
		Values: `["","","","","","","","","8","8","","0.","","","0","False","","","","False"]`}, 64 * 256 * 256 * 640,
		8 * 8 * 256 * 8 * 64 * 4, FP32},
	// Grouped queries: 32 heads of queries share 8 of keys; values of another width.
	{Op{Name: "aten::scaled_dot_product_attention",
		Shapes: `[[1,32,1,128],[1,8,1024,128],[1,8,1024,64],[],[],[],[],[]]`,
		Types:  `["c10::Half","c10::Half","c10::Half","","Scalar","Scalar","","Scalar"]`,
		Values: `["","","","","0.","False","","True"]`}, 32 * 1024 * 2 * 192, 2 * (32*128 + 8*1024*192 + 32*64), FP16},
	// A packed batch: which pairs meet is in data that captures do not have.
	{Op{Name: "aten::_flash_attention_forward", Shapes: `[[100,8,64],[100,8,64],[100,8,64],[5],[5],[],[],[],[],[],[],[],[],[],[]]`,
		Types:  `["c10::Half","c10::Half","c10::Half","int","int","Scalar","Scalar","Scalar","Scalar","Scalar","","","","",""]`,
		Values: `["","","","","","30","30","0.","True","False","","","","",""]`}, -1, 4 * 100 * 8 * 64 * 2, FP16},

	// 5 steps and weight and bias: 7 x 72192; input and output, 2 x 512 parameters.
	{Op{Name: "aten::native_layer_norm", Shapes: `[[1,141,512],[],[512],[512],[]]`,
		Types: `["c10::BFloat16","ScalarList","c10::BFloat16","c10::BFloat16","Scalar"]`}, 7 * 72192,
		2 * (2*72192 + 1024), BF16},
	{Op{Name: "aten::native_batch_norm", Shapes: `[[8,16,4,4],[16],[16],[16],[16],[],[],[]]`,
		Types:  `["float","float","float","float","float","Scalar","Scalar","Scalar"]`,
		Values: `["","","","","","False","0.1","1e-05"]`}, 2 * 2048, 4 * (4096 + 32), FP32},
	{Op{Name: "aten::native_layer_norm_backward", Shapes: `[[8,16],[8,16],[],[8,1],[8,1],[16],[16],[]]`,
		Types:  `["float","float","ScalarList","float","float","float","float","ScalarList"]`,
		Values: `["","","[16]","","","","","[True, True, True]"]`},
		12 * 128, 4 * (3*128 + 3*16), FP32},
	{Op{Name: "aten::_fused_rms_norm", Shapes: `[[8,16],[],[16],[]]`, Types: `["float","ScalarList","float",""]`},
		4 * 128, 4 * (256 + 16), FP32},
	{Op{Name: "aten::_softmax", Shapes: `[[1,64,512,512],[],[]]`, Types: `["c10::Half","Scalar","Scalar"]`,
		Values: `["","-1","True"]`}, 5 * 64 * 512 * 512, 64 * 512 * 512 * 6, FP16},
	{Op{Name: "aten::_softmax_backward_data", Shapes: `[[8,8],[8,8],[],[]]`,
		Types: `["float","float","Scalar","Scalar"]`, Values: `["","","-1","15"]`}, 4 * 64, 64*8 + 64*2, FP32},

	{Op{Name: "aten::sum", Shapes: `[[5,128],[],[],[]]`, Types: `["float","ScalarList","Scalar",""]`,
		Values: `["","[0]","True",""]`}, 640, 4 * (640 + 128), FP32},
	{Op{Name: "aten::sum", Shapes: `[[640],[]]`, Types: `["bool",""]`}, 640, 640 + 8, Bool},
	// which dimensions was not recorded
	{Op{Name: "aten::mean", Shapes: `[[5,128],[],[],[]]`, Types: `["float","ScalarList","Scalar",""]`}, 640, -1, FP32},
	{Op{Name: "aten::std", Shapes: `[[8,16],[],[],[]]`, Types: `["float","","","Scalar"]`,
		Values: `["","","","False"]`}, 4 * 128, 4 * 129, FP32},
	{Op{Name: "aten::max", Shapes: `[[4,8],[],[]]`, Types: `["float","Scalar","Scalar"]`, Values: `["","-1","False"]`},
		32, 4*32 + 12*4, FP32},
	{Op{Name: "aten::argmax", Shapes: `[[4,8],[],[]]`, Types: `["float","Scalar","Scalar"]`,
		Values: `["","1","False"]`}, 32, 4*32 + 8*4, FP32},

	{Op{Name: "aten::embedding", Shapes: `[[30522,512],[1,141],[],[],[]]`,
		Types: `["c10::BFloat16","long int","Scalar","Scalar","Scalar"]`}, 0, 141*8 + 2*141*512*2, BF16},
	{Op{Name: "aten::embedding_dense_backward", Shapes: `[[512,768],[512],[],[],[]]`,
		Types: `["float","long int","Scalar","Scalar","Scalar"]`, Values: `["","","1000","-1","False"]`}, 512 * 768,
		512*8 + 4*768*1512, FP32},

	{Op{Name: "aten::relu", Shapes: `[[1000]]`, Types: `["float"]`}, 1000, 8000, FP32}, // 0.125 FLOP/byte
	{Op{Name: "aten::add", Shapes: `[[16,1,64],[8,1],[]]`, Types: `["float","float","Scalar"]`, Values: `["","","1"]`},
		16 * 8 * 64, 4 * (1024 + 8 + 8192), FP32},
	{Op{Name: "aten::add_", Shapes: `[[128],[128],[]]`, Types: `["float","float","Scalar"]`,
		Values: `["","","-0.01"]`}, 256, 4 * 384, FP32},
	// a number of Python does not widen
	{Op{Name: "aten::mul", Shapes: `[[1,559,64],[]]`, Types: `["c10::Half","double"]`}, 559 * 64, 559*64*4 + 8, FP16},
	{Op{Name: "aten::mul", Shapes: `[[8],[8]]`, Types: `["c10::BFloat16","float"]`}, 8, 16 + 32 + 32, FP32},
	{Op{Name: "aten::lt", Shapes: `[[8],[8]]`, Types: `["long int","long int"]`}, 8, 128 + 8, Int64},
	{Op{Name: "aten::masked_fill_", Shapes: `[[8,16,32,32],[32,32],[]]`, Types: `["c10::BFloat16","bool","Scalar"]`},
		0, 2*2*131072 + 1024, BF16},
	{Op{Name: "aten::native_dropout", Shapes: `[[100],[],[]]`, Types: `["float","Scalar","Scalar"]`}, 300, 900, FP32},
	{Op{Name: "aten::copy_", Shapes: `[[5,128],[5,128],[]]`, Types: `["float","c10::BFloat16","Scalar"]`}, 0, 640 * 6,
		FP32},
	{Op{Name: "aten::cat", Shapes: `[[[4,1,768],[4,196,768]],[]]`, Types: `["TensorList","Scalar"]`,
		Values: `["","1"]`}, 0, -1, NoDtype},
	{Op{Name: "aten::_foreach_add_", Shapes: `[[[128,128],[128]],[[128,128],[128]],[]]`,
		Types: `["TensorList","TensorList","Scalar"]`}, 16512, -1, NoDtype},
	{Op{Name: "aten::nll_loss_forward", Shapes: `[[32,1000],[32],[],[],[]]`,
		Types: `["float","long int","","Scalar","Scalar"]`}, 64, 32 * 12, FP32},
	{Op{Name: "aten::gather", Shapes: `[[100,8],[],[4,8],[],[4,8]]`,
		Types: `["float","Scalar","long int","Scalar","float"]`}, 0, 32*8 + 64*4, FP32},
	{Op{Name: "aten::index_select", Shapes: `[[100,8],[],[5]]`, Types: `["float","Scalar","long int"]`,
		Values: `["","0",""]`}, 0, 40 + 2*5*8*4, FP32},
}

func TestOf(t *testing.T) {
	for _, c := range cases {
		w, why := Of(c.op)
		if why != Known {
			t.Errorf("%s %s: %s", c.op.Name, c.op.Shapes, why)
			continue
		}
		check := func(what string, has bool, got, want float64) {
			if has != (want >= 0) || has && math.Abs(got-want) > 0.5 {
				t.Errorf("%s %s: %s %v (known: %v), want %v", c.op.Name, c.op.Shapes, what, got, has, want)
			}
		}
		check("FLOPs", w.HasFLOPs, w.FLOPs, c.flops)
		check("bytes", w.HasBytes, w.Bytes, c.bytes)
		if w.Dtype != c.dtype {
			t.Errorf("%s %s: %s, want %s", c.op.Name, c.op.Shapes, w.Dtype, c.dtype)
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, c := range []struct {
		op   Op
		want Unknown
	}{
		{Op{Name: "mylib::special"}, NoFormula},
		{Op{Name: "triton_poi_fused_add_0", Shapes: `[[8]]`, Types: `["float"]`}, NoFormula},
		{Op{Name: "aten::mm"}, NoShapes},
		// inner sizes differ
		{Op{Name: "aten::mm", Shapes: `[[2,3],[4,5]]`, Types: `["float","float"]`}, OpenShapes},
		// an operand is missing
		{Op{Name: "aten::mm", Shapes: `[[2,3]]`, Types: `["float"]`}, OpenShapes},
		// sizes below 0
		{Op{Name: "aten::mm", Shapes: `[[2,-3],[-3,2]]`, Types: `["float","float"]`}, OpenShapes},
		// more than any memory
		{Op{Name: "aten::mm", Shapes: `[[1e300,3],[3,1e300]]`, Types: `["float","float"]`}, OpenShapes},
		{Op{Name: "aten::mm", Shapes: `nonsense`, Types: `["float","float"]`}, OpenShapes},
		// do not broadcast
		{Op{Name: "aten::add", Shapes: `[[3],[4],[]]`, Types: `["float","float","Scalar"]`}, OpenShapes},
		{Op{Name: "aten::_fused_adamw_", Shapes: `[[],[]]`, Types: `["TensorList","TensorList"]`}, OpenShapes},
		// its stride was not recorded
		{Op{Name: "aten::cudnn_convolution", Shapes: `[[32,3,224,224],[64,3,7,7],[],[],[],[],[],[],[]]`,
			Types: `["float","float","GenericList","GenericList","GenericList","Int","Bool","Bool","Bool"]`},
			OpenShapes},
		{Op{Name: "aten::conv2d", Shapes: `[[1,3,8,8],[4,3,3,3],[],[],[],[],[]]`,
			Types:  `["float","float","","ScalarList","ScalarList","ScalarList","Scalar"]`,
			Values: `["","","","[0, 0]","[0, 0]","[1, 1]","1"]`}, OpenShapes}, // a stride of 0
	} {
		if w, why := Of(c.op); why != c.want {
			t.Errorf("%s %s: %q %+v, want %q", c.op.Name, c.op.Shapes, why, w, c.want)
		}
	}
}

// A mask that ends at the bottom right corner lets the last query see all; one query over a cache sees everything.
func TestTrapezoid(t *testing.T) {
	for queries := range 7 {
		for keys := range 7 {
			for offset := -7; offset <= 7; offset++ {
				want := 0
				for i := range queries {
					want += min(max(i+1+offset, 0), keys)
				}
				if got := trapezoid(float64(queries), float64(keys), float64(offset)); got != float64(want) {
					t.Errorf("%d queries, %d keys, offset %d: %v pairs, want %d", queries, keys, offset, got, want)
				}
			}
		}
	}
}

// FuzzOf: texts of strangers must not panic, nor give what is no number.
func FuzzOf(f *testing.F) {
	for _, c := range cases {
		f.Add(c.op.Name, c.op.Shapes, c.op.Types, c.op.Strides, c.op.Values)
	}
	f.Fuzz(func(t *testing.T, name, shapes, types, strides, values string) {
		w, why := Of(Op{name, shapes, types, strides, values})
		if why != Known {
			return
		}
		for _, v := range []float64{w.FLOPs, w.Bytes} {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Errorf("%s: %+v", name, w)
			}
		}
	})
}

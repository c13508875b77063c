package facts

import "testing"

// TestPythonCode judges names as torch.profiler and perf maps write them.
func TestPythonCode(t *testing.T) {
	for name, want := range map[string]struct {
		text string
		rank codeRank
	}{
		"train.py(12): main":                                   {"main (train.py:12)", codeUser},
		"data/tok.py(88): encode":                              {"encode (data/tok.py:88)", codeUser},
		"/home/a/torch/run.py(3): f":                           {"f (torch/run.py:3)", codeUser},
		"transformers/image.py(390): normalize":                {"normalize (transformers/image.py:390)", codeUser},
		"/opt/lib/python3.10/site-packages/PIL/Image.py(5): p": {"p (PIL/Image.py:5)", codeUser},
		"<ipython-input-3-ab>(7): step":                        {"step (<ipython-input-3-ab>:7)", codeUser},
		"train (/app/train.py)":                                {"train (app/train.py)", codeUser},
		"/tmp/torchinductor_root/ov/cov4.py(2533): call":       {"call, made by torch.compile (line 2533)", codeUser},

		"torch/nn/modules/module.py(17): _call":                    {"_call (modules/module.py:17)", codeFramework},
		"/lib/python3.10/site-packages/torch/cuda/graphs.py(9): f": {"f (cuda/graphs.py:9)", codeFramework},
		"torch_guard.py(8): wrap":                                  {"wrap (torch_guard.py:8)", codeFramework},
		"threading.py(1030): _bootstrap":                           {"_bootstrap (threading.py:1030)", codeBase},
		"/usr/lib/python3.12/json/decoder.py(337): decode":         {"decode (json/decoder.py:337)", codeBase},
		"tqdm/std.py(1160): __iter__":                              {"__iter__ (tqdm/std.py:1160)", codeBase},
		"<string>(1): launcher":                                    {"launcher (<string>:1)", codeBase},
		"<frozen runpy>(88): _run_code":                            {"", codeSilent},
		"train.py(40): <listcomp>":                                 {"", codeSilent},
		"f.<locals>.<lambda> (/x.py)":                              {"", codeSilent},
		"<built-in method mm of type object at 0x7faf8498c940>":    {"", codeSilent},
		"nn.Module: Linear_0":                                      {"", codeSilent},
		"a::call(c10::OperatorKernel*, std::optional<c10::Type>)":  {"", codeSilent},
		"no place(12): ":                                           {"", codeSilent},
		"): ":                                                      {"", codeSilent},
		"":                                                         {"", codeSilent},
	} {
		c, rank := pythonCode(name)
		if text := c.Text(); rank != want.rank || rank != codeSilent && text != want.text {
			t.Errorf("%q is %q with rank %d, want %q and %d", name, text, rank, want.text, want.rank)
		}
	}
}

// TestCompiledCode judges frames as nsys and lacuna record write them.
func TestCompiledCode(t *testing.T) {
	for _, test := range []struct {
		symbol, module, text string
		rank                 codeRank
	}{
		{"sha256_block_data_order_shaext", "/opt/conda/lib/libcrypto.so.3", "sha256_block_data_order_shaext (libcrypto.so.3)",
			codeUser},
		{"load(Image const&, int)", "/app/trainer", "load (trainer)", codeUser},
		{"0x77cc6eef6c0d", "/x/libcublasLt.so.12", "unnamed code of libcublasLt.so.12", codeFramework},
		{"at::native::randn(c10::ArrayRef<long>)", "/x/libtorch_cpu.so", "at::native::randn (libtorch_cpu.so)",
			codeFramework},
		{"libcuda.so.1+0x2c8b74", "/usr/lib/libcuda.so.1", "unnamed code of libcuda.so.1", codeBase},
		{"_PyEval_EvalFrameDefault", "/usr/bin/python3.10", "Python code without recorded names", codeBase},
		{"PyObject_Call", "/usr/lib/libpython3.13.so.1.0", "Python code without recorded names", codeBase},
		{"__memcpy_avx_unaligned_erms", "/lib/x86_64-linux-gnu/libc.so.6", "__memcpy_avx_unaligned_erms (libc.so.6)",
			codeBase},
		{"0xffffffff908eaf97", "[kernel.kallsyms]", "unnamed code of [kernel.kallsyms]", codeBase},
		{"main", "/app/trainer", "main (trainer)", codeBase},
		{"[Max depth]", "[Max depth]", "", codeSilent},
		{"[Broken backtraces]", "[Broken backtraces]", "", codeSilent},
		{"0x0", "[Unknown]", "", codeSilent},
		{"0x7fe0ecdd060a", "/t/linux-x64/libToolsInjection64.so", "", codeSilent},
		{"c10::impl::wrap_kernel_functor_unboxed_<int>::call(int)", "/x/libtorch_cuda.so", "", codeSilent},
		{"", "", "", codeSilent},
	} {
		c, rank := compiledCode(test.symbol, test.module)
		if text := c.Text(); rank != test.rank || rank != codeSilent && text != test.text {
			t.Errorf("%q of %q is %q with rank %d, want %q and %d", test.symbol, test.module, text, rank, test.text,
				test.rank)
		}
	}
}

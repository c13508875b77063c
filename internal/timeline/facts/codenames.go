package facts

import (
	"path"
	"strconv"
	"strings"

	"lacuna/internal/kernel/kernelname"
)

// A Code is a place in the host's code.
type Code struct {
	Function string // "": not resolved
	File     string // of Python code; "": it is compiled, or unknown
	Line     int    // where the function begins or where it was, as the capture has it; 0: unknown
	Module   string // the library or program of compiled code, without its folder; "": unknown
	All      bool   // all of a module, whatever its functions
}

// codeRank is how much the name of a function says to the person whose program it is.
type codeRank uint8

const (
	codeSilent    codeRank = iota // nothing: no function, or one that only stands for the code around it
	codeBase                      // the interpreter, the standard library, the C library, the kernel, the GPU's driver
	codeFramework                 // the framework, and the libraries under it
	codeUser                      // the program, and the libraries that it calls
	codeTool                      // the profiler in the program: whatever that calls, an unprofiled run lacks it
)

// baseModules begin the names of compiled modules below every program: C library, loader, C++ runtime, interpreter,
// GPU driver and runtime, and what CUPTI and ROCm's tracers put into the process.
var baseModules = []string{"libc.", "libc-", "libm.", "libm-", "libpthread", "libdl.", "libdl-", "librt.", "librt-",
	"ld-", "ld.", "libstdc++", "libgcc_s", "libpython", "python", "[vdso]", "linux-vdso", "[kernel", "libcuda.",
	"libcudart", "libcupti", "libnvidia", "libnvtoolsext", "libamdhip64", "libhsa-runtime", "libroctracer",
	"librocprofiler", "libgomp", "libomp", "libiomp", "libcudadebugger"}

// interpreterModules are those of baseModules that run Python.
var interpreterModules = []string{"libpython", "python"}

// frameworkModules begin the names of the compiled modules of frameworks and of the GPU libraries under them.
var frameworkModules = []string{"libtorch", "libc10", "libcaffe2", "libtriton", "libcublas", "libcudnn", "libcufft",
	"libcurand", "libcusolver", "libcusparse", "libnccl", "librccl", "libhipblas", "librocblas", "libmiopen", "libhip",
	"libtensorflow", "_pywrap_tensorflow", "libjax", "xla_extension", "_multiarray_umath", "libnvrtc", "libnvjitlink",
	"libaoti", "libshm", "_c."}

// frameworkPackages are Python packages whose functions run whatever a program asks of them: their names do not say
// what.
var frameworkPackages = words(`torch torch_guard functorch torch_xla torch_npu triton numpy jax jaxlib tensorflow keras
	cupy numba pytorch_lightning lightning lightning_fabric lightning_utilities accelerate deepspeed pybind11 cuda`)

// standardModules are modules of Python's standard library (sys.stdlib_module_names of 3.12) that programs spend time
// in, and wrappers of loops; a script's own folder hides their path. Those that people call their own files, as
// profile, test and code, are left out.
var standardModules = words(`threading runpy contextlib functools queue multiprocessing concurrent asyncio socket
	selectors subprocess logging typing typing_extensions inspect dataclasses enum abc collections copy copyreg pickle
	json re sre_parse sre_compile sre_constants os posixpath genericpath ntpath pathlib tempfile shutil random weakref
	warnings traceback linecache importlib zipfile zipimport gzip bz2 lzma hashlib hmac base64 struct io codecs
	encodings string textwrap datetime _strptime decimal fractions numbers heapq bisect operator ast dis opcode ctypes
	signal ssl http urllib email xml html unittest argparse glob fnmatch locale gettext uuid platform sysconfig reprlib
	contextvars csv configparser shlex stat bdb pdb cProfile pstats tarfile socketserver difflib tokenize
	_collections_abc _weakrefset _bootlocale site tqdm`)

func words(s string) map[string]bool {
	out := make(map[string]bool)
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

// enclosed are functions that are written inside others, which say more.
var enclosed = words("<listcomp> <genexpr> <dictcomp> <setcomp> <lambda>")

// pythonCode is a Python function as captures name it: "dir/file.py(12): f", or "f (/dir/file.py)" from samples.
func pythonCode(name string) (Code, codeRank) {
	var c Code
	if place, function, found := strings.Cut(name, "): "); found {
		open := strings.LastIndexByte(place, '(')
		if open < 0 {
			return Code{}, codeSilent
		}
		c.Function, c.File = function, place[:open]
		c.Line, _ = strconv.Atoi(place[open+1:])
	} else if open := strings.LastIndex(name, " ("); open > 0 && strings.HasSuffix(name, ")") {
		c.Function, c.File = name[:open], name[open+2:len(name)-1]
	}
	if c.Function == "" || !isPythonFile(c.File) || enclosed[last(c.Function, '.')] {
		return Code{}, codeSilent
	}
	return c, pythonRank(c)
}

// isPythonFile says whether code of a file is Python's: that of notebooks has no file, that of the interpreter itself
// does not count.
func isPythonFile(file string) bool {
	return strings.HasSuffix(file, ".py") || strings.HasPrefix(file, "<ipython") || file == "<string>"
}

// last is what follows the last sep.
func last(s string, sep byte) string { return s[strings.LastIndexByte(s, sep)+1:] }

// pythonRank judges Python code by the package that its file belongs to.
func pythonRank(c Code) codeRank {
	file, installed := strings.ReplaceAll(c.File, `\`, "/"), false
	for _, dir := range []string{"site-packages/", "dist-packages/"} {
		if i := strings.LastIndex(file, dir); i >= 0 {
			file, installed = file[i+len(dir):], true
		}
	}
	if file == "<string>" {
		return codeBase
	}
	if i := strings.LastIndex(file, "lib/python3."); i >= 0 && !installed {
		return codeBase
	}
	if strings.HasPrefix(file, "/") {
		return codeUser
	}
	top, _, _ := strings.Cut(file, "/")
	switch top = strings.TrimSuffix(top, ".py"); {
	case standardModules[top]:
		return codeBase
	case frameworkPackages[top]:
		return codeFramework
	}
	return codeUser
}

// moduleFile is the last part of a path, in lower case.
func moduleFile(module string) string {
	return strings.ToLower(path.Base(strings.ReplaceAll(module, `\`, "/")))
}

// compiledCode is a frame of compiled code, by its symbol and the path of its module.
func compiledCode(symbol, module string) (Code, codeRank) {
	base := path.Base(strings.ReplaceAll(module, `\`, "/"))
	if module == "" || base == symbol || strings.EqualFold(base, "[unknown]") {
		return Code{}, codeSilent // a remark of the tool instead of a frame, or an address in no module
	}
	c := Code{Function: symbol, Module: base}
	if strings.HasPrefix(symbol, "0x") || strings.Contains(symbol, "+0x") {
		c.Function = ""
	}
	lower := strings.ToLower(base)
	switch {
	case strings.HasPrefix(symbol, "c10::impl::"): // PyTorch's dispatcher
		return Code{}, codeSilent
	case base == "[jit]":
		return c, codeFramework
	case isInjected(lower): // the profiler in the program
		return Code{}, codeSilent
	case beginsAny(lower, interpreterModules):
		return Code{Module: interpreter}, codeBase
	case beginsAny(lower, baseModules):
		return c, codeBase
	case beginsAny(lower, frameworkModules), beginsAny(symbol, []string{"at::", "c10::", "torch::"}):
		return c, codeFramework
	case symbol == "_start" || symbol == "main":
		return c, codeBase // around everything
	}
	return c, codeUser
}

// toolModule stands for the code that a profiler puts into the program, and for what that calls.
const toolModule = "[profiler]"

// isInjected says whether a module, in lower case, is of those that profilers put into a program.
func isInjected(module string) bool { return strings.Contains(module, "injection") }

// callsTools says whether a module, in lower case, calls a profiler in the program for the profiler's sake: the loader
// that starts it, and the driver that tells it of calls. Where the program calls it, or a thread begins in it, it only
// stands around a call of the operating system or around the thread's own work.
func callsTools(module string) bool {
	return beginsAny(module, []string{"ld-", "ld.", "libcuda.", "libcupti"})
}

// interpreter stands for Python code of which no function is known.
const interpreter = "[interpreter]"

func beginsAny(s string, with []string) bool {
	for _, p := range with {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// compiledFolder is where PyTorch's compiler keeps the code that it generates.
const compiledFolder = "/torchinductor_"

// Text is the place as people name it: "tokenize (data/tok.py:88)", "sha256_block (libcrypto.so.3)".
func (c Code) Text() string {
	switch {
	case c.Module == interpreter:
		return "Python code without recorded names"
	case c.Module == toolModule:
		return "the profiler's own code"
	case c.All:
		return c.Module
	case strings.Contains(c.File, compiledFolder):
		return c.Function + ", made by torch.compile (line " + strconv.Itoa(c.Line) + ")" // the file's name is a hash
	case c.File != "" && c.Line > 0:
		return c.Function + " (" + nearFile(c.File) + ":" + strconv.Itoa(c.Line) + ")"
	case c.File != "":
		return c.Function + " (" + nearFile(c.File) + ")"
	case c.Function == "":
		return "unnamed code of " + c.Module
	case c.Module == "":
		return c.Function
	}
	return kernelname.Qualified(c.Function) + " (" + c.Module + ")"
}

// plumbing are functions around others, whose names say nothing of what is called.
var plumbing = words("wrapper inner decorator decorate_context __call__ _call_impl _wrapped_call_impl _fn <lambda>")

// calledText is a function that other code calls, in short: without its place, and without the address of its object;
// "" if its name says nothing.
func calledText(name string) string {
	if _, function, found := strings.Cut(name, "): "); found {
		if plumbing[function] {
			return ""
		}
		return function
	}
	name = strings.TrimSuffix(strings.TrimPrefix(withoutAddress(name), "<built-in "), ">")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "function "), "method ")
	name, _, _ = strings.Cut(name, " of ")
	return name
}

// nearFile is a file with the folder that it is in.
func nearFile(file string) string {
	dir, base := path.Split(strings.ReplaceAll(file, `\`, "/"))
	if dir = path.Base(dir); dir == "." || dir == "/" {
		return base
	}
	return dir + "/" + base
}

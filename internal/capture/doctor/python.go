package doctor

import (
	"encoding/json"
	"fmt"
	"strings"
)

// An interpreter is what python3 on the PATH says of itself.
type interpreter struct {
	Path    string   `json:"-"` // "": there is none
	Failed  string   `json:"-"` // why it does not say
	Version string   `json:"version"`
	Folders []string `json:"path"` // where it looks for packages
	Perf    bool     `json:"perf"` // it can name its functions to samplers (PYTHONPERFSUPPORT)
}

// askPython prints an interpreter. Nothing is imported that is not loaded at start anyway, but sysconfig.
const askPython = `import sys, json, sysconfig
print("LACUNA" + json.dumps({"version": "%d.%d.%d" % sys.version_info[:3], "path": [p for p in sys.path if p],
 "perf": bool(sysconfig.get_config_var("PY_HAVE_PERF_TRAMPOLINE"))}))`

func (x *exam) interpreter() (p interpreter) {
	for _, name := range []string{"python3", "python"} {
		if p.Path = x.lookPath(name); p.Path != "" {
			break
		}
	}
	if p.Path == "" {
		return p
	}
	said, err := x.ask(p.Path, "-c", askPython)
	_, text, found := strings.Cut(said, "LACUNA") // sitecustomize and the like may have said more
	text, _, _ = strings.Cut(text, "\n")
	switch {
	case err != nil:
		p.Failed = err.Error()
	case !found || json.Unmarshal([]byte(text), &p) != nil:
		p.Failed = "it does not say its version"
	}
	return p
}

var python = Check{ID: "python", Title: "Python", For: []Purpose{Sample}, Run: func(x *exam) []Result {
	p := x.python
	cost := "CPU samples of Python programs show the interpreter's C functions, not those of the script"
	switch {
	case p.Path == "":
		return []Result{{State: OK, Text: "python3 is not on the PATH; programs in other languages can be recorded"}}
	case p.Failed != "":
		return []Result{{State: Unknown, Text: fmt.Sprintf("%s: %s", p.Path, p.Failed)}}
	case older(p.Version, "3.12"):
		return []Result{{State: Limited, Text: fmt.Sprintf("%s (%s)", p.Version, p.Path), Cost: cost,
			Fix: "Python 3.12 or newer names them", Limits: []Purpose{Sample}}}
	case !p.Perf:
		return []Result{{State: Limited, Text: fmt.Sprintf("%s (%s), built without the perf trampoline", p.Version,
			p.Path), Cost: cost,
			Fix:    "use a build of Python for x86-64 or aarch64 Linux that has it (python.org's, Debian's, conda's)",
			Limits: []Purpose{Sample}}}
	}
	return fine(fmt.Sprintf("%s (%s); its functions can be named in CPU samples", p.Version, p.Path))
}}

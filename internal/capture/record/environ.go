package record

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Variables by which libraries get into a CUDA program: the driver reads the first at cuInit, NVTX the second at its
// first call.
const (
	cudaInjection = "CUDA_INJECTION64_PATH"
	nvtxInjection = "NVTX_INJECTION64_PATH"
)

// pythonPerf has Python from 3.12 on name its functions for whoever samples the CPUs, at some cost.
const pythonPerf = "PYTHONPERFSUPPORT"

// agentVariables is every variable that the agent reads (lac_settings in agent/agent.h). What an outer recording set
// is taken out first.
var agentVariables = [...]string{"LACUNA_DIR", "LACUNA_SESSION", "LACUNA_WINDOW", "LACUNA_DELAY", "LACUNA_DURATION",
	"LACUNA_STEP_RANGE", "LACUNA_STEPS",
	"LACUNA_FLUSH_MS", "LACUNA_MEMORY_MB", "LACUNA_PACK", "LACUNA_YIELD", "LACUNA_GRAPH", "LACUNA_CUPTI",
	"LACUNA_KINDS", "LACUNA_CHAIN", "LACUNA_CHAIN_NVTX"}

// An environment is the variables that the program gets.
type environment []string

func (e environment) get(name string) string {
	for i := len(e) - 1; i >= 0; i-- { // of two the last counts, as os/exec has it
		if value, ok := strings.CutPrefix(e[i], name+"="); ok {
			return value
		}
	}
	return ""
}

func (e *environment) set(name, value string) { *e = append(e.without(name), name+"="+value) }

func (e environment) without(name string) (out environment) {
	for _, v := range e {
		if !strings.HasPrefix(v, name+"=") {
			out = append(out, v)
		}
	}
	return out
}

// Environ is the environment of the program: env with what the agent reads. dir is the folder for spools. It warns of
// other tools that are in env already.
func Environ(env []string, o *Options, dir, session string) (out, warnings []string) {
	e := environment(env)
	warnings = e.others()
	chain, chainNVTX := e.get(cudaInjection), e.get(nvtxInjection)
	if e.get("LACUNA_SESSION") != "" { // an outer recording's agent is ours: once is enough
		chain, chainNVTX = e.get("LACUNA_CHAIN"), e.get("LACUNA_CHAIN_NVTX")
	}
	for _, name := range agentVariables {
		e = e.without(name)
	}
	e.set("LACUNA_DIR", dir)
	e.set("LACUNA_SESSION", session)
	e.window(o.Window)
	e.set("LACUNA_GRAPH", map[bool]string{false: "node", true: "whole"}[o.WholeGraphs])
	for _, v := range []struct{ name, value string }{
		{"LACUNA_KINDS", o.Kinds}, {"LACUNA_CUPTI", o.CUPTI}, {"LACUNA_CHAIN", chain}, {"LACUNA_CHAIN_NVTX", chainNVTX},
		{"LACUNA_FLUSH_MS", positive(int(o.Flush.Milliseconds()))}, {"LACUNA_MEMORY_MB", positive(o.MemoryMB)},
	} {
		if v.value != "" {
			e.set(v.name, v.value)
		}
	}
	if o.Yield {
		e.set("LACUNA_YIELD", "1")
	}
	if o.SampleHz > 0 {
		e.set(pythonPerf, "1")
	}
	e.set(cudaInjection, o.Library)
	e.set(nvtxInjection, o.Library)
	return e, warnings
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// window says when to record.
func (e *environment) window(w Window) {
	e.set("LACUNA_WINDOW", string(w.Kind))
	if w.Delay > 0 {
		e.set("LACUNA_DELAY", seconds(w.Delay.Seconds()))
	}
	if w.Duration > 0 {
		e.set("LACUNA_DURATION", seconds(w.Duration.Seconds()))
	}
	if w.Kind == Steps {
		e.set("LACUNA_STEPS", fmt.Sprintf("%d:%d", w.From, w.Upto))
	}
	if w.Range != "" {
		e.set("LACUNA_STEP_RANGE", w.Range)
	}
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

// others warns of what is in the environment and wants CUPTI, or the one place for a library in a CUDA program, for
// itself.
func (e environment) others() (warnings []string) {
	if e.get("LACUNA_SESSION") != "" {
		warnings = append(warnings, "this runs under another lacuna record: GPU work goes into this recording, and "+
			"the outer one gets none")
	} else if path := e.get(cudaInjection); path != "" {
		warnings = append(warnings, fmt.Sprintf("%s was %s already: it is loaded too; if it uses CUPTI, one of the "+
			"two gets no GPU work (unset it, or give --yield to stand aside)", cudaInjection, path))
	}
	for path := range strings.FieldsFuncSeq(e.get("LD_PRELOAD"), func(r rune) bool { return r == ':' || r == ' ' }) {
		if tool := toolOf(filepath.Base(path)); tool != "" {
			warnings = append(warnings, fmt.Sprintf(
				"LD_PRELOAD has %s of %s: only one tool can record a program's GPU work; start it without %s, or "+
					"give --yield to stand aside", filepath.Base(path), tool, tool))
		}
	}
	return warnings
}

// toolOf is the tool that a library is of, by its file name; "": none that is known.
func toolOf(library string) string {
	for _, t := range []struct{ part, tool string }{
		{"libToolsInjection", "Nsight Systems"},
		{"libTreeLauncher", "Nsight Compute or Compute Sanitizer"},
		{"libInterceptorInjection", "Nsight Compute or Compute Sanitizer"},
	} {
		if strings.HasPrefix(library, t.part) {
			return t.tool
		}
	}
	return ""
}

package commands

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/agent"
	"lacuna/internal/capture/doctor"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
	"lacuna/internal/faces/writers"
)

var doctorCommand = Command{
	Name:  "doctor",
	Title: "Say what capture needs, what is missing here, and what mends it",
	Doc: `
Looks at what capture and analysis need: the NVIDIA driver, its GPUs, every copy
of CUPTI with the faults that its version is known for, the library that lacuna
record loads, other tools that hold CUPTI or the counters, permission to read
counters, Nsight Systems and Compute, sampling of the CPU, Python and PyTorch,
CPUs, memory and disk, the container. For each thing it says how it is, what it
costs that it is so, and the command that mends it. Nothing is changed, nothing
is recorded, and it works where there is no GPU.

A thing is ok, limited (there, but not for all), missing, broken (there, but it
does not work) or unknown (what would tell is not there).`,
	Examples: []string{
		"lacuna doctor",
		"lacuna doctor --for record --format json",
	},
	Complete: map[string]func() []string{"format": doctorFormats, "for": purposeNames},
	No:       "something that record needs is missing; with --for, that one of the named needs",
	Setup: func(flags *pflag.FlagSet) Run {
		format := flags.String("format", "text", "`FORMAT` is text or json")
		purposes := flags.StringSlice("for", nil, "only what `PURPOSE` needs: record, ncu or sample; several with commas")
		deep := flags.Bool("deep", false, "start CUDA and import torch, in processes of their own: takes seconds")
		return func(ctx context.Context, env *Env, _ []string) error {
			if err := oneOf("--format", *format, doctorFormats()); err != nil {
				return err
			}
			var wanted []doctor.Purpose
			for _, p := range *purposes {
				if err := oneOf("--for", p, purposeNames()); err != nil {
					return err
				}
				wanted = append(wanted, doctor.Purpose(p))
			}
			machine := doctor.Here(recordingLibrary)
			machine.Deep = *deep
			return env.examine(ctx, machine, *format, wanted)
		}
	},
}

func doctorFormats() []string { return []string{"text", "json"} }

func purposeNames() (out []string) {
	for _, p := range doctor.Purposes() {
		out = append(out, string(p))
	}
	return out
}

// examine writes what is found of a machine; its answer is no if it is not good for what is wanted (nothing: for record).
func (e *Env) examine(ctx context.Context, m *doctor.Machine, format string, wanted []doctor.Purpose) error {
	r, err := doctor.Examine(ctx, m, wanted...)
	if err != nil {
		return err
	}
	err = e.write(func(w io.Writer) error {
		if format == "json" {
			return writers.DoctorJSON(w, r)
		}
		return page.WriteText(w, pages.Doctor(r), e.layout())
	})
	if err != nil {
		return err
	}
	if len(wanted) == 0 {
		wanted = []doctor.Purpose{doctor.Record}
	}
	for _, v := range r.Verdicts {
		if v.Answer == doctor.No && slices.Contains(wanted, v.Purpose) {
			return &statusError{status: No}
		}
	}
	return nil
}

// recordingLibrary finds or compiles what lacuna record loads into programs.
func recordingLibrary(ctx context.Context) (string, error) {
	lib, err := agent.Library(ctx, "")
	if err != nil {
		return "", err
	}
	how := map[agent.How]string{agent.Prebuilt: "carried by this lacuna", agent.Compiled: "compiled here", agent.Cached: "compiled here before"}[lib.How]
	if lib.Compiler != "" {
		how += " by " + strings.TrimSpace(lib.Compiler)
	}
	return fmt.Sprintf("%s: %s", how, lib.Path), nil
}

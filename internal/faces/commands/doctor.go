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
	"lacuna/internal/faces/pages"
	"lacuna/internal/faces/writers"
)

var doctorCommand = Command{
	Name:  "doctor",
	Title: "Check this machine for what capture needs",
	Doc: `
Checks what capture and analysis need: the NVIDIA driver and its GPUs; every
copy of CUPTI, with the known faults of its version; the library that lacuna
record loads; other tools that hold CUPTI or the counters; permission to read
counters; Nsight Systems and Nsight Compute; CPU sampling; Python and PyTorch;
CPUs, memory, disk and container. Each entry shows the state, what it costs, and
the command that fixes it. doctor changes nothing, records nothing, and works
without a GPU.

States are ok, limited (works, but not for everything), missing, broken (there,
but does not work) and unknown (cannot be checked here).`,
	Examples: []string{
		"lacuna doctor",
		"lacuna doctor --for record --format json",
	},
	Complete: map[string]func() []string{"format": doctorFormats, "for": purposeNames},
	No:       "record (with --for: one of the purposes) does not work here",
	Setup: func(flags *pflag.FlagSet) Run {
		format := flags.String("format", "text", "output `FORMAT`: text or json")
		purposes := flags.StringSlice("for", nil, "check only what `PURPOSE` needs: record, ncu or sample; several "+
			"with commas")
		deep := flags.Bool("deep", false, "also start CUDA and import torch, in separate processes: takes seconds")
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

// examine writes what is found of a machine; its answer is no if it is not good for what is wanted (nothing: for
// record).
func (e *Env) examine(ctx context.Context, m *doctor.Machine, format string, wanted []doctor.Purpose) error {
	r, err := doctor.Examine(ctx, m, wanted...)
	if err != nil {
		return err
	}
	if format == "json" {
		err = e.write(func(w io.Writer) error { return writers.DoctorJSON(w, r) })
	} else {
		err = e.show(format, pages.Doctor(r), r)
	}
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
	how := map[agent.How]string{agent.Prebuilt: "part of this build of lacuna", agent.Compiled: "compiled here",
		agent.Cached: "compiled here earlier"}[lib.How]
	if lib.Compiler != "" {
		how += " by " + strings.TrimSpace(lib.Compiler)
	}
	return fmt.Sprintf("%s: %s", how, lib.Path), nil
}

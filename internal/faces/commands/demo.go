package commands

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/internal/answer/engine"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
)

// demoCapture is a real capture; demo/README.md says whose.
//
//go:embed demo/data_loading.lacuna
var demoCapture []byte

// demoPath is what the capture is called in the demo's report.
const demoPath = "data_loading.lacuna"

var demoCommand = Command{
	Name:  "demo",
	Title: "Analyse a small real capture that is built in",
	Doc: `
The capture is of a PyTorch training loop on one NVIDIA H200, made with lacuna
record. The loop decodes its input on the host between steps while the GPU is
idle. --save writes the capture to a file, to try the other commands on it.`,
	Examples: []string{
		"lacuna demo",
		"lacuna demo --save data_loading.lacuna",
	},
	Complete: map[string]func() []string{"format": reportFormats},
	Setup: func(flags *pflag.FlagSet) Run {
		view := reportFlags(flags)
		save := flags.String("save", "", "write the capture to `FILE` instead of analysing it")
		return func(ctx context.Context, env *Env, _ []string) error {
			if err := view.check(); err != nil {
				return err
			}
			if *save != "" {
				return saveDemo(env, *save)
			}
			job := engine.Open([]string{demoPath}, engine.Options{Rank: engine.AllRanks, Data: demoCapture})
			r, err := job.Report(ctx, engine.ReportOptions{Top: view.rows()})
			if err != nil {
				return err
			}
			next := []page.Advice{{Command: "lacuna demo --save " + demoPath,
				Why: "writes this capture to a file, for the commands below"}}
			return view.write(env, r, append(next, nextSteps(r, true)...))
		}
	},
}

// saveDemo writes the capture as it lies in the binary.
func saveDemo(env *Env, path string) error {
	if !strings.HasSuffix(path, ".lacuna") {
		return errCall("demo: --save %s: want a name that ends in .lacuna, as for any capture of lacuna record", path)
	}
	if _, err := os.Stat(path); err == nil {
		return errCall("demo: --save %s: already exists; move it away, or name another file", path)
	}
	if err := os.WriteFile(path, demoCapture, 0o644); err != nil {
		return fmt.Errorf("demo: --save %s: cannot be written: %w", path, err)
	}
	env.remark("%s: written; try lacuna report %s", path, pages.ShellWord(path))
	return nil
}

package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"lacuna/internal/capture/record"
)

var recordStatusCommand = &Command{
	Name:  "status",
	Title: "Print the state of each recorded process",
	Examples: []string{
		"lacuna record status",
		"lacuna record status --format json",
	},
	No: "no process of --pid answers",
	Setup: func(flags *pflag.FlagSet) Run {
		pids, format := pidFlag(flags), choose(flags, "format", "output `FORMAT`: text or json", "text", "json")
		return func(ctx context.Context, env *Env, _ []string) error {
			said, err := recordedStatus(ctx, env, *pids)
			if err != nil {
				return err
			}
			return env.write(func(w io.Writer) error {
				if *format == "json" {
					e := json.NewEncoder(w)
					e.SetIndent("", " ")
					return e.Encode(map[string]any{"schema": 1, "processes": said})
				}
				return writeStatus(w, said)
			})
		}
	},
}

// recordedStatus is what processes do, or every recorded one if none is named.
func recordedStatus(ctx context.Context, env *Env, pids []int) ([]record.Status, error) {
	if len(pids) > 0 {
		return askPrograms(ctx, env, pids, "status", "status")
	}
	found, err := record.Agents()
	if err != nil {
		return nil, fmt.Errorf("record status: %w", err)
	}
	said := []record.Status{} // none is an empty list in JSON
	for _, pid := range found {
		if s, err := record.Ask(ctx, pid, "status"); err == nil { // one that ends meanwhile is none
			said = append(said, s)
		}
	}
	return said, nil
}

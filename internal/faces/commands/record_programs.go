package commands

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/internal/capture/record"
	"lacuna/internal/faces/page"
)

// A recordPrograms is the flags that choose among programs which are recorded.
type recordPrograms struct {
	pids *[]int
	all  *bool
}

func programFlags(flags *pflag.FlagSet) recordPrograms {
	return recordPrograms{
		pids: pidFlag(flags),
		all:  flags.Bool("all", false, "all your recorded programs on this machine"),
	}
}

func pidFlag(flags *pflag.FlagSet) *[]int {
	return flags.IntSlice("pid", nil, "only process `PID`; may be repeated")
}

// choose is the processes that the call means: those of --pid, with --all all, else the only one that there is.
func (c recordPrograms) choose(word string) ([]int, error) {
	if len(*c.pids) > 0 && *c.all {
		return nil, errCall("record %s: --pid and --all exclude each other; give one", word)
	}
	if len(*c.pids) > 0 {
		return *c.pids, nil
	}
	found, err := record.Agents()
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", word, err)
	}
	switch {
	case len(found) == 0:
		return nil, &statusError{status: No, err: fmt.Errorf(
			"record %s: no recorded program runs here; start one with lacuna record --armed -- CMD. "+
				"It can be reached once it has called CUDA or NVTX, from within the same container", word)}
	case len(found) > 1 && !*c.all:
		return nil, errCall("record %s: which program? give --all, or --pid with one of %s", word, processList(found))
	}
	return found, nil
}

// processList is processes with what they were called with: "4711 (python train.py)".
func processList(pids []int) string {
	var words []string
	for _, pid := range pids {
		words = append(words, processWord(pid))
	}
	return strings.Join(words, ", ")
}

func processWord(pid int) string {
	command := record.CommandOf(pid)
	if command == "" {
		return strconv.Itoa(pid)
	}
	if len([]rune(command)) > 60 {
		command = string([]rune(command)[:57]) + "..."
	}
	return fmt.Sprintf("%d (%s)", pid, command)
}

// ask sends a request to the programs that the call means.
func (c recordPrograms) ask(ctx context.Context, env *Env, word, request string) ([]record.Status, error) {
	pids, err := c.choose(word)
	if err != nil {
		return nil, err
	}
	return askPrograms(ctx, env, pids, word, request)
}

// askPrograms sends a request to processes. It remarks on those that do not answer.
func askPrograms(ctx context.Context, env *Env, pids []int, word, request string) ([]record.Status, error) {
	var out []record.Status
	var silent error
	for _, pid := range pids {
		s, err := record.Ask(ctx, pid, request)
		if err != nil {
			if silent != nil {
				env.tell("record %s: %v", word, silent)
			}
			silent = fmt.Errorf("record %s: %w", word, err)
			continue
		}
		out = append(out, s)
	}
	switch {
	case silent != nil && len(out) == 0:
		return nil, &statusError{status: No, err: silent}
	case silent != nil:
		env.tell("%v", silent)
	}
	return out, nil
}

// writeStatus writes a line or two for each process.
func writeStatus(w io.Writer, said []record.Status) error {
	if len(said) == 0 {
		return writeText(w, "none of your recorded programs runs here\n")
	}
	for _, s := range said {
		line := fmt.Sprintf("%s: %s", processWord(s.Pid), s.Words())
		if _, err := fmt.Fprintln(w, page.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}

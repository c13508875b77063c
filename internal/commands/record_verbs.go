package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"lacuna/internal/record"
	"lacuna/internal/writers"
)

// A recordWord is a word after lacuna record that speaks to programs which are recorded already.
type recordWord struct {
	name  string
	flags string // that it takes
	run   func(c *recordCall, ctx context.Context, env *Env, args []string) error
}

// recordVerb is the verb of that name, or nil.
func recordVerb(name string) *recordWord {
	for _, v := range []recordWord{
		{"start", "pid all duration", (*recordCall).start},
		{"stop", "pid all force no-report step-range", (*recordCall).stop},
		{"status", "pid format", (*recordCall).status},
		{"pack", "force no-report step-range", (*recordCall).pack},
	} {
		if v.name == name {
			return &v
		}
	}
	return nil
}

// runVerb parses what follows the verb, flags in any order, and runs it.
func (c *recordCall) runVerb(ctx context.Context, env *Env, v *recordWord, args []string) error {
	cmd, _, err := env.root.Find([]string{"record"})
	if err != nil {
		return err
	}
	c.flags.SetInterspersed(true)
	if err := c.flags.Parse(args); err != nil {
		return flagError(cmd, err)
	}
	if help := c.flags.Lookup("help"); help != nil && help.Changed {
		return env.help(cmd, nil)
	}
	if err = c.takesOnly(env, v.name, v.flags); err == nil {
		err = env.checkFlags(c.flags.Args())
	}
	if err == nil && v.name != "pack" && len(c.flags.Args()) > 0 {
		err = errCall("record %s: takes no argument, got %q; a process is named with --pid", v.name, c.flags.Arg(0))
	}
	if err != nil {
		return err
	}
	return v.run(c, ctx, env, c.flags.Args())
}

// takesOnly refuses flags that are given and are not among those that this use of record takes: start, --with ncu.
func (c *recordCall) takesOnly(env *Env, use, flags string) (err error) {
	taken := strings.Fields(flags)
	c.flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(taken, f.Name) && !strings.HasPrefix(use, "--"+f.Name+" ") && env.root.PersistentFlags().Lookup(f.Name) == nil && err == nil {
			err = errCall("record %s: takes no --%s; it takes --%s", use, f.Name, strings.Join(taken, " --"))
		}
	})
	return err
}

// programs is the processes that the call means: those of --pid, with --all all, else the only one that there is.
func (c *recordCall) programs(verb string) ([]int, error) {
	if len(*c.pids) > 0 && *c.all {
		return nil, errCall("record %s: --pid and --all say different things; give one", verb)
	}
	if len(*c.pids) > 0 {
		return *c.pids, nil
	}
	found, err := record.Agents()
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", verb, err)
	}
	switch {
	case len(found) == 0:
		return nil, &statusError{status: No, err: fmt.Errorf("record %s: no program that is recorded runs here; start it with lacuna record --armed -- CMD. "+
			"It can be reached once it has called CUDA or NVTX, from within the same container", verb)}
	case len(found) > 1 && !*c.all:
		return nil, errCall("record %s: which program? give --all, or --pid with one of %s", verb, processList(found))
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

// ask sends a request to the programs that the call means. It tells of those that do not answer.
func (c *recordCall) ask(ctx context.Context, env *Env, verb, request string) ([]record.Status, error) {
	pids, err := c.programs(verb)
	if err != nil {
		return nil, err
	}
	var out []record.Status
	var silent error
	for _, pid := range pids {
		s, err := record.Ask(ctx, pid, request)
		if err != nil {
			if silent != nil {
				env.tell("record %s: %v", verb, silent)
			}
			silent = fmt.Errorf("record %s: %w", verb, err)
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

func (c *recordCall) start(ctx context.Context, env *Env, _ []string) error {
	if *c.duration < 0 {
		return errCall("--duration %v: want a time such as 30s", *c.duration)
	}
	request := "start"
	if *c.duration > 0 {
		request += " " + strconv.FormatFloat(c.duration.Seconds(), 'f', -1, 64)
	}
	said, err := c.ask(ctx, env, "start", request)
	if err != nil {
		return err
	}
	began := 0
	for _, s := range said {
		if s.State == record.StateRecording {
			began++
		}
	}
	if err := env.write(func(w io.Writer) error { return writeStatus(w, said) }); err != nil {
		return err
	}
	if began > 0 {
		env.remark("lacuna record stop packs it, and prints the report")
	} else {
		return &statusError{status: No, err: errors.New("record start: no program began to record its GPU work")}
	}
	return nil
}

// stop ends recording and packs what the stopped programs have written, one file for each recording that they belong to.
func (c *recordCall) stop(ctx context.Context, env *Env, _ []string) error {
	if env.output != "" {
		if err := c.checkStop(ctx, env); err != nil {
			return err
		}
	}
	said, err := c.ask(ctx, env, "stop", "stop")
	if err != nil {
		return err
	}
	for _, s := range said {
		if s.Spool == "" {
			env.remark("%s: has recorded nothing yet", processWord(s.Pid))
		}
	}
	dirs, spools := spoolsOf(said)
	if len(dirs) == 0 {
		return &statusError{status: No, err: errors.New("record stop: nothing was recorded; lacuna record start begins")}
	}
	var files []string
	for _, dir := range dirs {
		in := spools[dir]
		if beside := filepath.Join(dir, record.RecorderSpool); exists(beside) {
			in = append(in, beside)
		}
		name := fmt.Sprintf("%s-until-%s%s", strings.TrimSuffix(filepath.Base(dir), ".spools"), time.Now().Format("150405"), record.Extension)
		file, err := c.packInto(ctx, env, in, name)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("record stop: %w: it was removed while it was written; to record again, start the program again", err)
		}
		if err != nil {
			return fmt.Errorf("record stop: %w", err)
		}
		files = append(files, file)
	}
	c.report(ctx, env, files, true)
	return nil
}

// checkStop refuses an -o that cannot be before any program is stopped.
func (c *recordCall) checkStop(ctx context.Context, env *Env) error {
	said, err := c.ask(ctx, env, "stop", "status")
	if err != nil {
		return err
	}
	if dirs, _ := spoolsOf(said); len(dirs) > 1 {
		return errCall("-o %s: these programs belong to %d recordings, each a file; leave -o out, or name one program with --pid", env.output, len(dirs))
	}
	output, err := env.recordingOutput()
	if err == nil {
		err = record.CheckOutput(output, *c.force)
	}
	if err != nil {
		return fmt.Errorf("record stop: %w", err)
	}
	return nil
}

// spoolsOf is the spools that programs write, by their folders, and these in order.
func spoolsOf(said []record.Status) (dirs []string, spools map[string][]string) {
	spools = make(map[string][]string)
	for _, s := range said {
		if s.Spool == "" {
			continue
		}
		path := record.SpoolOf(s)
		dir := filepath.Dir(path)
		if spools[dir] == nil {
			dirs = append(dirs, dir)
		}
		spools[dir] = append(spools[dir], path)
	}
	return dirs, spools
}

// pack packs spools that were left behind, or that are still being written.
func (c *recordCall) pack(ctx context.Context, env *Env, args []string) error {
	if len(args) == 0 {
		return errCall("record pack: want the folder of spools that a recording left, NAME.spools, or the spools themselves")
	}
	stem := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(filepath.Clean(args[0])), ".spools"), ".spool")
	file, err := c.packInto(ctx, env, args, stem+record.Extension)
	if err != nil {
		return fmt.Errorf("record pack: %w", err)
	}
	c.report(ctx, env, []string{file}, false)
	return nil
}

// packInto packs spools into the file of -o, or into one called name here.
func (c *recordCall) packInto(ctx context.Context, env *Env, paths []string, name string) (string, error) {
	output := record.Vacant(name)
	if *c.force {
		output = name
	}
	if env.output != "" {
		var err error
		if output, err = env.recordingOutput(); err != nil {
			return "", err
		}
	}
	packed, err := record.Pack(ctx, paths, output, *c.force)
	if err != nil {
		return "", err
	}
	for _, text := range packed.Contents.Remarks() {
		env.remark("%s", text)
	}
	env.remark("packed in %s (%s)", packed.Path, record.Size(packed.Bytes))
	return packed.Path, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// status says what each recorded program does.
func (c *recordCall) status(ctx context.Context, env *Env, _ []string) error {
	if err := oneOf("--format", *c.format, statusFormats()); err != nil {
		return err
	}
	said := []record.Status{}
	if len(*c.pids) > 0 {
		var err error
		if said, err = c.ask(ctx, env, "status", "status"); err != nil {
			return err
		}
	} else {
		found, err := record.Agents()
		if err != nil {
			return fmt.Errorf("record status: %w", err)
		}
		for _, pid := range found {
			if s, err := record.Ask(ctx, pid, "status"); err == nil { // one that ends meanwhile is none
				said = append(said, s)
			}
		}
	}
	return env.write(func(w io.Writer) error {
		if *c.format == "json" {
			e := json.NewEncoder(w)
			e.SetIndent("", " ")
			return e.Encode(map[string]any{"schema": 1, "processes": said})
		}
		return writeStatus(w, said)
	})
}

// writeStatus writes a line or two for each process.
func writeStatus(w io.Writer, said []record.Status) error {
	if len(said) == 0 {
		return writeText(w, "no recorded program of yours runs here\n")
	}
	for _, s := range said {
		line := fmt.Sprintf("%s: %s", processWord(s.Pid), s.Words())
		if _, err := fmt.Fprintln(w, writers.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}

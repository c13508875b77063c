package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"lacuna/internal/capture/record"
)

var recordStopCommand = &Command{
	Name:  "stop",
	Title: "Stop recording, pack what was recorded, and print the report",
	Doc: `
The program continues. Without --pid or --all, it controls the one recorded
program that runs here. If there are several, it lists them.`,
	Examples: []string{
		"lacuna record stop --pid 4711",
		"lacuna record stop --pid 4711 -o part.lacuna --no-report",
	},
	No: "no program was reached, or nothing was recorded",
	Setup: func(flags *pflag.FlagSet) Run {
		c := &recordStop{programFlags(flags), packFlags(flags)}
		return c.run
	},
}

// A recordStop is the flags of record stop.
type recordStop struct {
	recordPrograms
	pack recordPack
}

// run ends recording and packs what the stopped programs have written, one file for each recording that they belong to.
func (c *recordStop) run(ctx context.Context, env *Env, _ []string) error {
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
		return &statusError{status: No, err: errors.New(
			"record stop: nothing was recorded; start with lacuna record start")}
	}
	var files []string
	for _, dir := range dirs {
		in := spools[dir]
		if beside := filepath.Join(dir, record.RecorderSpool); exists(beside) {
			in = append(in, beside)
		}
		name := fmt.Sprintf("%s-until-%s%s", strings.TrimSuffix(filepath.Base(dir), ".spools"),
			time.Now().Format("150405"), record.Extension)
		file, err := c.pack.into(ctx, env, in, name)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("record stop: %w: it was removed while it was written; to record again, start the "+
				"program again", err)
		}
		if err != nil {
			return fmt.Errorf("record stop: %w", err)
		}
		files = append(files, file)
	}
	c.pack.report(ctx, env, files, true)
	return nil
}

// checkStop refuses an -o that cannot be before any program is stopped.
func (c *recordStop) checkStop(ctx context.Context, env *Env) error {
	said, err := c.ask(ctx, env, "stop", "status")
	if err != nil {
		return err
	}
	if dirs, _ := spoolsOf(said); len(dirs) > 1 {
		return errCall("-o %s: these programs belong to %d recordings, one file each; leave -o out, or name one "+
			"program with --pid", env.output, len(dirs))
	}
	output, err := env.recordingOutput()
	if err == nil {
		err = record.CheckOutput(output, *c.pack.force)
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

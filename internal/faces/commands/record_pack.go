package commands

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/internal/capture/record"
)

var recordPackCommand = &Command{
	Name:  "pack",
	Args:  "NAME.spools|SPOOL...",
	Title: "Pack the spools of a recording into one file",
	Doc: `
NAME.spools is the folder that is left when lacuna itself is killed.`,
	Examples: []string{"lacuna record pack train.spools -o train.lacuna"},
	Setup:    func(flags *pflag.FlagSet) Run { return packFlags(flags).run },
}

// A recordPack is the flags of what packs spools.
type recordPack struct {
	force *bool
	recordView
}

func packFlags(flags *pflag.FlagSet) recordPack {
	return recordPack{forceFlag(flags), viewFlags(flags)}
}

// run packs spools that were left behind, or that are still being written.
func (c recordPack) run(ctx context.Context, env *Env, args []string) error {
	if len(args) == 0 {
		return errCall("record pack: no spools given; name the folder that a recording left, NAME.spools, or " +
			"spools themselves")
	}
	stem := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(filepath.Clean(args[0])), ".spools"), ".spool")
	file, err := c.into(ctx, env, args, stem+record.Extension)
	if err != nil {
		return fmt.Errorf("record pack: %w", err)
	}
	c.report(ctx, env, []string{file}, false)
	return nil
}

// into packs spools into the file of -o, or into one called name here.
func (c recordPack) into(ctx context.Context, env *Env, paths []string, name string) (string, error) {
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

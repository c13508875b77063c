package commands

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"lacuna/internal/capture/instrument"
	"lacuna/internal/faces/pages"
)

// runPrint answers --print: the patch of a script, or what to paste by hand.
func (o recordOther) runPrint(env *Env, c *recordCall, args []string) error {
	kind := *o.print
	if err := oneOf("--print", kind, instrument.Kinds()); err != nil {
		return err
	}
	if c.flags.ArgsLenAtDash() < 0 { // flags may stand after the script too
		c.flags.SetInterspersed(true)
		if err := c.flags.Parse(args); err != nil {
			return errCall("record --print: %w", err)
		}
		args = c.flags.Args()
	}
	if err := c.takesOnly(env, "--print "+kind, printFlags); err != nil {
		return err
	}
	if len(args) == 0 {
		env.remark("no script given: this is what to paste by hand; lacuna record --print %s SCRIPT.py finds the loop",
			kind)
		return env.write(func(w io.Writer) error { return writeText(w, instrument.Generic(kind)) })
	}
	if len(args) > 1 {
		return errCall("record --print %s: want one script and nothing else, got %q too; lacuna record --print %s "+
			"SCRIPT.py", kind, args[1], kind)
	}
	path := args[0]
	before, err := readScript(env, path)
	if err != nil {
		return err
	}
	r, err := instrument.Patch(kind, before, *o.function, *o.line)
	if err != nil {
		return o.cannotPatch(env, kind, path, err)
	}
	word := pages.ShellWord(path)
	how := fmt.Sprintf("to apply it: lacuna record --print %s --line %d %s | patch %s", kind, r.Loop.Line, word, word)
	switch {
	case *o.whole:
		how = "the whole script follows"
	case path == "-":
		how = "to apply it: patch SCRIPT.py"
	}
	env.remark("line %d is the loop: %s (%s%s); %s", r.Loop.Line, r.Loop.Header, r.Loop.Kind, because(r.Loop.Why), how)
	return env.write(func(w io.Writer) error {
		if *o.whole {
			return writeText(w, r.Text)
		}
		return writeText(w, instrument.Diff(path, before, r.Text))
	})
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": it " + why
}

// readScript is a script's text.
func readScript(env *Env, path string) (string, error) {
	const most = 2 << 20 // twice what instrument takes: the rest is its to refuse
	var in io.Reader = env.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", fmt.Errorf("%s: cannot be read: %w", path, errors.Unwrap(err))
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, most))
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return "", fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	return string(text), nil
}

// cannotPatch says why there is no patch, and what to do by hand.
func (o recordOther) cannotPatch(env *Env, kind, path string, err error) error {
	var choice *instrument.ChoiceError
	var hand *instrument.HandError
	switch {
	case errors.As(err, &choice):
		for _, l := range choice.Loops {
			in := ""
			if l.Function != "" {
				in = " in " + l.Function
			}
			env.tell("  --line %d%s: %s (%s%s)", l.Line, in, l.Header, l.Kind, because(l.Why))
		}
		return errCall("%s: %w; choose with --line N", path, err)
	case errors.As(err, &hand):
		if err := env.write(func(w io.Writer) error { return writeText(w, hand.Advice) }); err != nil {
			return err
		}
		return &statusError{NoVerdict, fmt.Errorf("%s: %w; what to paste by hand is printed instead of a patch", path,
			hand)}
	}
	return fmt.Errorf("%s: %w", path, err)
}

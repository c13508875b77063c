// Package commands is the shelf of commands: one file a command. A command parses its call,
// calls what computes, and writes; it decides nothing about profiles itself.
package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
)

// A Command is one word after lacuna. Its help, its page in docs/cli, its man page and the shell
// completions are made from these fields.
type Command struct {
	Name     string
	Aliases  []string // other names that are understood
	Args     string   // what follows it: "INPUT..."
	Title    string   // what it does, in a line
	Doc      string   // paragraphs
	Examples []string
	No       string // when the exit status is 1, if it can be
	// NoVerdict is when the exit status is 3, if it can be.
	NoVerdict string
	// Help, if set, answers --help followed by words.
	Help func(env *Env, words []string) error
	// Complete has the values that a flag takes, for shell completion.
	Complete map[string]func() []string
	// CompleteWith has those whose values depend on the rest of the call.
	CompleteWith map[string]completer
	// Setup declares the command's flags and returns what runs when they are parsed; nil: a subcommand must follow.
	Setup func(flags *pflag.FlagSet) Run
	// Sub has the subcommands in the order of the help, each with flags, help and completions of its own. They are
	// declared with &, var historyAddCommand = &Command{...}: the shelf lists what is declared without it.
	Sub []*Command
}

// doc is the paragraphs of Doc, without the lines' ends around them: the first line may be indented, as in a list.
func (c *Command) doc() string { return strings.Trim(c.Doc, "\n") }

// Run does a command's work.
type Run func(ctx context.Context, env *Env, args []string) error

// The exit statuses of every command.
const (
	Done      = 0 // done
	No        = 1 // the answer is no
	Wrong     = 2 // the call or an input is wrong
	NoVerdict = 3 // no verdict: inconclusive, not comparable
)

// A statusError ends the program with a status; err may be nil when everything is said already.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return fmt.Sprint(e.err) }
func (e *statusError) Unwrap() error { return e.err }

// errCall makes the error of a call that is wrong.
func errCall(format string, args ...any) error { return fmt.Errorf(format, args...) }

// Main runs the program and returns its exit status. args are without the program's name.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// Without this a reader that closes the pipe early (| head) would kill the program before it could tidy up.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once

	env := &Env{In: stdin, Out: stdout, Err: stderr, shelf: All}
	return env.status(ctx, execute(ctx, env, args))
}

// status tells what went wrong, if anything, in one line, and says how the program ends.
func (e *Env) status(ctx context.Context, err error) int {
	var s *statusError
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return Done
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		e.tell("interrupted")
		return Wrong
	case errors.As(err, &s):
		if s.err != nil {
			e.tell("%v", s.err)
		}
		return s.status
	}
	e.tell("%v", err)
	return Wrong
}

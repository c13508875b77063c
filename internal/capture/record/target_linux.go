package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// newProgram is the program as it will be run: in our process group and with our stdin, so that the terminal treats
// both as one job.
func newProgram(o *Options, env []string) *exec.Cmd {
	cmd := exec.Command(o.Args[0], o.Args[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, o.In, o.Out, o.Err
	// what is no file goes through a pipe, which processes that are left behind may hold open
	cmd.WaitDelay = leftBehind
	return cmd
}

// startProgram starts it. An error is a *StartError.
func startProgram(cmd *exec.Cmd) error {
	// A signal that we ignore the program would ignore too; lacuna ignores SIGPIPE, and `yes | head` in the program
	// would not end.
	handled := make(chan os.Signal, 1)
	// what is handled is back to normal after exec; signal.Reset would not undo an Ignore
	signal.Notify(handled, syscall.SIGPIPE)
	err := cmd.Start()
	signal.Stop(handled)
	signal.Ignore(syscall.SIGPIPE)
	if err == nil {
		return nil
	}
	status, why := whyNot(cmd.Args[0], err)
	return &StartError{status, fmt.Errorf("%s: %w", cmd.Args[0], why)}
}

// whyNot says why a program does not start, and the exit status that a shell has for it.
func whyNot(name string, err error) (int, error) {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		if st, serr := os.Stat(name); serr != nil || st.IsDir() {
			return 127, fmt.Errorf("no such program on the PATH; shell built-ins and aliases need a shell: sh -c '%s'",
				name)
		} else if st.Mode()&0o111 == 0 {
			return 127, fmt.Errorf("no such program on the PATH; run a script with its interpreter: %s %s",
				interpreter(name), name)
		}
		return 127, fmt.Errorf("no such program on the PATH; the one here is ./%s", name)
	case errors.Is(err, exec.ErrDot):
		return 126, fmt.Errorf("found in the current folder only; call it ./%s", name)
	case errors.Is(err, fs.ErrNotExist):
		if _, serr := os.Stat(name); serr == nil {
			return 126, errors.New("cannot be run: the interpreter that its first line names, or its loader, is " +
				"not there")
		}
		return 127, errors.New("no such program")
	case errors.Is(err, syscall.ENOEXEC):
		return 126, fmt.Errorf("cannot be run: is not a program for this machine, and has no #! line; run a script "+
			"with its interpreter: sh %s, python %s", name, name)
	case errors.Is(err, fs.ErrPermission):
		if st, serr := os.Stat(name); serr == nil && st.IsDir() {
			return 126, errors.New("is a folder")
		}
		return 126, fmt.Errorf("is not executable; chmod +x %s, or name its interpreter: %s %s", name,
			interpreter(name), name)
	}
	return 126, fmt.Errorf("cannot be run: %w", pathless(err))
}

// mayWrite says why no file can be made in a folder.
func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

// interpreter is what a script of that name is run by.
func interpreter(name string) string {
	if filepath.Ext(name) != ".py" {
		return "sh"
	}
	if _, err := exec.LookPath("python"); err != nil {
		return "python3"
	}
	return "python"
}

// ending is how a program that was waited for has ended: a shell's exit status, and the signal if one ended it.
func ending(state *os.ProcessState) (status int, by string) {
	if state == nil {
		return 1, ""
	}
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal()), w.Signal().String()
	}
	return state.ExitCode(), ""
}

// signals gives those that we act on. A signal that is ignored stays so, as nohup wants it.
func signals() (ch chan os.Signal, stop func()) {
	ch = make(chan os.Signal, 8)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
		syscall.SIGUSR2} {
		if !signal.Ignored(s) {
			signal.Notify(ch, s)
		}
	}
	return ch, func() { signal.Stop(ch) }
}

// fromTerminal says whether a signal that keys make (Ctrl-C, Ctrl-\) has reached the program as well: the terminal
// sends it to the whole foreground process group, and the program is in ours.
func fromTerminal() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		return false // no terminal: it came from kill, to us alone
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == syscall.Getpgrp()
}

//go:build !linux

package cpusample

import (
	"errors"
	"io/fs"
	"os"
)

var errNotLinux = &Error{Why: "sampling needs Linux's perf_event_open", err: errors.ErrUnsupported}

func attach(int, Options) (opened, error) { return opened{}, errNotLinux }

func launch(Options, func() error) (opened, error) { return opened{}, errNotLinux }

func lockThread() func() { return func() {} }

// Check says what sampling can do on this machine.
func Check() Report { return Report{Why: errNotLinux.Why} }

func openRegular(string, bool) (*os.File, fs.FileInfo, error) { return nil, nil, errNotLinux }

func identify(fs.FileInfo) fileKey { return fileKey{} }

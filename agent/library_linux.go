//go:build linux && (amd64 || arm64)

package agent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// name is the library's file name.
const name = "liblacuna.so"

// A kit is what a library can be made of, and what is asked of the machine.
type kit struct {
	sources, prebuilt fs.FS
	getenv            func(string) string
	look              func(string) (string, error) // where a command is
}

// library does what Library says.
func (k kit) library(ctx context.Context, cache string) (Lib, error) {
	hash, listing, err := k.hash()
	if err != nil {
		return Lib{}, err
	}
	var tried []error
	for _, base := range bases(cache) {
		for _, how := range []How{Cached, Prebuilt} {
			lib := Lib{Path: filepath.Join(base, hash, name), How: how, Hash: hash}
			if how == Prebuilt {
				lib.Path = filepath.Join(base, hash+"-prebuilt", name)
				if there, err := k.placePrebuilt(lib.Path, listing); !there {
					if err != nil {
						tried = append(tried, err)
					}
					continue
				}
			} else if !exists(lib.Path) {
				continue
			}
			if err := loads(ctx, k.look, lib.Path); err != nil {
				tried = append(tried, err)
				continue
			}
			return lib, nil
		}
	}
	lib, err := k.compile(ctx, cache, hash)
	if err != nil {
		return Lib{}, errors.Join(append([]error{err}, tried...)...)
	}
	return lib, nil
}

// hash names the sources for this kind of machine, and lists them as sha256sum does.
func (k kit) hash() (hash, listing string, err error) {
	names, err := fs.Glob(k.sources, "*") // sorted
	if err != nil {
		return "", "", err
	}
	var list strings.Builder
	for _, name := range names {
		text, err := fs.ReadFile(k.sources, name)
		if err != nil {
			return "", "", err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(text), name)
	}
	sum := sha256.Sum256([]byte(runtime.GOARCH + "\n" + list.String()))
	return hex.EncodeToString(sum[:12]), list.String(), nil
}

// bases is the folders to look in and to write to, best first.
func bases(cache string) (all []string) {
	if cache != "" {
		all = append(all, cache)
	} else if user, err := os.UserCacheDir(); err == nil {
		all = append(all, filepath.Join(user, "lacuna", "agent"))
	}
	temp := filepath.Join(os.TempDir(), fmt.Sprintf("lacuna-agent-%d", os.Getuid()))
	if os.Mkdir(temp, 0o700) == nil || ours(temp) {
		all = append(all, temp)
	}
	for i, base := range all {
		if abs, err := filepath.Abs(base); err == nil {
			all[i] = abs
		}
	}
	return all
}

// ours says whether nobody but this user can have put something into a folder that lies where everybody writes.
func ours(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// placePrebuilt puts the carried library where it can be loaded from. False: there is none of these sources, or no
// place.
func (k kit) placePrebuilt(path, listing string) (bool, error) {
	stem := "liblacuna-linux-" + runtime.GOARCH
	of, err := fs.ReadFile(k.prebuilt, stem+".sources")
	if err != nil || string(of) != listing {
		return false, nil // none, or of other sources: the build did not run prebuilt.sh
	}
	data, err := fs.ReadFile(k.prebuilt, stem+".so")
	if err != nil {
		return false, nil
	}
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, data) {
		return true, nil
	}
	if err := place(path, func(temp string) error { return os.WriteFile(temp, data, 0o755) }); err != nil {
		return false, err
	}
	return true, nil
}

// place writes a file so that others see all of it or nothing: make writes it under another name.
func place(path string, make func(temp string) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, name+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	if err := errors.Join(temp.Close(), make(temp.Name()), os.Chmod(temp.Name(), 0o755)); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

// compile makes the library with the machine's compiler, in the first folder that holds one that loads.
func (k kit) compile(ctx context.Context, cache, hash string) (Lib, error) {
	cc := k.compiler()
	if cc == "" {
		return Lib{}, errors.New("the capture agent: this build carries none for " + runtime.GOARCH +
			" that loads here, and there is no C compiler " +
			"(looked for $CC, cc, gcc, clang); install one (apt-get install gcc, or dnf install gcc) or use a " +
			"release of lacuna, which carries the agent")
	}
	work, err := os.MkdirTemp("", "lacuna-build-")
	if err != nil {
		return Lib{}, fmt.Errorf("the capture agent: cannot be compiled: %w; set TMPDIR to a folder that can be "+
			"written", err)
	}
	defer os.RemoveAll(work)
	out := filepath.Join(work, name)
	if err := k.build(ctx, cc, work, out); err != nil {
		return Lib{}, err
	}
	var tried []error
	for _, base := range bases(cache) {
		path := filepath.Join(base, hash, name)
		err := place(path, func(temp string) error {
			data, err := os.ReadFile(out)
			if err == nil {
				err = os.WriteFile(temp, data, 0o755)
			}
			return err
		})
		if err == nil {
			err = loads(ctx, k.look, path)
		}
		if err == nil {
			return Lib{Path: path, How: Compiled, Compiler: cc, Hash: hash}, nil
		}
		tried = append(tried, err)
	}
	return Lib{}, fmt.Errorf("the capture agent: compiled with %s, but no folder to load it from: %w; "+
		"set XDG_CACHE_HOME or TMPDIR to a folder that can be written and from which libraries may be loaded (not "+
		"mounted noexec)", cc, errors.Join(tried...))
}

// compiler is the first of $CC, cc, gcc and clang that is there, or "". CC may hold options, as in "ccache gcc".
func (k kit) compiler() string {
	for _, cc := range []string{k.getenv("CC"), "cc", "gcc", "clang"} {
		if words := strings.Fields(cc); len(words) > 0 {
			if _, err := k.look(words[0]); err == nil {
				return cc
			}
		}
	}
	return ""
}

// build runs build.sh on the sources, in the folder work.
func (k kit) build(ctx context.Context, cc, work, out string) error {
	if err := os.CopyFS(filepath.Join(work, "src"), k.sources); err != nil {
		return fmt.Errorf("the capture agent: cannot be compiled: %w", err)
	}
	cmd := exec.CommandContext(ctx, "sh", "build.sh", out, "-Wno-error") // a newer compiler warns of more
	cmd.Dir = filepath.Join(work, "src")
	cmd.Env = append(quiet(os.Environ()), "CC="+cc, "LC_ALL=C")
	said, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("the capture agent: %s cannot compile it (%w): %s; try another compiler with CC=gcc, "+
			"version 8 or later, with the C library's headers (apt-get install gcc libc6-dev)",
			cc, err, excerpt(said))
	}
	return nil
}

// excerpt is the first lines of what a compiler said.
func excerpt(said []byte) string {
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	return strings.Join(lines[:min(len(lines), 5)], "\n")
}

// quiet is an environment without what would load a library, ours or another's, into what we run.
func quiet(env []string) (out []string) {
	for _, v := range env {
		if name, _, _ := strings.Cut(v, "="); name != "LD_PRELOAD" && name != "CC" && name != "LC_ALL" &&
			!strings.HasPrefix(name, "LACUNA_") {
			out = append(out, v)
		}
	}
	return out
}

// loads asks the dynamic loader: a small program is run with the library preloaded and all its symbols bound. nil
// where there is no such program: who cannot be asked is not in the way.
func loads(ctx context.Context, look func(string) (string, error), path string) error {
	for _, command := range [][]string{{"true"}, {"/bin/true"}, {"/usr/bin/true"}, {"sh", "-c", ":"},
		{"/bin/sh", "-c", ":"}, {"python3", "-c", ""}} {
		program, err := look(command[0])
		if err != nil || !dynamic(program) {
			continue
		}
		cmd := exec.CommandContext(ctx, program, command[1:]...)
		cmd.Dir = filepath.Dir(path)
		// a space or colon in the path would part it
		cmd.Env = append(quiet(os.Environ()), "LD_PRELOAD=./"+filepath.Base(path), "LD_BIND_NOW=1", "LC_ALL=C")
		said, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || bytes.Contains(said, []byte(filepath.Base(path))) {
			return fmt.Errorf("%s: does not load here: %s", path, cmp.Or(excerpt(said), fmt.Sprint(err)))
		}
		return nil
	}
	return nil
}

// dynamic says whether the loader has a part in running a program of this machine's kind.
func dynamic(program string) bool {
	f, err := elf.Open(program)
	if err != nil {
		return false
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return true
		}
	}
	return false
}

//go:build linux && (amd64 || arm64)

package agent

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// small is the sources of a library that compiles in no time, and the script that makes it.
func small(code string) fstest.MapFS {
	return fstest.MapFS{
		"small.c":  {Data: []byte(code)},
		"build.sh": {Data: []byte("out=$1; shift; exec $CC -shared -fPIC -Wall -Werror \"$@\" -o \"$out\" small.c\n")},
	}
}

func needCompiler(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: what compiles the agent is not tested")
	}
}

func kitOf(sources fs.FS) kit {
	return kit{sources: sources, prebuilt: fstest.MapFS{}, getenv: func(string) string { return "" },
		look: exec.LookPath}
}

// temporary gives a test a folder for temporary files of its own, where programs may be run from.
func temporary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	return dir
}

func TestLibraryIsCompiledOnce(t *testing.T) {
	needCompiler(t)
	temporary(t)
	cache := filepath.Join(t.TempDir(), "a folder: with a space")
	k := kitOf(small("int one(void) { return 1; }"))
	first, err := k.library(context.Background(), cache)
	if err != nil {
		t.Fatal(err)
	}
	if first.How != Compiled || first.Compiler != "cc" || !strings.HasPrefix(first.Path, cache) ||
		!filepath.IsAbs(first.Path) {
		t.Errorf("first: %+v", first)
	}
	k.look = func(name string) (string, error) {
		if name == "cc" || name == "gcc" || name == "clang" {
			return "", exec.ErrNotFound
		}
		return exec.LookPath(name)
	}
	second, err := k.library(context.Background(), cache)
	if err != nil || second.How != Cached || second.Path != first.Path || second.Hash != first.Hash {
		t.Errorf("second: %+v, %v; want the first one from the cache, without a compiler", second, err)
	}
	if _, err := k.library(context.Background(), t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "apt-get install gcc") {
		t.Errorf("no compiler and nothing in the cache: %v", err)
	}
	k = kitOf(small("int one(void) { return 2; }"))
	if other, err := k.library(context.Background(), cache); err != nil || other.How != Compiled ||
		other.Hash == first.Hash {
		t.Errorf("other sources: %+v, %v", other, err)
	}
}

// A library in the cache that does not load here, of another machine that shares the home folder or damaged, is made
// again.
func TestLibraryThatDoesNotLoad(t *testing.T) {
	needCompiler(t)
	temporary(t)
	cache := t.TempDir()
	k := kitOf(small("int one(void) { return 1; }"))
	lib, err := k.library(context.Background(), cache)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(lib.Path)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{"empty": {}, "cut": data[:len(data)/3],
		"other machine": otherMachine(data)} {
		if err := os.WriteFile(lib.Path, bad, 0o755); err != nil {
			t.Fatal(err)
		}
		again, err := k.library(context.Background(), cache)
		if err != nil || again.How != Compiled || again.Path != lib.Path {
			t.Errorf("%s: %+v, %v; want it compiled again in its place", name, again, err)
		}
	}
	k = kitOf(small("extern int nowhere(void); int one(void) { return nowhere(); }"))
	if lib, err := k.library(context.Background(), cache); err == nil ||
		!strings.Contains(err.Error(), "does not load here") || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a symbol that is nowhere: %+v, %v", lib, err)
	}
}

// otherMachine is a library for a machine that is not this one.
func otherMachine(data []byte) []byte {
	data = slices.Clone(data)
	data[18] = byte(elf.EM_S390)
	return data
}

func TestLibraryWhereTheCacheCannotBeWritten(t *testing.T) {
	needCompiler(t)
	temp := temporary(t)
	cache := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(cache, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	k := kitOf(small("int one(void) { return 1; }"))
	lib, err := k.library(context.Background(), cache)
	if err != nil || !strings.HasPrefix(lib.Path, temp) {
		t.Fatalf("%+v, %v; want it in %s", lib, err, temp)
	}
	if again, err := k.library(context.Background(), cache); err != nil || again.How != Cached ||
		again.Path != lib.Path {
		t.Errorf("again: %+v, %v; want what is there", again, err)
	}
	// A folder of that name that others can write to is not ours to load from.
	if err := os.Chmod(filepath.Dir(filepath.Dir(lib.Path)), 0o777); err != nil {
		t.Fatal(err)
	}
	if lib, err := k.library(context.Background(), cache); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("a folder that others can write to: %+v, %v", lib, err)
	}
}

func TestLibraryPrebuilt(t *testing.T) {
	needCompiler(t)
	temporary(t)
	sources := small("int one(void) { return 1; }")
	made, err := kitOf(sources).library(context.Background(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(made.Path)
	if err != nil {
		t.Fatal(err)
	}
	listing := fmt.Sprintf("%x  build.sh\n%x  small.c\n", sha256.Sum256(sources["build.sh"].Data),
		sha256.Sum256(sources["small.c"].Data))
	stem := "liblacuna-linux-" + runtime.GOARCH
	for _, test := range []struct {
		name, listing string
		data          []byte
		want          How
	}{
		{"of these sources", listing, data, Prebuilt},
		{"of other sources", strings.ToUpper(listing), data, Compiled},
		{"of another machine", listing, otherMachine(data), Compiled},
	} {
		k := kitOf(sources)
		k.prebuilt = fstest.MapFS{stem + ".so": {Data: test.data}, stem + ".sources": {Data: []byte(test.listing)}}
		cache := t.TempDir()
		lib, err := k.library(context.Background(), cache)
		if err != nil || lib.How != test.want {
			t.Errorf("%s: %+v, %v; want it %s", test.name, lib, err, test.want)
		}
		if lib, err = k.library(context.Background(), cache); err != nil ||
			(test.want == Compiled) != (lib.How == Cached) {
			t.Errorf("%s, again: %+v, %v", test.name, lib, err)
		}
	}
}

func TestLibraryAtOnce(t *testing.T) {
	needCompiler(t)
	temporary(t)
	cache := t.TempDir()
	k := kitOf(small("int one(void) { return 1; }"))
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if _, err := k.library(context.Background(), cache); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	left, err := filepath.Glob(filepath.Join(cache, "*", "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("left in the cache: %q, %v; want the library alone", left, err)
	}
}

func TestCompiler(t *testing.T) {
	has := func(names ...string) func(string) (string, error) {
		return func(name string) (string, error) {
			if slices.Contains(names, name) {
				return "/bin/" + name, nil
			}
			return "", exec.ErrNotFound
		}
	}
	for _, test := range []struct {
		cc   string
		look func(string) (string, error)
		want string
	}{
		{"", has("gcc", "clang"), "gcc"},
		{"", has("clang"), "clang"},
		{"clang", has("cc", "clang"), "clang"},
		{"ccache gcc", has("cc", "ccache"), "ccache gcc"},
		{"gone", has("cc"), "cc"},
		{" ", has(), ""},
	} {
		k := kit{getenv: func(string) string { return test.cc }, look: test.look}
		if got := k.compiler(); got != test.want {
			t.Errorf("CC=%q: %q, want %q", test.cc, got, test.want)
		}
	}
}

func TestCompilerThatFails(t *testing.T) {
	needCompiler(t)
	temporary(t)
	if _, err := kitOf(small("this is no C")).library(context.Background(), t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "small.c:1") {
		t.Errorf("%v; want what the compiler said", err)
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := kitOf(small("")).library(done, t.TempDir()); err == nil {
		t.Error("compiled after its end was asked for")
	}
}

// The real sources: what CUDA and NVTX look for is there, and nothing else.
func TestLibrary(t *testing.T) {
	needCompiler(t)
	temporary(t)
	lib, err := Library(context.Background(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(lib.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var exported []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			exported = append(exported, s.Name)
		}
	}
	slices.Sort(exported)
	want := []string{"InitializeInjection", "InitializeInjectionNvtx", "InitializeInjectionNvtx2",
		"InitializeInjectionNvtxExtension"}
	if !slices.Equal(exported, want) {
		t.Errorf("exported: %q, want %q", exported, want)
	}
	needed, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range needed {
		if !slices.ContainsFunc([]string{"libc.so", "libdl.so", "libpthread.so", "ld-linux", "libm.so", "librt.so"},
			func(p string) bool { return strings.HasPrefix(name, p) }) {
			t.Errorf("needs %s", name)
		}
	}
}

package cpusample

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// A symbols names addresses. It is used by one goroutine.
type symbols struct {
	proc    string // where /proc is
	paths   map[pathKey]*module
	files   map[fileKey]*module
	open    []*os.File
	jit     map[uint32]*perfMap
	vdso    *module
	vdsoHas bool
	read    func(file io.ReaderAt, bytes int64) (*module, error)
}

// Bounds of what is remembered. Modules are kept open, each with its functions; the others are read again when there
// are more: of programs that start thousands of processes.
const (
	maxModules = 1 << 12
	maxPaths   = 1 << 16
	maxJIT     = 1 << 8
)

// A pathKey is a path as a process sees it: containers have their own.
type pathKey struct {
	pid   uint32
	inode uint64
	path  string
}

// A fileKey is a file, however it is called.
type fileKey struct {
	device, inode uint64
	size, timeNs  int64
}

func newSymbols(proc string) *symbols {
	return &symbols{proc: proc, paths: map[pathKey]*module{}, files: map[fileKey]*module{}, jit: map[uint32]*perfMap{},
		read: readELF}
}

// A named is a function as it is shown.
type named struct{ symbol, module string }

// name names the function at an address of a mapping. found is false where a name may still come (late), or where
// there is none: then the name is the module's and the distance into it.
func (s *symbols) name(sp *space, m *mapping, address uint64) (n named, found, late bool) {
	if !m.isFile() && m.path != vdsoModule {
		for up := sp; up != nil; up = up.parent {
			if name := s.perfMap(up.pid).name(address); name != "" {
				symbol, module := jitName(name)
				return named{symbol, module}, true, false
			}
		}
		return named{fmt.Sprintf("%s+%#x", jitModule, address-m.start), jitModule}, false, true
	}
	file := strings.TrimSuffix(m.path, deletedMark)
	at := address - m.start + m.offset
	if module := s.module(sp.pid, m); module != nil {
		if inFile, ok := module.address(at); ok {
			at = inFile
			if name := module.name(at); name != "" {
				return named{plain(name), file}, true, false
			}
			at = module.begin(at)
		}
	}
	return named{fmt.Sprintf("%s+%#x", path.Base(file), at), file}, false, false
}

// plain is a symbol without mangling and parameters, as perf shows it.
func plain(symbol string) string {
	const most = 14 // a power of 2: 16 KiB
	return demangle.Filter(symbol, demangle.NoParams, demangle.NoEnclosingParams, demangle.MaxLength(most))
}

// module is the file of a mapping; nil: it cannot be read, or is not what was mapped.
func (s *symbols) module(pid uint32, m *mapping) *module {
	if m.path == vdsoModule {
		return s.ofVDSO()
	}
	key := pathKey{pid, m.inode, m.path}
	if known, ok := s.paths[key]; ok {
		return known
	}
	name, deleted := strings.CutSuffix(m.path, deletedMark)
	var found *module
	for _, at := range []string{s.proc + "/" + strconv.Itoa(int(pid)) + "/root" + name, name} {
		if module, ok := s.load(at, m.inode, deleted); ok {
			found = module
			break
		}
	}
	if len(s.paths) >= maxPaths {
		clear(s.paths)
	}
	s.paths[key] = found
	return found
}

// load opens a file and reads what functions it has. ok: it is there, and the file that was mapped.
func (s *symbols) load(name string, inode uint64, deleted bool) (m *module, ok bool) {
	f, info, err := openRegular(name, true)
	if err != nil {
		return nil, false
	}
	key := identify(info)
	// Another file may have come in its place. Layered file systems of containers show another inode than the
	// mapping, so that inodes are compared only where the kernel says that the file is gone.
	if deleted && key.inode != inode {
		_ = f.Close()
		return nil, false
	}
	if known, there := s.files[key]; there {
		_ = f.Close()
		return known, true
	}
	if len(s.files) < maxModules {
		m, err = s.read(f, info.Size())
	}
	if m == nil || err != nil {
		_ = f.Close()
	} else {
		s.open = append(s.open, f)
	}
	s.files[key] = m
	return m, true
}

// perfMap is the names that a process gives to its code.
func (s *symbols) perfMap(pid uint32) *perfMap {
	m := s.jit[pid]
	if m == nil {
		if len(s.jit) >= maxJIT {
			clear(s.jit)
		}
		m = newPerfMap(s.proc, pid)
		m.update()
		s.jit[pid] = m
	}
	return m
}

// update reads what processes have added to their names.
func (s *symbols) update() {
	for _, m := range s.jit {
		m.update()
	}
}

// ofVDSO is the code that the kernel maps into every process: ours has the same. nil: it cannot be read.
func (s *symbols) ofVDSO() *module {
	if !s.vdsoHas {
		s.vdsoHas = true
		if image := ownVDSO(); image != nil {
			s.vdso, _ = s.read(bytes.NewReader(image), int64(len(image)))
		}
	}
	return s.vdso
}

// ownVDSO is this process's vdso, from its memory; nil: there is none.
func ownVDSO() []byte {
	own := newSpace(uint32(os.Getpid()))
	own.readMaps("/proc")
	for _, m := range own.maps {
		const most = 1 << 20 // it has 8 or 16 KiB
		if m.path != vdsoModule || m.end-m.start > most {
			continue
		}
		f, err := os.Open("/proc/self/mem")
		if err != nil {
			return nil
		}
		defer f.Close()
		image := make([]byte, m.end-m.start)
		if _, err := io.ReadFull(io.NewSectionReader(f, int64(m.start), int64(len(image))), image); err != nil {
			return nil
		}
		return image
	}
	return nil
}

func (s *symbols) close() {
	for _, f := range s.open {
		_ = f.Close()
	}
	s.open = nil
}

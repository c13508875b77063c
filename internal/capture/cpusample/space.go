package cpusample

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// A mapping is executable memory of a process. It does not change once made.
type mapping struct {
	start, end uint64 // addresses, end exclusive
	offset     uint64 // of start, in the file
	inode      uint64
	path       string // as the process sees it; "//anon", "[vdso]" and the like where it is no file
}

// maxMappings bounds the mappings that are followed in a process. Linux has 65,530 at once (vm.max_map_count); those
// that were unmapped are not told of, and stay until something new lies over them.
const maxMappings = 1 << 17

// A space is the address space of a process from one exec to the next.
type space struct {
	pid        uint32
	parent     *space     // of a fork without exec: has the same memory
	maps       []*mapping // sorted by start, not overlapping; shared with forks, so copied before it is changed
	shared     bool
	version    uint32 // of maps
	ended      bool
	stacks     map[uint64]*stack // by a hash of their addresses: frames.go
	stackBytes int64
}

func newSpace(pid uint32) *space { return &space{pid: pid, stacks: map[uint64]*stack{}} }

// fork is the same memory in another process.
func (s *space) fork(pid uint32) *space {
	s.shared = true
	child := newSpace(pid)
	child.parent, child.maps, child.shared = s, s.maps, true
	return child
}

// add puts a mapping over what was there. It says whether there was room.
func (s *space) add(m *mapping) bool {
	if m.end <= m.start || len(s.maps) >= maxMappings {
		return m.end <= m.start
	}
	s.version++
	if s.shared {
		s.maps, s.shared = slices.Clone(s.maps), false
	}
	from := sort.Search(len(s.maps), func(i int) bool { return s.maps[i].end > m.start })
	to := from
	put := []*mapping{m}
	for ; to < len(s.maps) && s.maps[to].start < m.end; to++ {
		if old := s.maps[to]; old.start < m.start {
			left := *old
			left.end = m.start
			put = []*mapping{&left, m}
		}
		if old := s.maps[to]; old.end > m.end {
			right := *old
			right.offset += m.end - right.start
			right.start = m.end
			put = append(put, &right)
		}
	}
	s.maps = slices.Replace(s.maps, from, to, put...)
	return true
}

// at is the mapping that an address lies in, or nil.
func (s *space) at(address uint64) *mapping {
	i := sort.Search(len(s.maps), func(i int) bool { return s.maps[i].end > address })
	if i < len(s.maps) && s.maps[i].start <= address {
		return s.maps[i]
	}
	return nil
}

// readMaps adds the executable mappings that /proc/PID/maps has now.
func (s *space) readMaps(proc string) {
	f, err := os.Open(filepath.Join(proc, strconv.Itoa(int(s.pid)), "maps"))
	if err != nil {
		return // it has ended
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if m := parseMap(lines.Text()); m != nil {
			s.add(m)
		}
	}
}

// parseMap reads a line "START-END r-xp OFFSET MAJOR:MINOR INODE    PATH", or nil where nothing can be executed.
func parseMap(line string) *mapping {
	rest := line
	var field [5]string
	for i := range field {
		field[i], rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
	}
	from, to, _ := strings.Cut(field[0], "-")
	start, err1 := strconv.ParseUint(from, 16, 64)
	end, err2 := strconv.ParseUint(to, 16, 64)
	offset, err3 := strconv.ParseUint(field[2], 16, 64)
	inode, err4 := strconv.ParseUint(field[4], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || len(field[1]) < 4 || field[1][2] != 'x' {
		return nil
	}
	path := strings.TrimLeft(rest, " ")
	if path == "" {
		path = "//anon" // as the kernel calls it in its records
	}
	return &mapping{start: start, end: end, offset: offset, inode: inode, path: path}
}

// isFile says whether a mapping's code lies in a file, where its symbols may be too.
func (m *mapping) isFile() bool {
	return strings.HasPrefix(m.path, "/") && !strings.HasPrefix(m.path, "//") &&
		!strings.HasPrefix(m.path, "/memfd:") &&
		!strings.HasPrefix(m.path, "/dev/") && !strings.HasPrefix(m.path, "/SYSV") &&
		!strings.HasPrefix(m.path, "/anon_hugepage")
}

// deletedMark is what the kernel adds to the path of a file that is gone, or has been replaced.
const deletedMark = " (deleted)"

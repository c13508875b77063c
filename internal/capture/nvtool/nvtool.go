// Package nvtool finds NVIDIA's profilers, nsys and ncu, on a machine.
package nvtool

import (
	"cmp"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Machine is where programs are looked for. Paths are absolute, from the root of its file system, with slashes.
type Machine struct {
	Root fs.FS  // links are followed where it reads them (fs.ReadLinkFS)
	Path string // directories as in $PATH; those that are not absolute are passed over
}

// Places is where a tool lies when it is not on the PATH, as patterns of paths, most wanted first.
func Places(name string) []string {
	if name == "ncu" {
		return []string{"/usr/local/cuda/bin/ncu", "/usr/local/cuda-*/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu",
			"/opt/nvidia/nsight-compute/*/target/*/ncu"}
	}
	return []string{"/opt/nvidia/nsight-systems/*/bin/nsys", "/opt/nvidia/nsight-systems/*/target-linux-*/nsys",
		"/opt/nvidia/nsight-systems-cli/*/bin/nsys",
		"/opt/nvidia/nsight-systems-cli/*/target-linux-*/nsys", "/usr/local/cuda/bin/nsys",
		"/usr/local/cuda-*/bin/nsys", "/opt/nvidia/nsight-compute/*/host/target-linux-*/nsys"}
}

// Find is every installation of nsys or ncu, the one to use first: what is on the PATH, or "", and the others by
// place and then by version, the highest first. An installation that is known by several paths is there once.
func (m Machine) Find(name string) (onPath string, others []string) {
	seen := make(map[string]bool)
	if onPath = m.LookPath(name); onPath != "" {
		seen[installation(m.Real(onPath))] = true
	}
	for _, place := range Places(name) {
		for _, at := range m.Programs(place) {
			if in := installation(m.Real(at)); !seen[in] {
				seen[in] = true
				others = append(others, at)
			}
		}
	}
	return onPath, others
}

// installation is the folder of a path that has a version in its name, to which all of the path belongs; or else the
// path.
func installation(at string) string {
	for i := 1; i < len(at); i++ {
		if at[i] == '/' && versionInPath.MatchString(path.Base(at[:i])) {
			return at[:i]
		}
	}
	return at
}

var (
	versionInPath = regexp.MustCompile(`\d+\.\d`)
	digits        = regexp.MustCompile(`\d+`)
	versionLine   = regexp.MustCompile(`(?i)\bversion (\d+(?:\.\d+)+)`)
)

// Version is the version in what a tool prints for --version: "NVIDIA Nsight Systems version
// 2025.3.2.474-253236389321v0", "Version 2025.3.1.0 (build 36398880) (public-release)"; "": there is none.
func Version(said string) string {
	if found := versionLine.FindStringSubmatch(said); found != nil {
		return found[1]
	}
	return ""
}

// LookPath finds a program as a shell does; "": there is none.
func (m Machine) LookPath(program string) string {
	if path.IsAbs(program) {
		if m.Runs(program) {
			return program
		}
		return ""
	}
	for dir := range strings.SplitSeq(m.Path, ":") {
		if at := path.Join(dir, program); path.IsAbs(at) && m.Runs(at) {
			return at
		}
	}
	return ""
}

// Programs is the programs that a pattern matches, the highest version first.
func (m Machine) Programs(pattern string) (out []string) {
	found, _ := fs.Glob(m.Root, InFS(pattern)) // the only error is a pattern that is none
	for _, f := range found {
		if m.Runs("/" + f) {
			out = append(out, "/"+f)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(slices.Compare(numbersIn(b), numbersIn(a)), cmp.Compare(b, a))
	})
	return out
}

// numbersIn is the numbers of a path in order: versions compare by them and not as text (2025.10 is after 2025.3).
func numbersIn(at string) (out []int) {
	for _, d := range digits.FindAllString(at, -1) {
		if n, err := strconv.Atoi(d); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// Runs says whether a path is a program.
func (m Machine) Runs(name string) bool {
	info, err := fs.Stat(m.Root, InFS(name))
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// InFS is an absolute path as io/fs has it.
func InFS(name string) string { return cmp.Or(strings.TrimPrefix(path.Clean("/"+name), "/"), ".") }

// Real is a path without links in it: two names of one file are one.
func (m Machine) Real(name string) string {
	links, ok := m.Root.(fs.ReadLinkFS)
	if !ok {
		return name
	}
	const mostLinks = 40 // as the kernel has it
	done, rest := "/", strings.TrimPrefix(path.Clean(name), "/")
	for followed := 0; rest != ""; {
		part, more, _ := strings.Cut(rest, "/")
		at := path.Join(done, part)
		to, err := links.ReadLink(InFS(at))
		switch followed++; {
		case err != nil || followed > mostLinks+strings.Count(name, "/"):
			done, rest = at, more
		case path.IsAbs(to):
			done, rest = "/", strings.TrimPrefix(path.Join(to, more), "/")
		default:
			done, rest = "/", strings.TrimPrefix(path.Join(done, to, more), "/")
		}
	}
	return done
}

// Importer is the QdstrmImporter that belongs to an nsys, "" if there is none. A complete installation finds its
// own; inside Nsight Compute it lies where nsys does not look, and Debian splits the two over /usr/lib.
func (m Machine) Importer(nsys string) string {
	host := path.Dir(path.Dir(m.Real(nsys))) // of …/target-linux-x64/nsys or …/bin/nsys
	for _, pattern := range []string{
		path.Join(host, "linux-desktop-*", "QdstrmImporter"), path.Join(host, "host-linux-*", "QdstrmImporter"),
		"/usr/lib/nsight-systems/host-linux-*/QdstrmImporter",
	} {
		if found := m.Programs(pattern); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// MissingLibrary is the shared library that the loader could not find; "": that is not what was said.
func MissingLibrary(said string) string {
	before, _, found := strings.Cut(said, ": cannot open shared object file")
	if !found {
		return ""
	}
	return before[strings.LastIndexAny(before, " \n")+1:]
}

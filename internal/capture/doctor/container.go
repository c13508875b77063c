package doctor

import "strings"

// A sandbox is what stands between a program and the machine.
type sandbox struct {
	kind    string // "docker", "podman", "kubernetes", "a container"; "": none is seen
	gVisor  bool   // the kernel is gVisor's
	wsl     bool   // Windows' subsystem for Linux
	seccomp bool   // system calls are filtered
}

// sandbox looks for the marks that containers leave.
func (x *exam) sandbox() (s sandbox) {
	version, cgroup := x.read("/proc/version"), x.read("/proc/1/cgroup")
	switch {
	case x.Env("KUBERNETES_SERVICE_HOST") != "" || strings.Contains(cgroup, "kubepods"):
		s.kind = "kubernetes"
	case x.exists("/run/.containerenv"):
		s.kind = "podman"
	case x.exists("/.dockerenv") || strings.Contains(cgroup, "/docker"):
		s.kind = "docker"
	case x.exists("/.singularity.d"):
		s.kind = "apptainer"
	case strings.Contains(cgroup, "/lxc") || x.Env("container") != "":
		s.kind = "a container"
	}
	// gVisor says of itself that it is Linux 4.4.0, built at one moment of 2016, whatever runs below it
	s.gVisor = strings.Contains(version, "gVisor") || strings.Contains(version, "4.4.0") &&
		strings.Contains(version, "Sun Jan 10 15:06:54 PST 2016")
	s.wsl = strings.Contains(strings.ToLower(version), "microsoft")
	for line := range strings.Lines(x.read("/proc/self/status")) {
		if mode, ok := strings.CutPrefix(line, "Seccomp:"); ok {
			s.seccomp = strings.TrimSpace(mode) == "2"
		}
	}
	return s
}

// words names a sandbox.
func (s sandbox) words() string {
	var out []string
	if s.kind != "" {
		out = append(out, s.kind)
	}
	if s.gVisor {
		out = append(out, "gVisor")
	}
	if s.wsl {
		out = append(out, "WSL")
	}
	if s.seccomp {
		out = append(out, "system calls are filtered (seccomp)")
	}
	return strings.Join(out, ", ")
}

// allow is a container's option and what gives the same elsewhere: it must be started anew with it.
func (s sandbox) allow(docker, kubernetes string) (fix string, commands []string) {
	switch s.kind {
	case "":
		return "", nil
	case "kubernetes":
		return "in the pod's container: " + kubernetes, nil
	case "podman":
		return "start the container with", []string{"podman run " + docker + " ..."}
	}
	return "start the container with", []string{"docker run " + docker + " ..."}
}

var container = Check{ID: "container", Title: "Container", For: []Purpose{Record, Sample}, Run: func(x *exam) []Result {
	words := x.inside.words()
	if words == "" {
		return fine("none is seen")
	}
	r := Result{State: OK, Text: words}
	if x.inside.gVisor {
		r.State = Limited
		r.Cost = "the CPU is not sampled and host processes are not visible; GPU timelines are recorded"
		r.Fix = "use the standard runtime (runc) where the CPU matters"
		r.Limits = []Purpose{Sample}
	}
	if x.inside.wsl {
		r.State = Limited
		r.Cost = "the GPU's records use another clock than the system; lacuna aligns them and reports the error"
		r.Limits = []Purpose{Record}
	}
	return []Result{r}
}}

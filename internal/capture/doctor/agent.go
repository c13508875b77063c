package doctor

import "strings"

var agentLibrary = Check{ID: "agent", Title: "Recording library", For: []Purpose{Record}, Run: func(x *exam) []Result {
	how, err := x.Agent(x.ctx)
	if err == nil {
		return fine(how)
	}
	r := Result{State: Missing, Text: strings.Join(strings.Fields(err.Error()), " "),
		Cost: "lacuna record has nothing to load into the program", Stops: []Purpose{Record},
		Fix: "install a C compiler, or use a released lacuna, which carries the library"}
	for _, install := range [][2]string{{"apt-get", "apt-get install -y gcc libc6-dev"}, {"dnf", "dnf install -y gcc"},
		{"apk", "apk add gcc musl-dev"}, {"zypper", "zypper install -y gcc"}} {
		if x.lookPath(install[0]) != "" {
			r.Commands = []string{x.sudo() + install[1]}
			break
		}
	}
	return []Result{r}
}}

// sudo begins a command that only root may run.
func (x *exam) sudo() string {
	for line := range strings.Lines(x.read("/proc/self/status")) {
		if ids, ok := strings.CutPrefix(line, "Uid:"); ok && len(strings.Fields(ids)) > 1 &&
			strings.Fields(ids)[1] == "0" {
			return ""
		}
	}
	return "sudo "
}

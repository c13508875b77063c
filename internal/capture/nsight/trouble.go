package nsight

import (
	"errors"
	"os"
	"regexp"
	"strings"
)

// A Trouble is a failure of ncu that is known, with what to do.
type Trouble struct {
	Code string // permission, busy, clocks, compute_preemption, none, other
	What string // in ncu's words, or ours
	Try  string
}

func (t *Trouble) Error() string {
	if t.Try == "" {
		return t.What
	}
	return t.What + "; " + t.Try
}

// The codes of troubles that a caller may act on.
const (
	TroubleClocks = "clocks" // the clocks could not be locked: profile again with ClockNone
	TroubleNone   = "none"   // no kernel matched
)

// known is how ncu's messages are told apart. Sources: ncu's own texts as users report them, and the pages on
// ERR_NVGPUCTRPERM and on "Driver resource was unavailable" of NVIDIA's profiling guide.
var known = []struct {
	code    string
	message *regexp.Regexp
	try     string
}{
	{"permission", regexp.MustCompile(`ERR_NVGPUCTRPERM`),
		"this user may not read the GPU's counters: run as root, or give the container --cap-add=SYS_ADMIN (from " +
			"driver 565 on PERFMON is enough), or let everybody: options nvidia " +
			"NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, then load the driver again; a timeline " +
			"needs no such right: lacuna record -- PROGRAM"},
	{"busy", regexp.MustCompile(`(?i)driver resource was unavailable|concurrently collecting profiling data`),
		"another tool holds the GPU's counters: for DCGM, dcgmi profile --pause, and --resume afterwards"},
	{TroubleClocks, regexp.MustCompile(`(?i)lock GPU clock|profile without fixed frequencies|clock control (is )?not supported`),
		"profile with clocks as they are: --with-args '--clock-control none'"},
	{TroubleNone, regexp.MustCompile(`No kernels were profiled`),
		"no launch matched: the program launched fewer kernels of that name than were to be skipped, or none " +
			"inside the range; lower --launch-skip, or look at the names with lacuna stats TRACE -r cuda_gpu_kern_sum"},
}

// toolError is a line in which ncu says what failed.
var toolError = regexp.MustCompile(`(?m)^==ERROR== (.*)$`)

// EndedProgram says whether ncu itself ended the program, because it could not go on.
func EndedProgram(log string) bool {
	return strings.Contains(log, "==PROF== Trying to shutdown target application")
}

// ReadTrouble says what went wrong according to what ncu wrote; nil: nothing that it calls an error.
func ReadTrouble(log string) *Trouble {
	for _, k := range known {
		if k.message.MatchString(log) {
			return &Trouble{k.code, lineWith(log, k.message), k.try}
		}
	}
	for _, line := range toolError.FindAllStringSubmatch(log, -1) {
		if text := strings.TrimSpace(line[1]); !strings.HasPrefix(text, "The application returned an error code") {
			return &Trouble{"other", text, ""}
		}
	}
	return nil
}

// nextSentence is where a sentence ends and another begins; "e.g. using" is none.
var nextSentence = regexp.MustCompile(`\. [A-Z]`)

// lineWith is the first sentence of the line in which a message stands, without ncu's marks.
func lineWith(log string, message *regexp.Regexp) string {
	at := message.FindStringIndex(log)
	begin := strings.LastIndexByte(log[:at[0]], '\n') + 1
	line, _, _ := strings.Cut(log[begin:], "\n")
	line = strings.TrimSpace(strings.TrimLeft(line, "="))
	for _, mark := range []string{"ERROR== ", "WARNING== "} {
		line = strings.TrimPrefix(line, mark)
	}
	if end := nextSentence.FindStringIndex(line); end != nil {
		line = line[:end[0]]
	}
	return strings.TrimRight(line, ".! ")
}

// maxLog is how much of a log is looked at, in bytes: ncu writes some lines for each launch.
const maxLog = 4 << 20

// ReadLog is what a tool wrote to a file, its end if it is long; "" if there is none.
func ReadLog(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	text := make([]byte, min(st.Size(), maxLog))
	n, err := f.ReadAt(text, max(0, st.Size()-maxLog))
	if n == len(text) {
		err = nil
	}
	return string(text[:n]), err
}

package record

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// socketPrefix is how the abstract sockets of agents begin; the user's ID and the process's follow: lacuna-1000-4711.
const socketPrefix = "lacuna-"

// Agents finds the agents that listen here: of all processes in this network namespace that this user may speak to,
// by process ID. Root may speak to all.
func Agents() ([]int, error) {
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, fmt.Errorf("the sockets of recorded programs cannot be listed: %w; name the process with --pid",
			err)
	}
	own := os.Getuid()
	var pids []int
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 8 {
			continue
		}
		if uid, pid, ok := parseSocket(fields[7]); ok && (uid == own || own == 0) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}

// parseSocket takes apart "@lacuna-UID-PID", as /proc/net/unix has it.
func parseSocket(name string) (uid, pid int, ok bool) {
	rest, ok := strings.CutPrefix(name, "@"+socketPrefix)
	if !ok {
		return 0, 0, false
	}
	first, second, ok := strings.Cut(rest, "-")
	uid, err1 := strconv.Atoi(first)
	pid, err2 := strconv.Atoi(second)
	return uid, pid, ok && err1 == nil && err2 == nil && uid >= 0 && pid > 0
}

// Ask sends a request to the agent in a process and gives its answer. A start or stop takes as long as CUPTI takes,
// seconds at most.
func Ask(ctx context.Context, pid int, request string) (Status, error) {
	owner := os.Getuid()
	if st, err := os.Stat("/proc/" + strconv.Itoa(pid)); err != nil {
		return Status{}, fmt.Errorf("process %d: no such process", pid)
	} else if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		owner = int(sys.Uid)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", fmt.Sprintf("@%s%d-%d", socketPrefix, owner, pid))
	if err != nil {
		return Status{}, silent(pid, owner, err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return Status{}, err
	}
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := conn.Write([]byte(request + "\n")); err != nil {
		return Status{}, silent(pid, owner, err)
	}
	line, err := bufio.NewReader(io.LimitReader(conn, maxAnswer)).ReadBytes('\n')
	if err != nil && len(line) == 0 {
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer within %v", answerWithin)
		}
		return Status{}, silent(pid, owner, err)
	}
	var answer Status
	if err := json.Unmarshal(line, &answer); err != nil {
		return Status{}, fmt.Errorf("process %d: its agent answers %.60q, which is not a status; is it from "+
			"another version of lacuna?", pid, line)
	}
	answer.Pid = pid // as we count: it may have another number in a namespace of its own
	return answer, nil
}

const (
	// answerWithin is how long an agent may take to answer: a stop waits for CUPTI, which gives up after seconds.
	answerWithin = 15 * time.Second
	maxAnswer    = 1 << 20 // bytes
)

// silent says why an agent cannot be asked, and what to do.
func silent(pid, owner int, err error) error {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		if own := os.Getuid(); own != owner && own != 0 {
			return fmt.Errorf("process %d: belongs to user %d; only that user and root may record it", pid, owner)
		}
		return fmt.Errorf("process %d: has no agent that listens: it was not started by lacuna record, has not "+
			"touched CUDA or NVTX yet, or is in another container", pid)
	case errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("process %d: its agent closed the connection: the process is ending, or belongs to "+
			"another user", pid)
	}
	return fmt.Errorf("process %d: its agent does not answer: %w", pid, err)
}

// CommandOf is what a process was called with, as a person would read it; "": unknown.
func CommandOf(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
}

// SpoolOf is where an agent's spool can be read from here: the agent may be in a container with folders of its own.
func SpoolOf(s Status) string {
	if _, err := os.Stat(s.Spool); err != nil {
		if within := "/proc/" + strconv.Itoa(s.Pid) + "/root" + s.Spool; s.Spool != "" {
			if _, err := os.Stat(within); err == nil {
				return within
			}
		}
	}
	return s.Spool
}

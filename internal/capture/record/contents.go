package record

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"lacuna/internal/capture/spool"
)

// Contents is what spools hold, process by process.
type Contents struct {
	Agents []Recorded
	// Samples is how often the CPUs were sampled, Counters how many values of the GPUs' state were taken.
	Samples, Counters int64
	Lost              spool.LostNote
}

// Recorded is what the agent in one process recorded.
type Recorded struct {
	Pid     int
	Command string
	CUPTI   bool   // CUPTI was found and answered
	State   string // the last one that it noted
	Why     string // of that state
	Holder  string // who has CUPTI, if it was refused; "" unknown
	Missing []Missing
	Others  []string // what it noted of other tools in the process
	Windows int      // times that recording began
	Full    bool     // the disk was full for a time
	Fork    bool     // a fork of a recorded process: its GPU work cannot be recorded

	Work, Calls, Ranges int64 // kernels, copies, memsets and whole graphs; calls; NVTX
	Account             spool.Account
}

// Missing is a part that CUPTI would not record.
type Missing struct {
	What string `json:"what"`
	Code int    `json:"code"`
	Why  string `json:"why"`
}

// Inspect reads spools from end to end and says what they hold. What is damaged is passed over.
func Inspect(ctx context.Context, paths []string) (Contents, error) {
	var c Contents
	for _, path := range paths {
		if err := c.add(ctx, path); err != nil {
			return c, err
		}
	}
	return c, nil
}

// add reads one spool, as it is or packed.
func (c *Contents) add(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, pathless(err))
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<18)
	if magic, _ := in.Peek(4); string(magic) != "\x28\xb5\x2f\xfd" { // zstd's
		return c.read(ctx, spool.NewScanner(in))
	}
	plain, err := zstd.NewReader(in, zstd.WithDecoderMaxMemory(512<<20), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("%s: cannot be unpacked: %w", path, err)
	}
	defer plain.Close()
	return c.read(ctx, spool.NewScanner(plain))
}

func (c *Contents) read(ctx context.Context, s *spool.Scanner) error {
	at := -1 // of c.Agents; -1: the stream is the recorder's
	for s.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		x := s.Chunk()
		if x.Type == spool.TypeBegin {
			at = -1
			if b := x.Process.Begin; b.Role != spool.RoleRecorder {
				c.Agents = append(c.Agents, Recorded{Pid: int(b.Pid), Command: strings.Join(b.Command, " ")})
				at = len(c.Agents) - 1
			}
			continue
		}
		switch {
		case at >= 0 && x.Type == spool.TypeNote:
			c.Agents[at].note(x)
		case at >= 0 && x.Table != nil:
			c.Agents[at].table(x)
		case x.Table != nil && x.Table.Name == "sample":
			c.Samples += int64(x.Count)
		case x.Table != nil && x.Table.Name == "counter":
			c.Counters += int64(x.Count)
		}
	}
	return nil
}

// note takes in a note of the agent's.
func (r *Recorded) note(c *spool.Chunk) {
	var said struct {
		State   string    `json:"state"`
		Why     string    `json:"why"`
		Holder  string    `json:"holder"`
		Missing []Missing `json:"missing"`
	}
	kind, err := c.Note(&said)
	if err != nil {
		return // of another version: the reader says so
	}
	switch kind {
	case "cupti":
		r.CUPTI, r.Missing = true, said.Missing
	case "refused":
		r.State, r.Why, r.Holder = StateRefused, said.Why, said.Holder
	case "yielded":
		r.State, r.Why = StateYielded, said.Why
	case "state":
		if said.State == StateStopped && (r.State == StateRefused || r.State == StateYielded ||
			r.State == StateFailed) {
			return // that it stopped afterwards hides nothing
		}
		if said.State != r.State || said.Why != "" {
			r.State, r.Why = said.State, said.Why
		}
	case "taken":
		r.Others = append(r.Others, said.Why)
	case "chain":
		r.Others = append(r.Others, "the library that CUDA_INJECTION64_PATH named before could not be loaded: "+
			said.Why)
	case "full":
		r.Full = true
	case "fork":
		r.Fork = true
	}
}

// table counts rows.
func (r *Recorded) table(c *spool.Chunk) {
	switch c.Table.Name {
	case "kernel", "copy", "set", "graph_run":
		r.Work += int64(c.Count)
	case "call":
		r.Calls += int64(c.Count)
	case "nvtx":
		r.Ranges += int64(c.Count)
	case "window":
		for _, w := range spool.Rows[spool.Window](c) {
			if w.On != 0 {
				r.Windows++
			}
		}
	case "account":
		if rows := spool.Rows[spool.Account](c); len(rows) > 0 {
			r.Account = rows[len(rows)-1]
		}
	}
}

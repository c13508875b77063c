package spool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	raw "lacuna/internal/capture/spool"
	"lacuna/internal/timeline/model"
)

// A note is what a process says of itself. Fields are as spool.h lists them; what a kind does not have is zero.
type note struct {
	Kind    string          `json:"note"`
	Why     string          `json:"why"`
	State   string          `json:"state"`
	Holder  string          `json:"holder"`
	Version json.RawMessage `json:"version"`
	Driver  json.RawMessage `json:"driver"`
	Library string          `json:"library"`
	Kinds   []string        `json:"kinds"`
	Missing []struct {
		What string `json:"what"`
		Why  string `json:"why"`
	} `json:"missing"`
	CPUs   int    `json:"cpus"`
	Kernel string `json:"kernel"`
	Perf   string `json:"perf"`
	NVML   string `json:"nvml"`
	raw.LostNote
}

// note keeps a note. One that is no JSON of this form keeps its kind.
func (s *stream) note(c *raw.Chunk) {
	var n note
	kind, err := c.Note(&n)
	if err != nil {
		n = note{}
	}
	n.Kind = kind
	if kind == "end" {
		s.ended = true
	}
	s.notes = append(s.notes, n)
}

// version is a number that a note gives as such or as text; 0: it is none.
func version(m json.RawMessage) int {
	n, err := strconv.Atoi(strings.Trim(string(m), `"`))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// A saying is a warning that several processes can have.
type saying struct {
	text      string
	processes []string
}

// sayings gathers warnings, each once.
type sayings struct {
	all   []saying
	index map[string]int // of all, by text
}

func (x *sayings) add(text string, s *stream) {
	i, have := x.index[text]
	if !have {
		i = len(x.all)
		x.index[text] = i
		x.all = append(x.all, saying{text: text})
	}
	if p, name := &x.all[i].processes, s.name(); len(*p) == 0 || (*p)[len(*p)-1] != name {
		*p = append(*p, name)
	}
}

// String is the sentence, and of which processes it is true.
func (x saying) String() string {
	const most = 3
	names := x.processes
	if len(names) > most {
		names = append(names[:most:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return strings.Join(names, ", ") + ": " + x.text
}

// noteWords says what notes mean for who reads the capture.
func (r *reading) noteWords() {
	said := sayings{index: make(map[string]int)}
	for _, s := range r.streams {
		r.streamWords(s, &said)
	}
	r.beginWords()
	for _, x := range said.all {
		r.warn(x.String())
	}
}

// streamWords says it of one stream.
func (r *reading) streamWords(s *stream, said *sayings) {
	for _, n := range s.notes {
		switch n.Kind {
		case "refused":
			said.add(fmt.Sprintf("no GPU work was recorded: %s; end that tool, or have it record",
				because(n.Why, "another tool has CUPTI")), s)
		case "yielded":
			said.add("no GPU work was recorded: --yield leaves CUPTI to others", s)
		case "taken", "calls", "graphs", "nvtx", "chain", "loss", "clock":
			said.add(because(n.Why, n.Kind), s)
		case "full":
			said.add(fmt.Sprintf("for a while the spool could not be written (%s): what was recorded then is lost",
				because(n.Why, "the disk was full")), s)
		case raw.NoteLost:
			r.damaged(n.LostNote, s.name())
		}
	}
	if state := s.noted("state"); state != nil && state.State == "failed" {
		said.add("GPU work could not be recorded: "+because(state.Why, "lacuna doctor says what is missing"), s)
	}
	if kernels := s.rows["Kernels"]; !s.ended && !s.recorder && kernels.To > kernels.From {
		said.add("its record has no end (killed, or still running): the last half second may be missing", s)
	}
}

// beginWords says what there is to say of streams that do not tell who wrote them, and of recordings that never began.
func (r *reading) beginWords() {
	nobodys, agents, waited := 0, 0, 0
	for _, s := range r.streams {
		switch s.from.Begin.Role {
		case "":
			nobodys++
		case raw.RoleAgent:
			agents++
			if s.ended && len(s.windows) == 0 && s.noted("state", "refused", "yielded") == nil {
				waited++
			}
		}
	}
	if agents > 0 && waited == agents {
		r.warn("recording never began: what it waited for did not come (lacuna record start, the steps of --steps, " +
			"--delay, or with --window profiler cudaProfilerStart)")
	}
	switch {
	case nobodys == 1:
		r.warn("the beginning of a process' stream is damaged: which process it was is not known")
	case nobodys > 1:
		r.warn(fmt.Sprintf("the beginnings of %d processes' streams are damaged: which processes they were is "+
			"not known", nobodys))
	}
}

// noted is the last note of one of these kinds; nil: there is none.
func (s *stream) noted(kinds ...string) *note {
	for i := len(s.notes) - 1; i >= 0; i-- {
		if slices.Contains(kinds, s.notes[i].Kind) {
			return &s.notes[i]
		}
	}
	return nil
}

func because(why, otherwise string) string {
	if why == "" {
		return otherwise
	}
	return why
}

// damaged counts what of a stream is damaged, as Pack noted it.
func (r *reading) damaged(l raw.LostNote, where string) {
	if l.Bytes > 0 || l.Chunks > 0 {
		r.trace.Losses.Add(model.LossUnreadableTable, max(l.Chunks, 1),
			fmt.Sprintf("%s: %d chunks, %d bytes", where, l.Chunks, l.Bytes))
	}
	if l.Cut > 0 {
		r.trace.Losses.Add(model.LossTruncated, 1,
			fmt.Sprintf("%s: the last %d bytes of its spool are the beginning of a chunk", where, l.Cut))
	}
}

// scanned counts what the scan of the file lost.
func (r *reading) scanned(l raw.Lost) {
	if l.Bytes > 0 || l.Chunks > 0 {
		r.trace.Losses.Add(model.LossUnreadableTable, max(l.Chunks, l.Places),
			fmt.Sprintf("%d chunks; %d bytes from byte %d on", l.Chunks, l.Bytes, l.First))
	}
	if l.Unexplained > 0 {
		r.trace.Losses.Add(model.LossUnreadableTable, l.Unexplained,
			"chunks whose rows are not as long as their table says")
	}
	switch {
	case l.Why != nil:
		r.trace.Losses.Add(model.LossTruncated, 1, fmt.Sprintf("the file cannot be unpacked to its end: %v", l.Why))
	case l.Cut > 0:
		r.trace.Losses.Add(model.LossTruncated, 1, fmt.Sprintf("the last %d bytes are the beginning of a chunk", l.Cut))
	}
}

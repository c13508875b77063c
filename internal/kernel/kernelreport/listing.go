package kernelreport

import (
	"fmt"
	"strconv"
	"strings"

	"lacuna/internal/kernel"
	"lacuna/internal/kernel/profile"
)

// A Listing is source lines of one kernel with what was counted of them, and the instructions of one line.
type Listing struct {
	Name         string          `json:"name"`
	File         string          `json:"file"`
	Line         int             `json:"line"`
	Lines        []ListedLine    `json:"lines"` // around it
	Instructions []ListedMachine `json:"instructions"`
}

// A ListedLine is a source line. Shares are of the kernel, 0 to 1.
type ListedLine struct {
	Line     int     `json:"line"`
	Text     string  `json:"text"`
	Waits    float64 `json:"waits"`    // of the time that warps wait, caused here
	Executed float64 `json:"executed"` // of the instructions that warps execute
}

// A ListedMachine is a machine instruction.
type ListedMachine struct {
	Function string  `json:"function"`
	Offset   uint64  `json:"offset"`
	Opcode   string  `json:"opcode"`   // "": the code is not in the report
	Executed float64 `json:"executed"` // times, by warps
	Lanes    float64 `json:"lanes"`    // of 32, on average; 0: not known
	Sectors  float64 `json:"sectors"`  // of global memory, asked for
	Excess   float64 `json:"excess"`   // of those, not needed if lanes accessed neighbours
	Waits    float64 `json:"waits"`    // share of the kernel's waiting that it causes
	Reason   string  `json:"reason"`   // that most of it is
}

// Listings is the answer of `lacuna kernel --source`.
type Listings struct {
	Schema  int       `json:"schema"`
	Kernels []Listing `json:"kernels"`
}

// A place is what --source asks for.
type place struct {
	file string // end of its path; "": any
	line int
}

// parsePlace reads "42" or "kernels.cu:42".
func parsePlace(text string) (place, error) {
	file, line, ok := cutLast(text, ':')
	if !ok {
		file, line = "", text
	}
	n, err := strconv.Atoi(line)
	if err != nil || n < 1 {
		return place{}, fmt.Errorf("%s: is not a source line; want a number or FILE:NUMBER, such as kernels.cu:42",
			text)
	}
	return place{file, n}, nil
}

func cutLast(s string, at byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, at); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// around is how many lines before and behind the one asked for are listed.
const around = 4

// Source lists a source line of the kernels of reports, with the lines around it.
func Source(in []*profile.Report, opt Options, asked string) (*Listings, error) {
	at, err := parsePlace(asked)
	if err != nil {
		return nil, err
	}
	out := &Listings{Schema: Schema}
	some, lines := 0, false
	for i, p := range in {
		for _, g := range grouped(i, p, pick(p, opt)) {
			some++
			c := g.Middle.Code()
			if c == nil {
				continue
			}
			lines = lines || c.HasLines
			if l, ok := listing(g.Middle, c, at); ok {
				out.Kernels = append(out.Kernels, l)
			}
		}
	}
	switch {
	case some == 0:
		return nil, noMatch(in, opt)
	case len(out.Kernels) == 0 && !lines:
		return nil, &NoMatchError{fmt.Sprintf("--source %s: the report has no source line for any instruction; "+
			"compile with nvcc -lineinfo and profile with --section SourceCounters --import-source yes", asked)}
	case len(out.Kernels) == 0:
		return nil, &NoMatchError{fmt.Sprintf("--source %s: no instruction of these kernels is from that line; "+
			"lacuna kernel shows those where the time goes", asked)}
	}
	return out, nil
}

// listing is a line of one kernel; false: nothing of the kernel is from there.
func listing(k *kernel.Kernel, c *kernel.Code, at place) (Listing, bool) {
	file := ""
	for i := range c.Instructions {
		if x := &c.Instructions[i]; x.Line == at.line && strings.HasSuffix(x.File, at.file) {
			file = x.File
			break
		}
	}
	if file == "" {
		return Listing{}, false
	}
	out := Listing{Name: k.Launch.Name, File: file, Line: at.line, Instructions: []ListedMachine{}}
	waits := newWaiting(k, c)
	executed := c.Counts("inst_executed")
	byLine := make(map[int]*ListedLine)
	for n := max(1, at.line-around); n <= at.line+around; n++ {
		out.Lines = append(out.Lines, ListedLine{Line: n, Text: c.Text(file, n)})
	}
	for i := range out.Lines {
		byLine[out.Lines[i].Line] = &out.Lines[i]
	}
	total := sum(executed)
	for i := range c.Instructions {
		x := &c.Instructions[i]
		if x.File != file {
			continue
		}
		if l := byLine[x.Line]; l != nil {
			l.Waits += waits.share(i)
			if executed != nil && total > 0 {
				l.Executed += executed[i] / total
			}
		}
		if x.Line == at.line {
			out.Instructions = append(out.Instructions, machine(c, i, waits))
		}
	}
	return out, true
}

func sum(list []float64) (total float64) {
	for _, v := range list {
		total += v
	}
	return total
}

// machine is what was counted of an instruction.
func machine(c *kernel.Code, i int, waits *waiting) ListedMachine {
	x := &c.Instructions[i]
	count := func(metric string) float64 {
		if all := c.Counts(metric); all != nil {
			return all[i]
		}
		return 0
	}
	out := ListedMachine{Function: x.Function, Offset: x.Offset, Opcode: x.Name, Executed: count("inst_executed"),
		Sectors: count("memory_l2_theoretical_sectors_global"), Waits: waits.share(i), Reason: waits.reason(i)}
	out.Excess = max(0, out.Sectors-count("memory_l2_theoretical_sectors_global_ideal"))
	if on := count("thread_inst_executed_true"); out.Executed > 0 {
		out.Lanes = on / out.Executed
	}
	return out
}

// A waiting is the samples of waiting warps by the instruction that makes them wait, for each reason.
type waiting struct {
	reasons []string
	samples [][]float64
	total   float64
}

func newWaiting(k *kernel.Kernel, c *kernel.Code) *waiting {
	w := &waiting{}
	s := k.Stalls()
	if s == nil {
		return w
	}
	for _, r := range s.Reasons {
		if r.Group == kernel.NoWait {
			continue
		}
		if samples := c.Caused(sampled(r.Reason)); samples != nil {
			w.reasons, w.samples = append(w.reasons, r.Group), append(w.samples, samples)
			w.total += sum(samples)
		}
	}
	return w
}

// share is how much of all waiting an instruction causes.
func (w *waiting) share(i int) float64 {
	if w.total <= 0 {
		return 0
	}
	n := 0.0
	for _, s := range w.samples {
		n += s[i]
	}
	return n / w.total
}

// reason is what most of it is, in words; "" if nothing waits for it.
func (w *waiting) reason(i int) string {
	best, at := 0.0, -1
	for r, s := range w.samples {
		if s[i] > best {
			best, at = s[i], r
		}
	}
	if at < 0 {
		return ""
	}
	return w.reasons[at]
}

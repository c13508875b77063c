package rules

import (
	"fmt"
	"strings"

	"lacuna/internal/timeline/facts"
)

var runFailed = Rule{
	ID:       "run_failed",
	Title:    "The run failed, or never came to its work",
	Since:    "0.3",
	Standing: CostsElse,
	Doc: `
What a profile of such a run says of time is true of the part that ran, and nothing of the program. The rule looks at
three things:

- No kernel ran, although copies or memsets did and no launch is left without its kernel; or all kernels only fill
  memory: the program was still setting up. Where nothing failed and copies take half of the time, they are its work.
- CUDA calls returned errors that stop a program (illegal address, launch failure, no kernel image and the like), or that
  say that memory is short. Answers such as "not ready" are none.
- The end of the program's output, where the capture holds it (Nsight Systems keeps it), is an error message.`,
	Limits: `
A program may copy or clear memory and no more, as a benchmark of the link does. A framework may catch that memory is
short, free some, and go on. What a program prints is free text: a line that begins with "error" may be harmless.`,
	Fix: `
Fix the failure first and record again. If memory is short: a smaller batch, activation checkpointing, or another job is
on the GPU (nvidia-smi). If an address is illegal: CUDA_LAUNCH_BLOCKING=1 names the call, and

    compute-sanitizer python train.py

names the line.`,
	FixC: `Fix the failure first and record again. Check the return code of each CUDA call; compute-sanitizer PROGRAM names
the line of an illegal access; nvidia-smi shows who else holds memory.`,
	Confirm:   `The program ends by itself, its calls return no errors, and its kernels are in the new recording.`,
	RefutedBy: `The program did all that it was to do.`,
	Check:     checkRunFailed,
}

func checkRunFailed(c *Case, out *Findings) {
	x := c.Facts.Failure()
	fatal := ""
	var rows []string
	for _, call := range x.Calls {
		text := fmt.Sprintf("%s failed %s: %s", call.Name, times(float64(call.Count)), call.What)
		if rows = append(rows, text); call.Fatal && fatal == "" {
			fatal = text
		}
	}
	failed := x.Line != "" || fatal != ""
	setUp := !x.Unwatched && (x.Kernels == 0 && (failed || !c.mostlyCopies()) || x.Fill != "")
	var f *Finding
	switch {
	case setUp && x.Kernels == 0:
		f = out.Add(0.9, 0, "No kernel ran: the capture holds %s and nothing else on the GPU", c.otherWork())
	case setUp && failed:
		f = out.Add(0.9, 0, "Only kernels that fill memory ran (%s), and copies: the program did not come to its work",
			shortName(x.Fill))
	case fatal != "":
		f = out.Add(0.9, 0, "The program failed: %s", fatal)
	case x.Line != "":
		f = out.Add(0.8, 0, "The program ended with an error")
	case len(rows) > 0:
		f = out.Add(0.8, 0, "%s", rows[0])
	default:
		return
	}
	f.Leads = setUp || failed
	if x.Line != "" {
		f.Title += "; its output ends with: " + lineWords(x.Line)
	}
	if f.Leads {
		f.Because("what the report says of time is true of what ran, and says little of the program's work")
	}
	if len(rows) > 0 {
		f.Because("calls that returned errors", rows...)
	} else if x.Line != "" {
		f.Fix = fixByOutput
	}
}

// fixByOutput is the fix where no call of the GPU's failed: the program says itself why it ended.
const fixByOutput = `
No call to the GPU returned an error: the end of the program's output says why it stopped. Fix that and record again.`

// minCopyWork is the share of the capture from which copies alone are the program's work, as in a measurement of them.
const minCopyWork = 0.5

// mostlyCopies says whether copies take most of the capture's time.
func (c *Case) mostlyCopies() bool {
	var copies int64
	for _, b := range c.Budgets {
		copies += b.CopyNs - b.SetNs
	}
	return c.shareOfStep(copies) >= minCopyWork
}

// maxLine is how much of a line of output is shown.
const maxLine = 120

func lineWords(line string) string {
	if r := []rune(line); len(r) > maxLine {
		return string(r[:maxLine-1]) + "…"
	}
	return line
}

// otherWork counts the copies and memsets of the capture.
func (c *Case) otherWork() string {
	w, copies, sets := c.Facts.Work(), 0, 0
	for i := range w.Len() {
		switch w.Kind[i] {
		case facts.WorkCopy:
			copies++
		case facts.WorkSet:
			sets++
		}
	}
	var parts []string
	if copies > 0 {
		parts = append(parts, several(float64(copies), "copy", "copies"))
	}
	if sets > 0 {
		parts = append(parts, several(float64(sets), "memset", "memsets"))
	}
	return strings.Join(parts, " and ")
}

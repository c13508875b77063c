package rules

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
)

var inputPipeline = Rule{
	ID:    "input_pipeline",
	Title: "The GPU waits for batches",
	Since: "0.1",
	Needs: []Need{needWork, needCalls, needSteps},
	Doc: `
The GPU idles while the host thread that feeds it makes or fetches the next batch: host work, in a range or
operator that loads data, between the last launch of one step and the first of the next.

A range counts as loading if its name says so (data, load, batch, input, prefetch, augment, decode, tokenize,
dataloader), or if it is the host work that lies between steps. It is raised from 2 % of the step: less is
within what steps vary by.`,
	Limits: `
Without ranges and operators (nsys without NVTX) host work between steps has no name: then it is said that the host
is busy, not with what. A loader that is slow in another process shows as waiting for it: worker_bound says that.`,
	Fix: `
Make batches in background workers, ahead of the step that uses them:

    loader = DataLoader(dataset, batch_size=64, num_workers=12, prefetch_factor=2,
                        pin_memory=True, persistent_workers=True)`,
	FixC:      `Make the next batch on other threads into a ring of pinned buffers while the GPU works.`,
	Confirm:   `The range's share of idle time falls below 2 % of the step; the first kernel of a step follows the last of the one before.`,
	RefutedBy: `The step does not get shorter when the same batch is used again in every step.`,
	Check:     checkInputPipeline,
}

// minIdleShare is the share of the step from which idle time is worth a finding: steps of one loop vary by about as much.
const minIdleShare = 0.02

// loading is names of ranges and operators that load data, by the words that people use for it.
var loading = regexp.MustCompile(`(?i)(data|load|batch|input|prefetch|augment|decode|preprocess|tokeni[sz]e|collate|sample|fetch|read)`)

// moving is names that say that data is moved to the device, not made.
var moving = regexp.MustCompile(`(?i)(transfer|h2d|to_device|to_gpu|copy)`)

func checkInputPipeline(c *Case, out *Findings) {
	type cause struct {
		name string // of the range or operator
		kind string
		ns   int64
	}
	var found []cause
	for text, ns := range c.Idle {
		kind, name, named := strings.Cut(text, ":")
		if !named || c.Share(ns) < minIdleShare || !loading.MatchString(name) || moving.MatchString(name) {
			continue
		}
		found = append(found, cause{name, kind, ns})
	}
	sort.Slice(found, func(i, j int) bool {
		if found[i].ns != found[j].ns {
			return found[i].ns > found[j].ns
		}
		return found[i].name < found[j].name
	})
	for _, x := range found {
		perStep := float64(x.ns) * c.PerStep
		f := out.Add(0.9, perStep, "The GPU waits %.1f of %.1f ms of a step for %s, made on the thread that feeds it", perStep/1e6, c.StepNs/1e6, x.name)
		f.Because(fmt.Sprintf("%.1f %% of the step the GPU idles while the host is in %s", 100*c.Share(x.ns), x.name), c.gapRows(x.kind+":"+x.name, 3)...)
		if x.kind == "range" {
			f.Repair("prefetch:" + regexp.QuoteMeta(x.name))
		}
	}
}

// gapRows names the n longest idle spans whose main cause is the given one.
func (c *Case) gapRows(cause string, n int) []string {
	var rows []string
	for _, gaps := range c.Gaps {
		for _, g := range longest(gaps) {
			if len(rows) == n {
				return rows
			}
			if c.mainCause(g) == cause {
				rows = append(rows, fmt.Sprintf("device %d idle %.3f ms at %.3f ms", g.Device, float64(g.LenNs())/1e6, float64(g.StartNs-c.Steps.Window().StartNs)/1e6))
			}
		}
	}
	return rows
}

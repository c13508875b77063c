package rules

import (
	"strings"
	"unicode"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// loadingWords begin the words of names that people give to the loading of data; notLoading begin the words that
// give such a name another meaning: load_balancing_loss, data_parallel, batch_norm, input_layernorm.
var (
	loadingWords = []string{"data", "load", "batch", "minibatch", "input", "prefetch", "augment", "preproc", "tokeni",
		"collat", "fetch", "read"}
	notLoading = []string{"balanc", "parallel", "state", "norm", "embed", "layer", "ready", "transfer", "h2d",
		"upload", "copy", "device", "gpu", "cuda"}
)

// saysLoading says whether a name is one of loading data.
func saysLoading(name string) bool {
	yes := false
	for _, w := range words(name) {
		yes = yes || startsWithAny(w, loadingWords)
		if startsWithAny(w, notLoading) {
			return false
		}
	}
	return yes
}

// words is a name's words, in lower case: loadBatch_2 is load, batch.
func words(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower || !unicode.IsLetter(r) {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		if unicode.IsLetter(r) || unicode.IsDigit(r) && !lower {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return strings.Fields(b.String())
}

func startsWithAny(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// PyTorch's DataLoader marks its waits with ranges of these names.
const (
	loaderRange   = "DataLoader"
	workersLoader = "MultiProcessingDataLoaderIter"
)

// feedsNext says whether the first thing that a thread does with the device behind a pause is to copy data to it,
// not just a value: host work before that made the data.
func (c *Case) feedsNext(p facts.HostPause) bool {
	if p.Issues < 0 || c.Facts.Work().Kind[p.Issues] != facts.WorkCopy {
		return false
	}
	return c.copyKind(p.Issues) == model.CopyHtoD && c.copyBytes(p.Issues) >= minBatchBytes
}

// minBatchBytes is the least that a batch has: a page. Less is a number or a few.
const minBatchBytes = 4 << 10

// loaderOf is the range of a DataLoader that a pause holds or lies in, for how long, and whether it waits for worker
// processes.
func (c *Case) loaderOf(p facts.HostPause) (name string, ns int64, workers bool) {
	for _, r := range p.Framework {
		text := c.Trace.Strings.Text(r.Name)
		if !strings.Contains(text, loaderRange) {
			continue
		}
		if r.Ns > ns {
			name, ns = text, r.Ns
		}
		workers = workers || strings.Contains(text, workersLoader)
	}
	for cause, opNs := range p.Names { // PyTorch before 1.10 recorded it as an operator
		text := c.Trace.Strings.Text(cause.Name)
		if !strings.Contains(text, loaderRange) {
			continue
		}
		if opNs > ns || opNs == ns && text < name {
			name, ns = text, opNs
		}
		workers = workers || strings.Contains(text, workersLoader)
	}
	return name, min(ns, p.IdleNs), workers
}

// asleep says whether the host waited for somebody for most of a pause, and did not work: it was in calls of the
// operating system, or, where context switches were recorded, on no CPU.
func (c *Case) asleep(p facts.HostPause) bool {
	if 2*p.OSNs > p.IdleNs {
		return true
	}
	off, known := c.Facts.OffCPU(p.Thread, p.Span)
	return known && 2*off.TotalNs() > p.LenNs()
}

package commands

import (
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"lacuna/internal/writers"
)

// barDelay is how long work may last before a bar appears.
const barDelay = time.Second

// A progress is one bar on stderr for one file. Its zero value shows nothing.
type progress struct {
	pool *mpb.Progress
	bar  *mpb.Bar
	show *time.Timer

	shown atomic.Bool // the bar is on the screen
}

// newProgress prepares a bar, if stderr is a terminal and nobody asked for quiet.
func (e *Env) newProgress(path string) *progress {
	f, ok := terminal(e.Err)
	if !ok || e.quiet {
		return &progress{}
	}
	delay := make(chan struct{})
	p := &progress{}
	p.show = time.AfterFunc(barDelay, func() {
		p.shown.Store(true)
		close(delay)
	})
	p.pool = mpb.New(mpb.WithOutput(f), mpb.WithAutoRefresh(), mpb.WithWidth(40), mpb.WithRenderDelay(delay))
	name := runewidth.Truncate(writers.Printable(filepath.Base(path)), 30, "...")
	p.bar = p.pool.AddBar(0,
		mpb.PrependDecorators(decor.Name("reading "+name+" ")),
		mpb.AppendDecorators(decor.Percentage(decor.WC{W: 5}), decor.AverageSpeed(decor.SizeB1000(0), "  % .0f")),
		mpb.BarRemoveOnComplete())
	return p
}

// set says how far the work is, in bytes of the file; total 0: unknown.
func (p *progress) set(done, total int64) {
	if p.bar == nil {
		return
	}
	if total > 0 {
		p.bar.SetTotal(total, false)
		done = min(done, total-1) // a full bar would complete before its end
	}
	p.bar.SetCurrent(done)
}

// stop removes the bar.
func (p *progress) stop() {
	if p.bar == nil {
		return
	}
	p.show.Stop()
	p.bar.Abort(true)
	p.pool.Wait()
}

// above writes a remark above the bar.
func (p *progress) above(e *Env, text string) {
	if p.bar == nil || !p.shown.Load() {
		e.remark("%s", text)
		return
	}
	_, _ = p.pool.Write([]byte("lacuna: " + writers.Printable(text) + "\n"))
}

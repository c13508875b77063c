package commands

import (
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"lacuna/internal/answer/engine"
	"lacuna/internal/faces/page"
)

// barDelay is how long work may last before a bar appears.
const barDelay = time.Second

// A progress is one bar on stderr for one file that is read.
type progress struct {
	env  *Env
	path string

	// nil: nothing is shown
	pool *mpb.Progress
	bar  *mpb.Bar
	show *time.Timer

	shown atomic.Bool // the bar is on the screen
}

// Begin prepares a bar, if stderr is a terminal and nobody asked for quiet.
func (e *Env) Begin(path string) engine.Reading {
	p := &progress{env: e, path: path}
	f, ok := terminal(e.Err)
	if !ok || e.quiet {
		return p
	}
	delay := make(chan struct{})
	p.show = time.AfterFunc(barDelay, func() {
		p.shown.Store(true)
		close(delay)
	})
	p.pool = mpb.New(mpb.WithOutput(f), mpb.WithAutoRefresh(), mpb.WithWidth(40), mpb.WithRenderDelay(delay))
	name := runewidth.Truncate(page.Printable(filepath.Base(path)), 30, "...")
	p.bar = p.pool.AddBar(0,
		mpb.PrependDecorators(decor.Name("reading "+name+" ")),
		mpb.AppendDecorators(decor.Percentage(decor.WC{W: 5}), decor.AverageSpeed(decor.SizeB1000(0), "  % .0f")),
		mpb.BarRemoveOnComplete())
	return p
}

// At says how far the work is, in bytes of the file; total 0: unknown.
func (p *progress) At(done, total int64) {
	if p.bar == nil {
		return
	}
	if total > 0 {
		p.bar.SetTotal(total, false)
		done = min(done, total-1) // a full bar would complete before its end
	}
	p.bar.SetCurrent(done)
}

// End removes the bar.
func (p *progress) End() {
	if p.bar == nil {
		return
	}
	p.show.Stop()
	p.bar.Abort(true)
	p.pool.Wait()
}

// Notice writes a remark about the file above the bar.
func (p *progress) Notice(text string) {
	text = p.path + ": " + text
	if p.bar == nil || !p.shown.Load() {
		p.env.remark("%s", text)
		return
	}
	_, _ = p.pool.Write([]byte("lacuna: " + page.Printable(text) + "\n"))
}

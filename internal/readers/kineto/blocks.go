package kineto

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"runtime"

	"lacuna/internal/timeline/model"
)

const (
	// blockBytes is what a parser gets at a time: enough for 10,000 events, so that a cut in
	// the wrong place is rare and cheap, and small enough for a dozen to be in flight.
	blockBytes = 2 << 20
	// cutReach is how far back from a block's end a cut is looked for.
	cutReach = 256 << 10
	// maxEventBytes bounds one event; a longer one is a loss.
	maxEventBytes = 64 << 20
)

// parserCount is how many parsers work side by side.
func parserCount() int { return max(1, runtime.GOMAXPROCS(0)) }

// A block is a run of the file, and then what a parser made of it on the guess that it begins between two events.
type block struct {
	buf  []byte // of the outer's blockBytes, reused
	text []byte // the part of buf in use
	base int64
	err  error // why there is no next block; io.EOF at a proper end

	part   part
	ending ending
	parsed chan struct{}
}

// events reads up to the bracket that closes the events, or to the end of what can be read.
func (o *outer) events(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	earlier := o.stop // of another list of events in the same file, whose blocks hold this one
	o.stop = func() { cancel(); earlier() }
	n := parserCount()
	free := make(chan *block, 3*n+2)
	for range cap(free) {
		free <- &block{parsed: make(chan struct{}, 1)}
	}
	work, order := make(chan *block, cap(free)), make(chan *block, cap(free))
	go cutBlocks(ctx, o.in, o.offset, o.blockBytes, free, work, order)
	for i := range n {
		p := o.parser(i)
		go func() {
			for b := range work {
				b.ending = p.run(b.text, b.base, &b.part)
				b.parsed <- struct{}{}
			}
		}()
	}
	j := joiner{outer: o, parser: o.parser(n), free: free, order: order}
	if err := j.run(ctx); err != nil || o.cut != "" {
		return err
	}
	// What follows the events is read from the blocks that are left.
	o.in = bufio.NewReaderSize(&rest{j: &j, ctx: ctx}, 1<<16)
	return nil
}

// parser is a new parser, whose texts the merger keeps apart from those of all others.
func (o *outer) parser(i int) *parser {
	o.m.dicts = append(o.m.dicts, dictionary{})
	return newParser(len(o.m.dicts)-1, o.m.want)
}

// cutBlocks reads in and cuts it, until it ends or nobody wants more.
func cutBlocks(ctx context.Context, in io.Reader, base int64, size int, free <-chan *block, work, order chan<- *block) {
	defer close(work)
	defer close(order)
	var carry []byte
	for {
		var b *block
		select {
		case b = <-free:
		case <-ctx.Done():
			return
		}
		if b.buf == nil {
			b.buf = make([]byte, size)
		}
		n := copy(b.buf, carry)
		var err error
		for n < len(b.buf) && err == nil {
			var got int
			got, err = in.Read(b.buf[n:])
			n += got
		}
		end := n
		if err == nil {
			if at := lastCut(b.buf[:n], cutReach); at > 0 {
				end = at
			}
		}
		b.text, b.base, b.err = b.buf[:end], base, err
		carry = append(carry[:0], b.buf[end:n]...)
		base += int64(end)
		work <- b // never blocks: both are as long as there are blocks
		order <- b
		if err != nil {
			return
		}
	}
}

// A joiner takes blocks in the order of the file and checks the guesses of their parsers.
type joiner struct {
	outer  *outer
	parser *parser
	free   chan<- *block
	order  <-chan *block

	block *block // the block in hand
	text  []byte // what is not done with, from outer.offset on: of the block, or joined
	part  part
}

// next gives the block in hand back and waits for the next one. It is false at the end of the input.
func (j *joiner) next(ctx context.Context) (bool, error) {
	if j.block != nil {
		if j.block.err != nil {
			return false, nil
		}
		j.free <- j.block
		j.block = nil
	}
	select {
	case b, ok := <-j.order:
		if !ok {
			return false, ctx.Err()
		}
		<-b.parsed
		j.block, j.text, j.outer.offset = b, b.text, b.base
		return true, ctx.Err()
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// run merges all blocks up to the closing bracket, which text then begins behind.
func (j *joiner) run(ctx context.Context) error {
	o, m := j.outer, j.outer.m
	for {
		ok, err := j.next(ctx)
		if err != nil {
			return err
		}
		if !ok {
			j.cut("inside traceEvents, between two events", 0)
			return nil
		}
		o.progress()
		if o.tooMuch() {
			return nil
		}
		m.add(&j.block.part)
		end := j.block.ending
		for {
			j.advance(end.at)
			if end.state == closed {
				return nil
			}
			if end.state != inside {
				break
			}
			// An event goes on behind the block: the guess for the next block was wrong.
			if ended, err := j.straddling(ctx); err != nil || ended {
				return err
			}
			end = j.parser.run(j.text, o.offset, &j.part)
			m.add(&j.part)
		}
	}
}

// advance is done with n bytes of text.
func (j *joiner) advance(n int) {
	j.text = j.text[n:]
	j.outer.offset += int64(n)
}

// straddling joins text, which begins an event that ends in a later block, with all blocks up to there.
// An event that is too long, or turns out to be broken, is left out. ended says that the input ended first.
func (j *joiner) straddling(ctx context.Context) (ended bool, err error) {
	o, from := j.outer, j.outer.offset
	whole := append([]byte(nil), j.text...)
	var s skipper
	s.feed(whole)
	long, check := false, suspectBytes
	for {
		ok, err := j.next(ctx)
		if err != nil {
			return false, err
		}
		if !ok {
			if !long && strictEnd(whole, 0) == bad {
				j.abandon(whole, from)
				return false, nil
			}
			j.cut("inside an event", o.offset+int64(len(j.text))-from)
			o.cutAt = from
			return true, nil
		}
		o.m.learn(&j.block.part) // its rows are not used; its texts may be by later parts
		n, done := s.feed(j.text)
		switch {
		case done && long:
			o.bad(fmt.Sprintf("byte %d: an event of over %d MiB", from, maxEventBytes>>20))
			j.advance(n)
			return false, nil
		case done:
			j.text, o.offset = append(whole, j.text...), from
			return false, nil
		case long:
			continue
		}
		whole = append(whole, j.text...)
		if len(whole) >= check {
			if check = 2 * len(whole); strictEnd(whole, 0) == bad {
				j.abandon(whole, from)
				return false, nil
			}
		}
		if len(whole) > maxEventBytes {
			whole, long = nil, true
		}
	}
}

// abandon leaves the broken event out that whole begins with, and goes on where the next one seems to begin.
func (j *joiner) abandon(whole []byte, from int64) {
	j.outer.bad(fmt.Sprintf("byte %d: is not JSON", from))
	j.text, j.outer.offset = whole, from
	if at := nextEvent(whole, 1); at > 0 {
		j.advance(at)
	} else {
		j.advance(len(whole))
	}
}

// cut says that the input ended too early, and why.
func (j *joiner) cut(where string, lost int64) {
	err := error(io.EOF)
	if j.block != nil && j.block.err != nil {
		err = j.block.err
	}
	j.outer.cutOff(err, where)
	j.outer.lostBytes = lost
}

// bad counts an event that is lost as a whole.
func (o *outer) bad(example string) {
	o.m.trace.Losses.Add(model.LossBadEvent, 1, example)
	o.m.trace.Info.Events++
}

// progress tells how far the reading is and what may still come.
func (o *outer) progress() {
	done, total := o.src.done(), o.src.size
	if o.m.want.Progress != nil {
		o.m.want.Progress(done, total)
	}
	// Rows to come are as many as the bytes of the file to come; the blocks in flight make it a little less.
	if total > 0 && done > 0 {
		o.m.growth = max(1, float64(total)/float64(done))
	}
}

// tooMuch stops a small packed file from filling the memory: real traces take up to 20 times
// the packed file's size in rows, and one that takes over 100 times is made to harm.
func (o *outer) tooMuch() bool {
	const free, most = 256 << 20, 100
	if o.m.held < free+most*o.src.done() {
		return false
	}
	o.cutOff(fmt.Errorf("the events would take over %d times the memory of the packed file", most),
		"inside traceEvents")
	return true
}

// A rest is what lies behind the events: of the block in hand, then of those that follow.
type rest struct {
	j   *joiner
	ctx context.Context
}

func (r *rest) Read(p []byte) (int, error) {
	for len(r.j.text) == 0 {
		if ok, err := r.j.next(r.ctx); err != nil {
			return 0, err
		} else if !ok {
			return 0, r.j.block.err
		}
	}
	n := copy(p, r.j.text)
	r.j.text = r.j.text[n:]
	return n, nil
}

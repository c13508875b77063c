package kineto

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
)

// maxHeaderBytes bounds a value outside traceEvents that is looked at; larger ones are passed over.
const maxHeaderBytes = 16 << 20

// An outer reads what is around the events: the keys of the file's one object, or an array's brackets.
type outer struct {
	src    stream
	m      *merger
	in     *bufio.Reader
	offset int64 // of the next byte of in

	blockBytes int
	stop       func() // ends the goroutines of the last events

	array     bool
	met       bool   // traceEvents was there
	cut       string // why the file ended too early, "" if it did not
	cutAt     int64
	lostBytes int64
}

func newOuter(src stream, m *merger, blockBytes int) *outer {
	return &outer{src: src, m: m, blockBytes: blockBytes, stop: func() {}, in: bufio.NewReaderSize(src, 1<<16)}
}

// file reads all. An error is only what keeps every part from being read; a file that ends early is said in cut.
func (o *outer) file(ctx context.Context) error {
	c, err := o.next()
	if err != nil {
		return o.unreadable(err)
	}
	switch c {
	case '[':
		o.array, o.met = true, true
		if err := o.events(ctx); err != nil {
			return err
		}
		if o.m.trace.Info.Events == o.m.trace.Losses.Count(model.LossBadEvent) {
			o.met = false // not one of its elements is an event
		}
		return nil
	case '{':
		return o.object(ctx)
	}
	return &reader.UnknownError{Path: o.src.path, What: fmt.Sprintf("it begins with %q", c)}
}

// unreadable is the error for a file that ends before anything was said.
func (o *outer) unreadable(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s: byte %d: %w", o.src.path, o.offset, err)
}

// object reads the keys of the file's object. What cannot be understood ends it.
func (o *outer) object(ctx context.Context) error {
	for {
		c, err := o.next()
		if err == nil && c == ',' {
			c, err = o.next()
		}
		switch {
		case err != nil:
			o.cutOff(err, "inside the file's object")
			return nil
		case c == '}':
			return nil
		case c != '"':
			o.cutOff(fmt.Errorf("%q where a key should be", c), "inside the file's object")
			return nil
		}
		key, err := o.value('"')
		if err == nil {
			if c, err = o.next(); err == nil && c != ':' {
				err = fmt.Errorf("%q where a colon should be", c)
			}
		}
		if err == nil {
			c, err = o.next()
		}
		if err != nil {
			o.cutOff(err, "inside the file's object")
			return nil
		}
		name := scalar(key)
		if name == "traceEvents" && c == '[' {
			o.met = true
			if err := o.events(ctx); err != nil || o.cut != "" {
				return err
			}
			continue
		}
		raw, err := o.value(c)
		if err != nil {
			o.cutOff(err, "in the value of "+name)
			return nil
		}
		o.m.header(name, raw)
	}
}

// surplus counts what follows the one value that the file should be, blanks apart: two traces in one file, for example.
func (o *outer) surplus(ctx context.Context) error {
	if o.cut != "" {
		return nil
	}
	first, err := o.next()
	if err != nil {
		return nil // nothing follows
	}
	const shown = 40
	at, sample := o.offset-1, []byte{first}
	for n := int64(1); ; {
		if _, err := o.in.Peek(1); err != nil {
			o.m.trace.Losses.Add(model.LossSurplus, n, fmt.Sprintf("byte %d: %q", at, sample))
			return ctx.Err()
		}
		b, _ := o.in.Peek(o.in.Buffered())
		sample = append(sample, b[:min(len(b), max(0, shown-len(sample)))]...)
		n += int64(len(b))
		o.offset += int64(len(b))
		o.in.Discard(len(b))
	}
}

// cutOff says that the file ends, or cannot be understood, from here on.
func (o *outer) cutOff(err error, where string) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		o.cut = "it ends " + where
	} else {
		o.cut = where + ": " + err.Error()
	}
	o.cutAt = o.offset
}

// next is the next byte that is no blank.
func (o *outer) next() (byte, error) {
	for {
		c, err := o.in.ReadByte()
		if err != nil {
			return 0, err
		}
		o.offset++
		if !isSpace[c] {
			return c, nil
		}
	}
}

// value is the bytes of the value that begins with c; nil if it is too large to keep.
func (o *outer) value(c byte) ([]byte, error) {
	var s skipper
	raw := []byte{c}
	if _, done := s.feed(raw); done {
		return raw, nil
	}
	for {
		if _, err := o.in.Peek(1); err != nil {
			return nil, err
		}
		b, _ := o.in.Peek(o.in.Buffered())
		n, done := s.feed(b)
		if len(raw) <= maxHeaderBytes {
			raw = append(raw, b[:n]...)
		}
		o.in.Discard(n)
		o.offset += int64(n)
		if done {
			if len(raw) > maxHeaderBytes {
				raw = nil
			}
			return raw, nil
		}
	}
}

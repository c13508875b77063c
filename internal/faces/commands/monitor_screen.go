package commands

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"lacuna/internal/capture/monitor"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
)

// What terminals since the VT100 and xterm understand.
const (
	otherScreen   = "\x1b[?1049h\x1b[?25l\x1b[?7l" // a screen of our own, without a cursor; what is too wide is cut
	usualScreen   = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	toTheTop      = "\x1b[H"
	restOfLine    = "\x1b[K"
	restOfScreen  = "\x1b[J"
	keyInterrupt  = 3 // Ctrl-C and Ctrl-D, which are keys like others while keys come one by one
	keyEndOfInput = 4
)

func dumbTerminal() bool { return os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "" }

// watchScreen draws readings over each other until a key, a signal or the count ends it; the terminal is then as
// it was, with the last view on it.
func (e *Env) watchScreen(ctx context.Context, m *monitor.Monitor, out *os.File, interval time.Duration,
	count int) error {
	quit, restore := e.takeKeys()
	fmt.Fprint(out, otherScreen)
	var last *monitor.Snapshot
	err := e.draw(ctx, m, out, interval, count, quit, &last)
	fmt.Fprint(out, usualScreen)
	restore()
	if err == nil && last != nil {
		layout := e.layout()
		err = page.WriteText(out, pages.Monitor(last, layout.Columns()), layout)
	}
	return err
}

func (e *Env) draw(ctx context.Context, m *monitor.Monitor, out *os.File, interval time.Duration, count int,
	quit <-chan struct{}, last **monitor.Snapshot) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for n := 0; count == 0 || n < count; n++ {
		if n > 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-quit:
				return nil
			case <-tick.C:
			}
		}
		*last = m.Read()
		width, height, err := term.GetSize(int(out.Fd())) // it may have changed since
		if err != nil {
			return err
		}
		layout := e.layout()
		if e.width == 0 {
			layout.Width = width
		}
		var b bytes.Buffer
		if err := page.WriteText(&b, pages.Monitor(*last, layout.Columns()), layout); err != nil {
			return err
		}
		if _, err := out.WriteString(frame(b.String(), height)); err != nil {
			return err
		}
		if n == 0 {
			tick.Reset(interval) // the first reading takes longer
		}
	}
	return nil
}

// frame is a text that overwrites the screen, cut to its height. Lines are cleared before they are written: after a
// line as wide as the screen the cursor still stands on its last character, and clearing would take that.
func frame(text string, height int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if height > 1 && len(lines) > height {
		hidden := len(lines) - (height - 1)
		lines = append(lines[:height-1:height-1], fmt.Sprintf("... %d more lines", hidden))
	}
	text = toTheTop + restOfLine + strings.Join(lines, "\r\n"+restOfLine)
	if len(lines) < height {
		text += "\r\n" + restOfScreen
	}
	return text
}

// takeKeys makes keys come one by one, without being shown, and tells when one of them ends the watch. Where stdin
// is no terminal there are no keys.
func (e *Env) takeKeys() (quit <-chan struct{}, restore func()) {
	ended := make(chan struct{})
	in, ok := e.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return ended, func() {}
	}
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return ended, func() {}
	}
	go func() { // ends with the program: a read of a terminal cannot be called off
		var key [1]byte
		for {
			n, err := in.Read(key[:])
			if err != nil || n == 1 && strings.IndexByte("qQ", key[0]) >= 0 || n == 1 &&
				(key[0] == keyInterrupt || key[0] == keyEndOfInput) {
				close(ended)
				return
			}
		}
	}()
	return ended, func() { _ = term.Restore(int(in.Fd()), state) }
}

package record

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// patience is how long a program may go on after Ctrl-C before what is recorded so far is packed. Most end at once.
	patience = 2 * time.Second
	// leftBehind is how long processes that the program left running may take to end by themselves before their
	// recording is stopped.
	leftBehind = 2 * time.Second
	// muchToPack is how many bytes take a second or so to pack.
	muchToPack = 200 << 20
	// beforeSignal is how long a signal that ends the program is held back while its agents write what they have.
	beforeSignal = 500 * time.Millisecond
	// stopWithin is how long the agents may take to stop recording: each gives CUPTI seconds to hand out what it has.
	stopWithin = 10 * time.Second
)

// A session is one recording of one program.
type session struct {
	o        *Options
	dir      string // where the spools are
	recorder *recorder
	program  *exec.Cmd
	tree     *tree
	began    time.Time
	agents   agents
	space    diskWatch

	interrupted bool
	killed      bool
	stopping    chan struct{} // closed when the agents have been told to stop; nil: they have not
	saved       bool
	overTicks   int // for how many looks no process has recorded any more
	remarks     []string
}

// Run runs a program and records it:
//
//  1. make the folder for spools beside the output, and our own spool in it
//  2. start the program, in our process group and with our stdin
//  3. until it ends: take clocks, threads and the GPUs' state; pass signals on. Ctrl-C, SIGTERM and SIGHUP stop
//     recording and save at once, whatever the program does; Ctrl-C again kills it
//  4. have processes that it left behind stop recording
//  5. pack all spools into the output, and remove them
//
// A program that cannot be started is a *StartError. Once it was started there is a Result; whatever went wrong then
// is in it.
func Run(ctx context.Context, o Options) (*Result, error) {
	s, env, err := prepare(&o)
	if err != nil {
		return nil, err
	}
	received, quiet := signals()
	defer quiet()
	s.program = newProgram(&o, env)
	sampling, err := s.start(ctx)
	if err != nil {
		_ = s.recorder.stop()
		os.RemoveAll(s.dir)
		return nil, err
	}
	s.tree = newTree(s.program.Process.Pid)
	s.recorder.watch(o.Interval, func() bool { return o.Window.Kind == Armed && !s.agents.recording() })
	ended := make(chan struct{})
	go func() {
		_ = s.program.Wait() // how it ended is in ProcessState
		close(ended)
	}()
	s.attend(received, ended)

	result := &Result{Elapsed: time.Since(s.began)}
	result.Status, result.Signal = ending(s.program.ProcessState)
	s.settle(received)
	s.space.look()
	s.recorder.host(&o, sampling())
	if err := s.recorder.stop(); err != nil {
		s.remarks = append(s.remarks, fmt.Sprintf(
			"what was seen from outside the program (clocks, threads, the GPUs' state) is cut short: %v", err))
	}
	s.finish(context.WithoutCancel(ctx), received, result)
	return result, nil
}

// prepare makes the folders and our spool, and the program's environment. Nothing is left behind if it fails.
func prepare(o *Options) (*session, []string, error) {
	if o.Unnamed {
		o.Output = Vacant(o.Output)
	}
	if err := CheckOutput(o.Output, o.Overwrite); err != nil {
		return nil, nil, err
	}
	dir, err := makeSpoolDir(o)
	if err != nil {
		return nil, nil, err
	}
	if o.Unnamed { // processes that start side by side have one name in mind; only one of them has made this folder
		o.Output = filepath.Join(filepath.Dir(o.Output), strings.TrimSuffix(filepath.Base(dir), ".spools")+Extension)
	}
	id := make([]byte, 8)
	rand.Read(id) // never fails
	name := hex.EncodeToString(id)
	r, err := newRecorder(dir, name, o)
	if err != nil {
		os.RemoveAll(dir)
		return nil, nil, fmt.Errorf("%s: cannot be written: %w; give --spool-dir a folder that can", dir, pathless(err))
	}
	s := &session{o: o, dir: dir, recorder: r, began: time.Now(), agents: agents{dir: dir},
		space: diskWatch{dir: dir, notice: o.Notice}}
	env, warnings := Environ(os.Environ(), o, dir, name)
	for _, w := range warnings {
		o.Notice(w)
	}
	s.space.look()
	return s, env, nil
}

// makeSpoolDir makes the folder for spools: NAME.spools beside the output NAME.lacuna, or in --spool-dir.
func makeSpoolDir(o *Options) (string, error) {
	in := filepath.Dir(o.Output)
	if o.SpoolDir != "" {
		in = o.SpoolDir
		if err := os.MkdirAll(in, 0o755); err != nil {
			return "", fmt.Errorf("--spool-dir %s: cannot be made: %w", o.SpoolDir, pathless(err))
		}
	}
	in, err := filepath.Abs(in) // the program may change its folder
	if err != nil {
		return "", err
	}
	stem := strings.TrimSuffix(filepath.Base(o.Output), Extension)
	for range 10 {
		dir := Vacant(filepath.Join(in, stem+".spools"))
		if err = os.Mkdir(dir, 0o700); err == nil {
			return dir, nil
		}
		if !errors.Is(err, os.ErrExist) { // another process of this name was quicker
			break
		}
	}
	return "", fmt.Errorf("%s: cannot be written: %w; give -o a file elsewhere, or --spool-dir a folder that can "+
		"be written", in, pathless(err))
}

// attend does what there is to do until the program has ended.
func (s *session) attend(received <-chan os.Signal, ended <-chan struct{}) {
	tick := time.NewTicker(tickPeriod)
	defer tick.Stop()
	var save <-chan time.Time
	s.look(0)
	for n := 1; ; n++ {
		select {
		case <-ended:
			return
		case sig := <-received:
			s.signal(sig.(syscall.Signal))
		case <-s.stopping:
			s.stopping = nil
			save = time.After(patience)
		case <-save:
			save = nil
			s.saveEarly()
		case <-tick.C:
			s.look(n)
		}
	}
}

// look is what is done once a second.
func (s *session) look(n int) {
	every := int(clockPeriod / tickPeriod)
	processes := s.agents.processes()
	if n%every == 0 {
		processes = s.tree.scan()
		s.recorder.clock()
	}
	s.space.look()
	s.recorder.tasks(processes)
	_ = s.recorder.w.Flush() // an error stays and is told at the end
	ends := s.o.Window.ends() && !s.saved && !s.interrupted
	if s.o.Progress == nil && s.o.Window.Kind != Armed && !ends {
		return
	}
	s.agents.poll()
	if s.o.Progress != nil {
		p := s.agents.progress()
		p.Elapsed = time.Since(s.began)
		s.o.Progress(p)
	}
	if ends && s.agents.over() {
		if s.overTicks++; time.Duration(s.overTicks)*tickPeriod >= patience {
			s.saveEarly()
		}
	}
}

// signal passes on what the program must have, and stops recording if it is the end.
func (s *session) signal(sig syscall.Signal) {
	keys := sig == syscall.SIGINT || sig == syscall.SIGQUIT
	if sig == syscall.SIGINT && s.interrupted {
		s.killed = true
		s.o.Notice("Ctrl-C again: the program is killed")
		s.tree.kill()
		return
	}
	pass := func() {
		if !keys || !fromTerminal() {
			_ = s.program.Process.Signal(sig) // an error says that it has ended
		}
	}
	if sig != syscall.SIGINT && sig != syscall.SIGTERM && sig != syscall.SIGHUP || s.interrupted {
		pass()
		return
	}
	s.interrupted = true
	stopping := make(chan struct{})
	s.stopping = stopping
	go func() {
		s.agents.stop(stopWithin)
		close(stopping)
	}()
	// A program without a handler is gone with the signal, and what its agent holds with it: the agents come first,
	// for a moment.
	go func() {
		select {
		case <-stopping:
		case <-time.After(beforeSignal):
		}
		pass()
	}()
}

// saveEarly packs what there is while the program still runs. At its end it is packed anew, with what came after.
func (s *session) saveEarly() {
	_ = s.recorder.w.Flush()
	packed, err := Pack(context.Background(), []string{s.dir}, s.o.Output, s.o.Overwrite || s.saved)
	if err != nil {
		s.o.Notice(fmt.Sprintf("recording has stopped, and the program continues: %v", err))
		return
	}
	s.saved = true
	keys := "Ctrl-C ends it"
	if s.interrupted {
		keys = "Ctrl-C kills it"
	}
	s.o.Notice(fmt.Sprintf("recording has stopped and is saved in %s; waiting for the program to end (%s)",
		packed.Path, keys))
}

// settle has processes that the program left running end, or stop recording.
func (s *session) settle(received <-chan os.Signal) {
	for until := time.Now().Add(leftBehind); time.Now().Before(until) && len(s.agents.processes()) > 0 && !s.killed; {
		select {
		case sig := <-received:
			if sig == syscall.SIGINT {
				s.killed = true
			}
		case <-time.After(50 * time.Millisecond):
		}
	}
	if n := len(s.agents.processes()); n > 0 {
		s.agents.stop(stopWithin)
		s.remarks = append(s.remarks, fmt.Sprintf(
			"%s of the program still ran when it ended; their recording was stopped then",
			count(n, "process", "processes")))
	}
}

// finish packs the spools and says what came of the recording. A signal ends the packing, and the spools stay.
func (s *session) finish(ctx context.Context, received <-chan os.Signal, result *Result) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var over sync.WaitGroup
	done := make(chan struct{})
	over.Go(func() {
		for {
			select {
			case <-done:
				return
			case sig := <-received:
				if sig == syscall.SIGINT || sig == syscall.SIGTERM || sig == syscall.SIGHUP {
					cancel()
				}
			}
		}
	})
	if size := s.agents.bytes(); size >= muchToPack {
		s.o.Notice(fmt.Sprintf("packing %s", Size(size)))
	}
	packed, err := Pack(ctx, []string{s.dir}, s.o.Output, s.o.Overwrite || s.saved)
	close(done)
	over.Wait()
	result.Interrupted = s.interrupted
	if err != nil {
		result.Failed, result.Spools = err, s.dir
		if errors.Is(err, context.Canceled) {
			result.Failed = errors.New("packing was interrupted")
		}
		return
	}
	result.Path, result.Bytes, result.Contents = packed.Path, packed.Bytes, packed.Contents
	if err := os.RemoveAll(s.dir); err != nil {
		s.remarks = append(s.remarks, fmt.Sprintf("%s: cannot be removed: %v; it holds nothing that is not packed",
			s.dir, pathless(err)))
	}
	result.Remarks = append(packed.Contents.remarks(s.o), s.remarks...)
	if s.space.full && !packed.Contents.full() { // an agent notes a full disk once it can write again
		result.Remarks = append(result.Remarks, "the disk was full, or nearly: records may be missing, by an "+
			"unknown number; --spool-dir puts them where there is room")
	}
}

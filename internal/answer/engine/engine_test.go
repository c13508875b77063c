package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"lacuna/internal/answer/report"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
	"lacuna/internal/timeline/tables"
)

// rankText is one or several ranks in one capture, without collectives: rank first+i computes gemmUs[i] µs a step on
// a GPU of its own.
func rankText(first int, gemmUs ...int) string {
	var b strings.Builder
	rank := first
	if len(gemmUs) > 1 {
		rank = -1
	}
	fmt.Fprintf(&b, "# lacuna trace, text form 1\ninfo rank=%d world=8 merged=%d\n", rank, len(gemmUs))
	for i := range gemmUs {
		fmt.Fprintf(&b, "process %d pid=%d rank=%d python\n", i+1, 100+i, first+i)
	}
	for i := range gemmUs {
		fmt.Fprintf(&b, "thread %d process=%d tid=%d\ndevice %d NVIDIA H200\n", i+1, i+1, 100+i, i)
	}
	for step := range 8 {
		for i, gemm := range gemmUs {
			at, corr := 1000+step*(gemm+60), 1000*i+step+1
			fmt.Fprintf(&b, "range t%d %dus+40us step_%d\ncall t%d c%d %dus+2us cudaLaunchKernel\nkernel d%d p%d "+
				"s7 c%d %dus+%dus gemm\n",
				i+1, at, step, i+1, corr, at, i, i+1, corr, at+10, gemm)
		}
	}
	return b.String()
}

// write makes a file of a test.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// asText is an answer in bytes.
func asText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// counted counts how often files are read.
type counted struct {
	mu sync.Mutex
	n  int
}

func (c *counted) Begin(string) Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return silent{}
}

// TestAskedTwice: the same question has the same answer, and the file is read once.
func TestAskedTwice(t *testing.T) {
	reads := new(counted)
	job := Open([]string{write(t, "a.txt", rankText(0, 300, 600))}, Options{Rank: AllRanks, Progress: reads})
	defer job.Close()
	var answers []string
	for range 2 {
		r, err := job.Report(t.Context(), ReportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		x, of, err := job.WhatIf(t.Context(), []string{"scale:gemm=0.5"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Slowest != 1 || of.Rank == nil || *of.Rank != 1 || !x.Changes[0].Applied {
			t.Errorf("slowest is %d, what if of %+v: %+v", r.Slowest, of, x)
		}
		answers = append(answers, asText(t, r)+asText(t, x))
	}
	if answers[0] != answers[1] {
		t.Errorf("%s\nand then\n%s", answers[0], answers[1])
	}
	if reads.n != 1 {
		t.Errorf("read %d times", reads.n)
	}
}

// TestReadAgain: a question that needs more reads the file once more, with all that was needed before; then no more.
func TestReadAgain(t *testing.T) {
	reads := new(counted)
	job := Open([]string{write(t, "a.txt", rankText(0, 300))}, Options{Rank: AllRanks, Progress: reads})
	defer job.Close()
	for i, ask := range []func() error{
		func() error { _, _, err := job.Facts(t.Context(), model.PartsGPU); return err },
		func() error { _, err := job.Report(t.Context(), ReportOptions{}); return err },
		func() error { _, err := job.Contents(t.Context()); return err },
		func() error { _, err := job.Report(t.Context(), ReportOptions{}); return err },
		func() error { _, err := job.Timeline(t.Context()); return err },
	} {
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		if want := min(i+1, 3); reads.n != want {
			t.Errorf("question %d: read %d times, want %d", i, reads.n, want)
		}
	}
}

// TestSteps: all answers are of the steps that the job was opened with.
func TestSteps(t *testing.T) {
	path := write(t, "a.txt", rankText(0, 300))
	job := Open([]string{path}, Options{Rank: AllRanks, Steps: StepOptions{Pin: true, First: 2, Last: 5}})
	defer job.Close()
	r, err := job.Report(t.Context(), ReportOptions{})
	if err != nil || r.Steps.Count != 3 {
		t.Errorf("report: %+v, %v", r, err)
	}
	x, _, err := job.WhatIf(t.Context(), nil)
	if err != nil || x.Steps != 3 {
		t.Errorf("what if: %+v, %v", x, err)
	}
	runs, err := job.Measures(t.Context())
	if err != nil || len(runs) != 1 || len(runs[0].Find("step").Samples) != 3 {
		t.Errorf("measures: %+v, %v", runs, err)
	}
	far := Open([]string{path}, Options{Rank: AllRanks, Steps: StepOptions{Pin: true, First: 90, Last: 91}})
	_, err = far.Report(t.Context(), ReportOptions{})
	var none *facts.StepsError
	if !errors.As(err, &none) || !strings.HasPrefix(err.Error(), path+": --steps 90:91: ") {
		t.Errorf("steps that are not there: %v", err)
	}
}

// TestConcurrentQuestions: several goroutines get the answers that one gets.
func TestConcurrentQuestions(t *testing.T) {
	paths := []string{write(t, "a.txt", rankText(0, 300, 600))}
	questions := []func(j *Job) (any, error){
		func(j *Job) (any, error) { return j.Report(t.Context(), ReportOptions{}) },
		func(j *Job) (any, error) { return j.Report(t.Context(), ReportOptions{Top: 1}) },
		func(j *Job) (any, error) { x, _, err := j.WhatIf(t.Context(), []string{"drop-syncs"}); return x, err },
		func(j *Job) (any, error) { return j.Measures(t.Context()) },
		func(j *Job) (any, error) {
			var asked []Request
			for _, table := range tables.All {
				asked = append(asked, Request{table, nil})
			}
			sheets, _, err := j.Tables(t.Context(), asked)
			rows := 0
			for _, s := range sheets {
				rows += len(s.Rows.Rows)
			}
			return rows, err
		},
	}
	ask := func(j *Job, q int) string {
		x, err := questions[q](j)
		if err != nil {
			t.Errorf("question %d: %v", q, err)
		}
		return asText(t, x)
	}
	var want []string
	alone := Open(paths, Options{Rank: AllRanks})
	if _, _, err := alone.Facts(t.Context(), model.PartsAll); err != nil {
		t.Fatal(err)
	}
	for q := range questions {
		want = append(want, ask(alone, q))
	}
	job := Open(paths, Options{Rank: AllRanks})
	var all sync.WaitGroup
	for n := range 4 * len(questions) {
		all.Go(func() {
			if q := n % len(questions); ask(job, q) != want[q] {
				t.Errorf("question %d: another answer", q)
			}
		})
	}
	all.Wait()
}

// TestCancelled: who does not want the answer any more does not get one, and the next gets his.
func TestCancelled(t *testing.T) {
	job := Open([]string{write(t, "a.txt", rankText(0, 300))}, Options{Rank: AllRanks})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, before := range []bool{true, false} { // not read yet, and read
		_, err1 := job.Report(ctx, ReportOptions{})
		_, _, err2 := job.WhatIf(ctx, nil)
		if !errors.Is(err1, context.Canceled) || !errors.Is(err2, context.Canceled) {
			t.Errorf("before it is read: %v: %v, %v", before, err1, err2)
		}
		if _, err := job.Report(t.Context(), ReportOptions{}); err != nil {
			t.Error(err)
		}
	}
}

// TestClose: a closed job holds nothing and answers nothing.
func TestClose(t *testing.T) {
	job := Open([]string{write(t, "a.txt", rankText(0, 300))}, Options{Rank: AllRanks})
	if _, err := job.Report(t.Context(), ReportOptions{}); err != nil || job.Bytes() == 0 {
		t.Fatalf("%d bytes, %v", job.Bytes(), err)
	}
	job.Close()
	job.Close()
	var closed *ClosedError
	if _, err := job.Report(t.Context(), ReportOptions{}); !errors.As(err, &closed) || job.Bytes() != 0 {
		t.Errorf("%d bytes, %v", job.Bytes(), err)
	}
}

// TestRefused: what cannot be answered is said with a type.
func TestRefused(t *testing.T) {
	path := write(t, "a.txt", rankText(3, 300))
	_, err := Open([]string{path}, Options{Rank: 5}).Report(t.Context(), ReportOptions{})
	var noRank *NoRankError
	if !errors.As(err, &noRank) || err.Error() != "--rank 5: no input is that rank (have 3)" {
		t.Errorf("rank 5: %v", err)
	}
	idle := write(t, "idle.txt", "# lacuna trace, text form 1\nstep 0+10\nstep 10+10\n")
	_, _, err = Open([]string{idle}, Options{Rank: AllRanks}).WhatIf(t.Context(), nil)
	var cannot *CannotReplayError
	if !errors.As(err, &cannot) || cannot.Input != idle || cannot.Try == "" {
		t.Errorf("no GPU work: %v", err)
	}
	_, err = Open([]string{path}, Options{Rank: AllRanks}).Report(t.Context(), ReportOptions{Device: new(uint32(9))})
	if err == nil || !strings.Contains(err.Error(), "--device 9") {
		t.Errorf("device 9: %v", err)
	}
	asked := []Request{{tables.All[tableAt(t, "kernels")], nil}}
	_, missing, err := Open([]string{idle}, Options{Rank: AllRanks}).Tables(t.Context(), asked)
	var absent *tables.MissingError
	if err != nil || len(missing) != 1 || !errors.As(missing[0], &absent) {
		t.Errorf("kernels: %v, %v", missing, err)
	}
}

func tableAt(t *testing.T, name string) int {
	t.Helper()
	for i, table := range tables.All {
		if table.Name == name {
			return i
		}
	}
	t.Fatalf("no table %s", name)
	return 0
}

// TestData: bytes need no file.
func TestData(t *testing.T) {
	job := Open([]string{"called.txt"}, Options{Rank: AllRanks, Data: []byte(rankText(0, 300))})
	r, err := job.Report(t.Context(), ReportOptions{})
	if err != nil || r.Inputs[0].Path != "called.txt" || r.Schema != report.Schema {
		t.Errorf("%+v, %v", r, err)
	}
}

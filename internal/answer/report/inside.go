package report

import (
	"fmt"
	"regexp"
	"strings"

	"lacuna/internal/base/interval"
	"lacuna/internal/kernel/kernelname"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/rules"
)

// Inside is how to look inside the hot kernels of a step: the call of ncu that profiles each of them once, in a warm
// step.
type Inside struct {
	Kernels     []string `json:"kernels"` // functions, most time first
	ShareOfStep float64  `json:"share_of_step"`
	Skip        int      `json:"launch_skip"` // launches of these functions in the capture before its first steady step
	Count       int      `json:"launch_count"`
	Command     string   `json:"command"` // up to the program, if the capture does not say how it was started
	Program     string   `json:"program"` // "": not known
}

const (
	// hotShare is the share of a step from which a kernel is worth a look: twice as fast, it makes the step 5 %
	// shorter.
	hotShare = 0.10
	// maxHot is how many kernels are profiled together.
	maxHot = 5
	// maxReplayed is how many launches ncu is asked for at most: with --set full each is run about 40 times.
	maxReplayed = 20
	// instanceShare is the share of a step from which an instance of a function, with template arguments of its own, is
	// to be among what is profiled.
	instanceShare = 0.05
)

// A hot is a function of kernels with its time in the steps looked at.
type hot struct {
	base  string
	ns    int64
	names []string // of its instances that take much themselves; of the largest if none does
}

// inside is how to look inside the hot kernels; nil: there are none. Communication is left out: its kernels wait for
// other ranks, which ncu's replay keeps from coming, so that it hangs. So are matrix products and the like of
// libraries: what they look like inside is not the user's to change.
func (o *one) inside() *Inside {
	f, w := o.f, o.f.Work()
	bases := newBases(f)
	sums, instances := newTally[string](), newTally[string]()
	o.eachWork(func(i int, s interval.Span) {
		if w.Kind[i] == facts.WorkKernel {
			sums.at(bases.of(w.Row[i])).ns += s.LenNs()
			instances.at(bases.name(w.Row[i])).ns += s.LenNs()
		}
	})
	byTime := instances.top(len(instances.keys))
	var list []hot
	for _, base := range sums.top(maxHot + 1) { // one is ""
		if ns := sums.rows[base].ns; o.share(ns) >= hotShare && base != "" {
			h := hot{base: base, ns: ns}
			for _, name := range byTime {
				if bases.known[name] == base && (len(h.names) == 0 ||
					o.share(instances.rows[name].ns) >= instanceShare) {
					h.names = append(h.names, name)
				}
			}
			list = append(list, h)
		}
	}
	for len(list) > 0 { // the coldest goes until few enough launches have all of them
		skip, count := o.launches(bases, list)
		if count <= maxReplayed || len(list) == 1 {
			return o.insideOf(list, skip, min(count, maxReplayed))
		}
		list = list[:len(list)-1]
	}
	return nil
}

func (o *one) insideOf(list []hot, skip, count int) *Inside {
	x := &Inside{Skip: skip, Count: count, Program: strings.TrimSpace(o.f.Trace.Info.Command)}
	var names []string
	for _, h := range list {
		x.Kernels = append(x.Kernels, h.base)
		x.ShareOfStep += o.share(h.ns)
		names = append(names, regexp.QuoteMeta(h.base))
	}
	pattern := names[0]
	if len(names) > 1 {
		pattern = "(" + strings.Join(names, "|") + ")"
	}
	x.Command = fmt.Sprintf("ncu --set full --import-source yes --kernel-name 'regex:^%s$' --launch-skip %d "+
		"--launch-count %d -o kernels", pattern, skip, count)
	return x
}

// launches is how many launches of these functions come before the first steady step, and how many from there on until
// each of their instances was launched once. ncu counts launches of one process in the order in which they are made.
func (o *one) launches(bases *bases, list []hot) (skip, count int) {
	w := o.f.Work()
	wanted, left := make(map[string]bool), make(map[string]bool)
	for _, h := range list {
		wanted[h.base] = true
		for _, name := range h.names {
			left[name] = true
		}
	}
	for i := range w.Len() {
		if w.Kind[i] != facts.WorkKernel || !wanted[bases.of(w.Row[i])] {
			continue
		}
		switch {
		case w.StartNs[i] < o.window.StartNs:
			skip++
		case len(left) > 0:
			count++
			delete(left, bases.name(w.Row[i]))
		default:
			return skip, count
		}
	}
	return skip, max(1, count)
}

// bases is the functions of kernels by name, as ncu's --kernel-name compares them; "" for those of libraries.
type bases struct {
	f     *facts.Facts
	known map[string]string
}

func newBases(f *facts.Facts) *bases { return &bases{f, make(map[string]string)} }

func (b *bases) of(row uint32) string {
	text := b.name(row)
	base, ok := b.known[text]
	if !ok {
		if !rules.IsLibraryKernel(text) {
			base = kernelname.Of(text).Base
		}
		b.known[text] = base
	}
	return base
}

// name is a kernel's whole name.
func (b *bases) name(row uint32) string {
	t := b.f.Trace
	return t.Strings.Text(t.Kernels.Name[row])
}

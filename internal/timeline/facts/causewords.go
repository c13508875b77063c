package facts

import "strings"

// A NamedCause is a cause of idle time outside its capture: as reports hold it, and in words.
type NamedCause struct {
	Kind CauseKind
	Name string // of a range, operator or call; of a cause that is none of ours, its key
}

// Kinds that no capture's own causes have.
const (
	causeCall  CauseKind = iota + causeOp + 1 // in one call that takes long
	causeOther                                // a key that is none of ours
)

// prefixes is what begins the key of a cause that has a name.
var prefixes = map[CauseKind]string{causeRange: "range:", causeOp: "op:", causeCall: "call:"}

// HeldIn is the cause that the host is in one call that takes long: such a call does not launch.
func HeldIn(call string) NamedCause { return NamedCause{causeCall, call} }

// Named is a cause of the capture by its name.
func (f *Facts) Named(c Cause) NamedCause {
	if prefixes[c.Kind] != "" {
		return NamedCause{c.Kind, f.NameText(c.Name)}
	}
	return NamedCause{Kind: c.Kind}
}

// Key is the cause as idle_by_host names it. ParseCause reads it.
func (c NamedCause) Key() string {
	if c.Kind == causeOther {
		return c.Name
	}
	if prefix := prefixes[c.Kind]; prefix != "" {
		return prefix + c.Name
	}
	return plainCauses[c.Kind]
}

// ParseCause is the cause of a key.
func ParseCause(key string) NamedCause {
	for kind, plain := range plainCauses {
		if key == plain {
			return NamedCause{Kind: CauseKind(kind)}
		}
	}
	for kind, prefix := range prefixes {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			return NamedCause{kind, name}
		}
	}
	return NamedCause{causeOther, key}
}

// plainWords is the causes without a name in words, by kind.
var plainWords = [len(plainCauses)]struct{ clause, part, noun string }{
	causeUnknown:  {"does something unrecorded", "unrecorded host activity", "unrecorded host activity"},
	causeSync:     {"waits in a synchronizing call", "synchronizing calls", "synchronizations"},
	causeAlloc:    {"allocates or frees memory", "allocating and freeing memory", "allocations"},
	causeCopyCall: {"is in a blocking copy", "calls of blocking copies", "blocking copies"},
	causeLaunch:   {"launches kernels too slowly", "launch overhead", "launches"},
	causeOS:       {"is in an OS call", "OS calls", "OS calls"},
	causeHost:     {"runs code outside any range", "host code outside any range", "host code outside any range"},
	causeGraph: {"has a CUDA graph running: gaps between its nodes", "gaps between nodes of a graph",
		"gaps between nodes of a graph"},
	causeQueued: {"has launched the next work already, and it starts late", "work that is launched and starts late",
		"late starts of what is launched"},
	causeLost: {"has launched work that was not recorded", "work that was not recorded", "work that was not recorded"},
}

// A Phrase is words, and behind them a name out of the capture where there is one.
type Phrase struct{ Words, Name string }

// With is the phrase as a text; show makes a name fit to be shown.
func (p Phrase) With(show func(name string) string) string {
	if p.Name == "" {
		return p.Words
	}
	return p.Words + show(p.Name)
}

// Clause is what the host did, as the end of a sentence that begins with "the host".
func (c NamedCause) Clause() Phrase {
	switch {
	case c.isPlain():
		return Phrase{Words: plainWords[c.Kind].clause}
	case c.Kind == causeCall:
		return Phrase{"is blocked in ", c.Name}
	case c.Kind == causeOp && strings.Contains(c.Name, "::"): // what PyTorch calls operators; else an annotation
		return Phrase{"is in operator ", c.Name}
	}
	return Phrase{"is in ", c.Name}
}

// Part is a part of the time of a step, as a phrase: "launch overhead".
func (c NamedCause) Part() Phrase {
	switch {
	case c.isPlain():
		return Phrase{Words: plainWords[c.Kind].part}
	case c.Kind == causeRange:
		return Phrase{"host code in ", c.Name}
	case c.Kind == causeOp:
		return Phrase{"host code in operator ", c.Name}
	}
	return Phrase{Name: c.Key()}
}

// Noun is what the GPU waited for, in short: "synchronizations".
func (c NamedCause) Noun() string {
	switch {
	case c.isPlain():
		return plainWords[c.Kind].noun
	case c.Kind == causeOp:
		return "operator " + OpWords(c.Name)
	}
	return c.Name
}

func (c NamedCause) isPlain() bool { return int(c.Kind) < len(plainCauses) }

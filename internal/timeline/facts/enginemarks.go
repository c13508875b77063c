package facts

import (
	"regexp"
	"strconv"
	"strings"
)

// StepKind is what an iteration of a serving engine does. Kinds are never averaged together.
type StepKind string

// The kinds of steps.
const (
	KindPrefill StepKind = "prefill" // prompts only
	KindDecode  StepKind = "decode"  // a token for each running request
	KindMixed   StepKind = "mixed"   // both in one pass
	KindVerify  StepKind = "verify"  // of speculation: the model judges drafted tokens
	KindDraft   StepKind = "draft"   // of speculation: a small model guesses tokens
	KindIdle    StepKind = "idle"    // no requests: a pass that keeps other ranks company
	KindOther   StepKind = "other"   // the mark does not say
)

// StepKinds is all of them, in the order in which people read them.
var StepKinds = []StepKind{KindPrefill, KindMixed, KindDecode, KindDraft, KindVerify, KindIdle, KindOther}

// NotSaid is a count that a mark does not give.
const NotSaid int64 = -1

// A Batch is what a mark says that an iteration works on.
type Batch struct {
	Kind          StepKind
	Requests      int64 // in all; NotSaid, as the others
	Prefill       int64 // requests whose prompt is read
	Decode        int64 // requests that get a token
	PrefillTokens int64 // new tokens of prompts
	DecodeTokens  int64 // new tokens of running requests: more than requests where tokens are drafted
	Tokens        int64 // new tokens in all
	Padded        int64 // the batch that the graph was captured for
	Context       int64 // tokens that running requests attend to, in all
}

// An engineMark is a form of names by which a serving engine marks an iteration. The groups of the expression say what
// is what:
//
//	mode            the kind, in the engine's words
//	bs, padded      requests in all, and those that the graph has room for
//	c, g            requests in prefill and in decode
//	c_sq, g_sq      their new tokens
//	g_sk            the tokens that requests in decode attend to
//	rest            more of these as key=value; toks and tok are all new tokens
//
// Expressions are not anchored: a patch may write before and behind.
type engineMark struct {
	engine string
	has    string // what every such name holds: names are checked by the million
	form   *regexp.Regexp
}

// engineMarks is the shelf. Sources: the engines' own code and captures of them, as of 2026; the first that fits
// counts. Of sums over requests those of new tokens (sq) and of tokens to attend to (sk) are used.
var engineMarks = []engineMark{
	// gpu_worker.py, annotate_profile, and the same with the sums that rooflines of attention need
	{"vllm", "_generation_", regexp.MustCompile(
		`context_(?P<c>\d+)\(sq(?P<c_sq>\d+)sk\d+sqsq\d+sqsk\d+\)_generation_(?P<g>\d+)\(sq(?P<g_sq>\d+)sk(?P<g_sk>\d+)sqsq\d+sqsk\d+\)`)},
	{"vllm", "_generation_", regexp.MustCompile(
		`context_(?P<c>\d+)\((?P<c_sq>\d+)\)_generation_(?P<g>\d+)\((?P<g_sq>\d+)\)`)},
	// the same before 2026: requests that are new to this iteration, and all others
	{"vllm", "execute_new_", regexp.MustCompile(`execute_new_(?P<c>\d+)_cached_(?P<g>\d+)`)},
	// step_span_utils.py, build_step_span_name
	{"sglang", "step[", regexp.MustCompile(`step\[(?P<mode>[A-Z][A-Z0-9_]*) bs=(?P<bs>\d+)(?P<rest>[^\]]*)\]`)},
	// py_executor.py, _forward_step
	{"trtllm", "_forward_step", regexp.MustCompile(
		`_forward_step(?: \d+)?: (?P<c>\d+) ctx reqs(?:, (?P<c_sq>\d+) ctx tokens)?, (?P<g>\d+) gen reqs`)},
	// run_labels.py
	{"atom", "[bs=", regexp.MustCompile(
		`\b(?P<mode>(?:dummy_)?(?:eager_)?(?:prefill|decode))\[bs=(?P<bs>\d+)(?:/(?P<padded>\d+))?(?P<rest>[^\n]*)\]`)},
	{"atom", "propose_", regexp.MustCompile(
		`\b(?P<mode>propose_)\w*\[[^\]]*?\bbs=(?P<bs>\d+)(?:/(?P<padded>\d+))?(?P<rest>[^\]]*)\]`)},
}

// sharedForm is the engine whose form patches of other engines write around their marks.
const sharedForm = "vllm"

// weakMarks is ranges that hold an iteration and do not say of what. They count where nothing better marks steps.
var weakMarks = []engineMark{
	{"other", "execute_diffusion_", regexp.MustCompile(`execute_diffusion_\d+_\d+x\d+`)},
	{"vllm", "gpu_model_runner: forward", regexp.MustCompile(`^gpu_model_runner: forward$`)},
	{"sglang", "scheduler.run_batch", regexp.MustCompile(`^scheduler\.run_batch$`)},
}

// mostCounted is the largest number of requests or tokens that is believed: no engine runs ten million at once.
const mostCounted = 10_000_000

// EngineBatch is what a range of this name says of an iteration; no engine's name: engine is "".
func EngineBatch(name string) (engine string, b Batch) {
	for i := range engineMarks {
		m := &engineMarks[i]
		if !strings.Contains(name, m.has) {
			continue
		}
		if groups := m.form.FindStringSubmatch(name); groups != nil {
			return m.engine, batchOf(m.form.SubexpNames(), groups)
		}
	}
	return "", Batch{}
}

// weakMark is the engine of a name that may hold an iteration, or "".
func weakMark(name string) string {
	for i := range weakMarks {
		if m := &weakMarks[i]; strings.Contains(name, m.has) && m.form.MatchString(name) {
			return m.engine
		}
	}
	return ""
}

// keyValue is a number in the rest of a mark.
var keyValue = regexp.MustCompile(`\b(\w+)=(\d+)`)

// batchOf reads the groups of a name that has an engine's form.
func batchOf(names, groups []string) Batch {
	said := make(map[string]int64)
	mode, believed := "", true
	put := func(key, digits string) {
		n, err := strconv.ParseInt(digits, 10, 64)
		if counted := key == "bs" || key == "c" || key == "g" || key == "toks" || key == "tok" || key == "padded" ||
			key == "c_sq" || key == "g_sq"; counted && (err != nil || n > mostCounted) {
			believed = false
		}
		if _, twice := said[key]; !twice && err == nil {
			said[key] = n
		}
	}
	for i, key := range names {
		switch {
		case groups[i] == "" || key == "":
		case key == "mode":
			mode = groups[i]
		case key == "rest":
			for _, kv := range keyValue.FindAllStringSubmatch(groups[i], -1) {
				put(kv[1], kv[2])
			}
		default:
			put(key, groups[i])
		}
	}
	if !believed {
		return unknownBatch()
	}
	return sayBatch(mode, func(keys ...string) int64 {
		for _, k := range keys {
			if n, ok := said[k]; ok {
				return n
			}
		}
		return NotSaid
	})
}

func unknownBatch() Batch {
	return Batch{KindOther, NotSaid, NotSaid, NotSaid, NotSaid, NotSaid, NotSaid, NotSaid, NotSaid}
}

// modeKind is the kind of an engine's word for it; of others the counts decide.
func modeKind(mode string) StepKind {
	switch {
	case strings.HasPrefix(mode, "dummy"), strings.HasPrefix(mode, "DUMMY"), mode == "IDLE":
		return KindIdle
	case strings.HasPrefix(mode, "DRAFT"), strings.HasPrefix(mode, "propose"):
		return KindDraft
	case strings.HasSuffix(mode, "VERIFY"):
		return KindVerify
	case mode == "EXTEND", mode == "PREFILL", mode == "SPLIT_PREFILL", mode == "prefill", mode == "eager_prefill":
		return KindPrefill
	case mode == "DECODE", mode == "decode", mode == "eager_decode":
		return KindDecode
	case mode == "MIXED":
		return KindMixed
	}
	return KindOther
}

// sayBatch makes a batch of what a mark says.
func sayBatch(mode string, said func(keys ...string) int64) Batch {
	b := Batch{Requests: said("bs"), Prefill: said("c", "p"), Decode: said("g", "d"),
		PrefillTokens: said("c_sq"), DecodeTokens: said("g_sq"), Tokens: said("toks", "tok"), Padded: said("padded"),
		Context: said("g_sk")}
	if raw := said("raw_bs"); raw != NotSaid { // what bs is then is the graph's
		b.Requests, b.Padded = raw, b.Requests
	}
	if mode != "" {
		b.Kind = modeKind(mode)
	}
	switch b.Kind {
	case KindPrefill:
		b.Prefill, b.PrefillTokens = b.Requests, max(b.PrefillTokens, b.Tokens)
		b.Decode, b.DecodeTokens, b.Tokens = 0, 0, b.PrefillTokens
	case KindDecode:
		if b.Prefill > 0 { // both, on the path of decode
			b.Kind = KindMixed
			break
		}
		b.Prefill, b.PrefillTokens, b.Decode = 0, 0, b.Requests
		b.DecodeTokens = max(b.DecodeTokens, b.Tokens, b.Decode)
		b.Tokens = b.DecodeTokens
	case "", KindMixed:
		b.count()
	}
	return b
}

// count finds the kind by how many requests there are of which; where that is not said the kind stays.
func (b *Batch) count() {
	if b.Prefill == NotSaid || b.Decode == NotSaid {
		return
	}
	b.Requests = b.Prefill + b.Decode
	switch {
	case b.Prefill > 0 && b.Decode > 0:
		b.Kind, b.DecodeTokens = KindMixed, max(b.DecodeTokens, b.Decode)
	case b.Prefill > 0:
		b.Kind, b.DecodeTokens = KindPrefill, 0
	case b.Decode > 0:
		b.Kind, b.PrefillTokens, b.DecodeTokens = KindDecode, 0, max(b.DecodeTokens, b.Decode)
	default:
		b.Kind, b.PrefillTokens, b.DecodeTokens = KindIdle, 0, 0
	}
	if b.Tokens == NotSaid && b.PrefillTokens != NotSaid && b.DecodeTokens != NotSaid {
		b.Tokens = b.PrefillTokens + b.DecodeTokens
	}
}

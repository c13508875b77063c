package facts

import (
	"regexp"
	"strings"
)

// A loopWord is what a range's name says of its place in a loop.
type loopWord uint8

// From the inside to the outside. A name with words of several is of the first: micro_batch_3 is part of a step,
// optimizer_step and load_batch are phases, train_step a turn, epoch_0/step_3 as well.
const (
	wordNone  loopWord = iota // nothing that is known
	wordPart                  // part of a model or of a kernel: many in each turn
	wordPhase                 // of a turn: one in each
	wordTurn                  // what people call one turn of their loop
	wordWhole                 // many turns
)

// The words, as people use them in NVTX ranges, record_function and the hooks of training frameworks: Lightning's
// run_training_batch, DeepSpeed's DeepSpeedEngine.step, Megatron's forward_step (of a micro-batch).
var loopWords = func() map[string]loopWord {
	out := make(map[string]loopWord)
	for word, list := range map[loopWord]string{
		wordPart: "layer layers block blocks blk head heads expert experts bucket chunk shard tile stage micro " +
			"microbatch mb module modules submodule conv convolution norm layernorm batchnorm rmsnorm groupnorm attn " +
			"attention mlp ffn moe embed embedding linear relu gelu softmax pool residual kernel op gemm matmul " +
			"encoder decoder backbone",
		wordPhase: "forward fwd backward bwd backprop optimizer optim opt loss grad zero h2d d2h htod dtoh copy " +
			"memcpy upload download transfer load loading loader data dataload fetch read preprocess postprocess " +
			"collate allreduce reduce sync synchronize synchronization wait checkpoint save log logging eval " +
			"evaluate validate validation schedule prefetch",
		wordTurn: "step steps iter iters iteration iterations itr batch minibatch token tokens request req frame " +
			"image sample",
		wordWhole: "epoch epochs trial fold experiment rank",
	} {
		for w := range strings.FieldsSeq(list) {
			out[w] = word
		}
	}
	return out
}()

// dotted is a number in the path of a module: blocks.3.attn, h.11, layers[3].
var dotted = regexp.MustCompile(`[A-Za-z_]\.\d+(\.|\)|$)|\w\[\d+\]`)

// dimensions ends the names of modules by how many dimensions their data has: BatchNorm2d.
var dimensions = regexp.MustCompile(`[123]d$`)

// numberedRun is a run of many turns: "run 3"; as a verb, as in run_model, the word says nothing.
var numberedRun = regexp.MustCompile(`(?i)(^|[^a-z])run[-_#: ]*\d`)

// loopWordOf is what a name says: of several words the innermost one's.
func loopWordOf(name string) loopWord {
	if dotted.MatchString(name) {
		return wordPart
	}
	found := wordNone
	for _, w := range nameWords(name) {
		is := loopWords[w]
		if is == wordNone {
			is = loopWords[dimensions.ReplaceAllString(w, "")]
		}
		if is != wordNone && (found == wordNone || is < found) {
			found = is
		}
	}
	if found == wordNone && numberedRun.MatchString(name) {
		return wordWhole
	}
	return found
}

// nameWords is the words of a name in lower case: runs of letters, cut where a capital follows a small letter.
// A digit between letters belongs to the word, as in h2d.
func nameWords(name string) []string {
	var out []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			out = append(out, strings.ToLower(word.String()))
			word.Reset()
		}
	}
	isLetter := func(i int) bool {
		return i >= 0 && i < len(name) && (name[i]|0x20 >= 'a' && name[i]|0x20 <= 'z' || name[i] >= 0x80)
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case isLetter(i):
			if c >= 'A' && c <= 'Z' && i > 0 && name[i-1] >= 'a' && name[i-1] <= 'z' {
				end()
			}
			word.WriteByte(c)
		case c >= '0' && c <= '9' && isLetter(i-1) && isLetter(i+1):
			word.WriteByte(c)
		default:
			end()
		}
	}
	end()
	return out
}

// warmUp is how names say that a turn only warms up; measured, that it is one of those that count. Benchmarks name
// the two kinds of turns by these words and nothing else: [param|…|warmup|forward], [param|…|measure|forward].
var (
	warmUp   = regexp.MustCompile(`(?i)warm[-_ ]?up`)
	measured = regexp.MustCompile(`(?i)measured?|benchmark|timed`)
)

// turnKey is what the names of a loop's turns have in common: the name with a * for every number, and a ~ where it
// says whether the turn warms up.
func turnKey(name string) string {
	return familyKey(measured.ReplaceAllString(warmUp.ReplaceAllString(name, "~"), "~"))
}

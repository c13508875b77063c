package engine

import "lacuna/internal/timeline/facts"

// StepKinds is the kinds of steps that serving engines mark.
func StepKinds() (out []string) {
	for _, k := range facts.StepKinds {
		out = append(out, string(k))
	}
	return out
}

// Engines is the serving engines whose marks can be asked for, and none.
func Engines() []string { return append(facts.Engines(), facts.NoEngine) }

// OfKind is opt for an engine's steps of one of StepKinds. size is any batch or number of tokens of the size that is
// meant; 0: all sizes.
func OfKind(opt StepOptions, kind string, size int64) StepOptions {
	opt.Kind, opt.Bucket = facts.StepKind(kind), facts.BucketOf(size)
	return opt
}

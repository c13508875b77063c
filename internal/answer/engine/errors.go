package engine

import (
	"fmt"
	"strconv"
	"strings"
)

// A NoRankError says that no input is the rank that was asked for.
type NoRankError struct {
	Rank int
	Have []int32 // ranks that inputs say they are
}

func (e *NoRankError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("--rank %d: no input names its rank", e.Rank)
	}
	return fmt.Sprintf("--rank %d: no input is that rank (have %s)", e.Rank, rankList(e.Have))
}

// An OtherRanksError says that a side of a comparison is of other ranks than the one that was taken of the other side.
type OtherRanksError struct {
	Where string // a file, or the name of a history
	Have  []int32
	Rank  int32
	Of    string // the file that Rank was taken of; "": the new runs, and Where is a history
}

func (e *OtherRanksError) Error() string {
	if e.Of == "" {
		return fmt.Sprintf("%s: its runs are of rank %s, not of %d, which was taken of the new runs; --rank takes one",
			e.Where, rankList(e.Have), e.Rank)
	}
	return fmt.Sprintf("%s: holds ranks %s, not %d, which %s is; --rank takes one that both have",
		e.Where, rankList(e.Have), e.Rank, e.Of)
}

// A CannotReplayError says why the gain of changes is unknown of a capture.
type CannotReplayError struct{ Input, Why, Try string }

func (e *CannotReplayError) Error() string {
	return fmt.Sprintf("%s: cannot be replayed: %s; get it with %s", e.Input, e.Why, e.Try)
}

// A NoMatchError says that a selection of kernel launches leaves nothing.
type NoMatchError struct {
	Input string
	Why   error
}

func (e *NoMatchError) Error() string { return e.Input + ": " + e.Why.Error() }
func (e *NoMatchError) Unwrap() error { return e.Why }

// A NothingInCommonError says that two sides of a comparison have no measure that both have.
type NothingInCommonError struct{ Before, After, BeforeHas, AfterHas string }

func (e *NothingInCommonError) Error() string {
	return fmt.Sprintf("%s and %s have no measure in common (before: %s; after: %s)",
		e.Before, e.After, e.BeforeHas, e.AfterHas)
}

// A NotComparableError says why the two sides of a difference cannot be held against each other.
type NotComparableError struct {
	Before, After string
	Why           []string
}

func (e *NotComparableError) Error() string {
	return fmt.Sprintf("%s and %s are not comparable: %s", e.Before, e.After, strings.Join(e.Why, "; "))
}

// A PredictedError says why a prediction cannot be held against a difference.
type PredictedError struct{ Why error }

func (e *PredictedError) Error() string { return e.Why.Error() }
func (e *PredictedError) Unwrap() error { return e.Why }

// A ReadOnceError says that a question needs parts of stdin that were passed over when it was read.
type ReadOnceError struct{}

func (*ReadOnceError) Error() string {
	return "stdin (-) can be read only once, and was already read"
}

// A ClosedError says that a Job was asked after it was closed.
type ClosedError struct{ Input string }

func (e *ClosedError) Error() string { return e.Input + ": is closed" }

// rankList is ranks for people: 0, 1, 2.
func rankList(ranks []int32) string {
	var words []string
	for _, r := range ranks {
		words = append(words, strconv.Itoa(int(r)))
	}
	return strings.Join(words, ", ")
}

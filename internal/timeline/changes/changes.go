// Package changes is the shelf of what-if changes: one file a change to a program, applied to a
// replay.Edit. A change never simulates; it says what would be different and what that takes for granted.
package changes

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"lacuna/internal/timeline/replay"
)

// A Change is something that a person could do to the program.
type Change struct {
	Name    string // "prefetch"
	Syntax  string // "prefetch:RANGE[@WORKERS]"
	Title   string // one line: what it does
	Doc     string // how it is replayed
	Assumes string // what it takes for granted, always
	NotWhen string // when it is not allowed, or means nothing
	Example string // "prefetch:data_load@12"
	// Together says that Apply changes all ranks that e is replayed with; else it is called for each.
	Together bool

	// Apply changes e and says how many calls or pieces of work it matched. It returns ErrNoMatch
	// if there are none, or an error that says why the change is not allowed.
	Apply func(e *replay.Edit, arg string) (matched int, err error)
}

// ErrNoMatch says that a change found nothing to change.
var ErrNoMatch = errors.New("matches nothing")

// A NotAllowedError says that a change cannot be made to this program.
type NotAllowedError struct {
	Why   string
	First string // the change that must be made before it, or ""
}

func (e *NotAllowedError) Error() string { return "is not allowed here: " + e.Why }

// Find understands the text of -x: a name, and what follows its colon.
func Find(text string) (*Change, string, error) {
	name, arg, _ := strings.Cut(text, ":")
	for _, c := range All {
		if c.Name == name {
			return c, arg, nil
		}
	}
	var names []string
	for _, c := range All {
		names = append(names, c.Name)
	}
	return nil, "", fmt.Errorf("no change %q; changes are %s", name, strings.Join(names, ", "))
}

// pattern understands a regular expression that must match whole names unless it says otherwise.
func pattern(change, arg string) (*regexp.Regexp, error) {
	if arg == "" {
		return nil, fmt.Errorf("%s: needs a name or regular expression after the colon", change)
	}
	re, err := regexp.Compile("^(?:" + arg + ")$")
	if err != nil {
		return nil, fmt.Errorf("%s:%s: %w", change, arg, err)
	}
	return re, nil
}

// matched is the answer of Apply for a count.
func matched(n int) (int, error) {
	if n == 0 {
		return 0, ErrNoMatch
	}
	return n, nil
}

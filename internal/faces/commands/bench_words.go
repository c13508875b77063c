package commands

import (
	"errors"
	"fmt"
	"strings"
)

// splitWords splits a command into words as a shell does: at blanks, with '...', "..." and \ keeping what they
// hold. What only a shell could do is refused and not guessed.
func splitWords(text string) ([]string, error) {
	var out []string
	var word strings.Builder
	in, quote, escaped := false, rune(0), false
	for _, c := range text {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			in, escaped = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			if quote == '"' && (c == '$' || c == '`') {
				return nil, needsShell(c)
			}
			word.WriteRune(c)
		case c == '\'' || c == '"':
			in, quote = true, c
		case c == ' ' || c == '\t' || c == '\n':
			if in {
				out = append(out, word.String())
				word.Reset()
				in = false
			}
		case strings.ContainsRune("|&;<>$`*?()#", c):
			return nil, needsShell(c)
		default:
			in = true
			word.WriteRune(c)
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote is not closed")
	}
	if in {
		out = append(out, word.String())
	}
	if len(out) == 0 {
		return nil, errors.New("no program in it")
	}
	return out, nil
}

func needsShell(c rune) error {
	return fmt.Errorf("%q needs a shell, and there is none; quote it, or run sh -c '...' on both sides", c)
}

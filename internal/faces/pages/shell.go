package pages

import (
	"strings"

	"lacuna/internal/answer/report"
)

// InputWord is the input that lists and findings are of, as a word of a command.
func InputWord(r *report.Report) string {
	if r.Slowest >= len(r.Inputs) || r.Inputs[r.Slowest].Path == "-" {
		return "FILE"
	}
	return ShellWord(r.Inputs[r.Slowest].Path)
}

// ShellWord quotes a text so that it can be pasted into a POSIX shell as one word.
func ShellWord(s string) string {
	plain := s != "" && !strings.HasPrefix(s, "-")
	for _, r := range s {
		plain = plain && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("./_-+=:,@%", r))
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

package pages

import (
	"strings"

	"lacuna/internal/runs/compare"
)

// verdictSigns are what the title of a page shows of a verdict at a glance.
var verdictSigns = map[compare.Verdict]string{compare.Faster: "✅", compare.Slower: "❌", compare.Same: "➖",
	compare.Undecided: "❔"}

// verdictWords is a verdict as people read it.
func verdictWords[V ~string](v V) string {
	if string(v) == string(compare.Undecided) {
		return "inconclusive"
	}
	return strings.ReplaceAll(string(v), "_", " ")
}

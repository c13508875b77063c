package pages

import "strings"

// verdictSigns are what the title of a page shows of a verdict at a glance.
var verdictSigns = map[string]string{"faster": "✅", "slower": "❌", "same": "➖", "undecided": "❔"}

// verdictWords is a verdict as people read it.
func verdictWords(v string) string { return strings.ReplaceAll(v, "_", " ") }

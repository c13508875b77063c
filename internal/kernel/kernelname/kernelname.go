// Package kernelname brings the names of GPU functions into forms that can be compared: between profilers,
// whose demanglers differ, and between versions of a program, whose libraries rename what they compile.
package kernelname

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxLen is how much of a kernel's name is compared: longer ones are cut before any work.
const maxLen = 64 << 10

// A Name is a kernel's name in forms that can be compared between profilers, whose demanglers write casts,
// lambdas, anonymous namespaces and blanks each in their own way.
type Name struct {
	Whole string // without return type and parameters
	Base  string // the function alone
	Words string // what Whole is made of, sorted: what is left to compare where even that is written in another way
	Bare  bool   // the name has neither template arguments nor parameters: it may be short
}

// casts are template arguments with their types, as NVIDIA's demangler writes them: "(int)4".
var casts = regexp.MustCompile(`\((?:unsigned |signed )?(?:long long|long int|int|long|short|char|bool)\)(-?\d)`)

// suffixes are template arguments with their types, as the others' write them: "2ul".
var suffixes = regexp.MustCompile(`\b(\d+)(?:ull|ul|u|ll|l)\b`)

// nvidiaLambda is a lambda as NVIDIA's demangler writes it, without blanks.
var nvidiaLambda = regexp.MustCompile(`\[lambda(\([^\[\]]*\))\(instance(\d+)\)\]`)

// Of brings a demangled or mangled name into these forms.
func Of(s string) Name {
	s = s[:min(len(s), maxLen)]
	if strings.HasPrefix(s, "_Z") {
		s = demangle.Filter(s, demangle.MaxLength(16)) // at most 2^16 bytes
	}
	s = strings.NewReplacer("<unnamed>", "@", "(anonymous namespace)", "@").Replace(strings.TrimPrefix(s, "void "))
	bare := !strings.ContainsAny(s, "<(")
	s = withoutParameters(s)
	s = casts.ReplaceAllString(s, "$1")
	s = strings.ReplaceAll(s, " ", "")
	s = suffixes.ReplaceAllString(s, "$1")
	for before := ""; before != s; { // lambdas in lambdas, the inner first
		before = s
		s = nvidiaLambda.ReplaceAllString(s, "{lambda$1#$2}")
	}
	s = strings.NewReplacer("<true", "<1", ",true", ",1", "<false", "<0", ",false", ",0").Replace(s)
	return Name{s, baseOfKernel(s), wordsOf(s), bare}
}

// word is an identifier or a number.
var word = regexp.MustCompile(`[A-Za-z_]\w*|\d+`)

// wordsOf is the words of a name, sorted, once each, without those that demanglers put where they please.
func wordsOf(s string) string {
	all := word.FindAllString(s, -1)
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(w string) bool {
		return slices.Contains([]string{"lambda", "instance", "operator", "const", "void"}, w)
	})
	return strings.Join(all, " ")
}

// withoutParameters cuts the last balanced parentheses off, if a name ends with such.
func withoutParameters(s string) string {
	end := strings.TrimSuffix(strings.TrimRight(s, " "), " const")
	if !strings.HasSuffix(end, ")") {
		return s
	}
	depth := 0
	for i := len(end) - 1; i > 0; i-- {
		switch end[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return strings.TrimSpace(end[:i])
			}
		}
	}
	return s
}

// baseOfKernel is the function alone, without namespaces and template arguments, as ncu's --kernel-name matches it.
func baseOfKernel(s string) string {
	if i := strings.IndexByte(s, '<'); i > 0 {
		s = s[:i]
	}
	if i := strings.LastIndex(s, "::"); i >= 0 {
		s = s[i+len("::"):]
	}
	return s
}

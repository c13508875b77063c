package kernelname

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxDemangle is the longest mangled name that is demangled: longer ones are nobody's to read.
const maxDemangle = 4096

// Short is a kernel's name as far as it tells it apart: demangled, without return type, namespaces
// and arguments, but with its template arguments.
func Short(s string) string {
	if strings.HasPrefix(s, "_Z") && len(s) <= maxDemangle {
		s = demangle.Filter(s, demangle.MaxLength(12), demangle.NoParams) // at most 2^12 bytes
	}
	s = withoutArguments(strings.TrimPrefix(unnamed.Replace(s), "void "))
	depth, name := 0, 0
	for i := 0; i+1 < len(s); i++ {
		switch c := s[i]; {
		case c == '<' && depth == 0:
			return s[name:]
		case c == '(' || c == '{':
			depth++
		case c == ')' || c == '}':
			depth--
		case c == ':' && s[i+1] == ':' && depth == 0 && i+2 < len(s):
			name = i + 2
		}
	}
	return s[name:]
}

// Demangled is a kernel's name as people wrote it, with templates and parameters; a name that is none of C++ as it is.
func Demangled(s string) string {
	if strings.HasPrefix(s, "_Z") && len(s) <= maxDemangle {
		return demangle.Filter(s, demangle.MaxLength(14)) // at most 2^14 bytes
	}
	return s
}

// Qualified is a kernel's name with its namespaces, without return type, anonymous namespaces, template arguments and
// arguments.
func Qualified(s string) string {
	if strings.HasPrefix(s, "_Z") && len(s) <= maxDemangle {
		s = demangle.Filter(s, demangle.MaxLength(12), demangle.NoParams, demangle.NoTemplateParams)
	}
	s = strings.TrimPrefix(unnamed.Replace(s), "void ")
	if i := strings.IndexAny(s, "<("); i >= 0 {
		s = s[:i]
	}
	return s
}

// unnamed takes anonymous namespaces out, as GCC and as NVIDIA's tools write them.
var unnamed = strings.NewReplacer("(anonymous namespace)::", "", "<unnamed>::", "")

// Base is the short name without template arguments too: for prose.
func Base(s string) string {
	s = Short(s)
	if i := strings.IndexByte(s, '<'); i > 0 && !strings.HasPrefix(s, "operator") {
		s = s[:i]
	}
	return s
}

// plainCasts takes the types of template arguments out, as NVIDIA's demangler writes them: "<(int)64, (bool)1>".
var plainCasts = strings.NewReplacer("(int)", "", "(bool)", "", "(unsigned int)", "", "(unsigned long)", "", "(long)",
	"",
	"(short)", "", "(unsigned short)", "", "(unsigned char)", "")

// Profiled is Short for names as Nsight Compute writes them.
func Profiled(s string) string { return Short(plainCasts.Replace(s)) }

// withoutArguments cuts the last balanced parentheses off, if a name ends with such.
func withoutArguments(s string) string {
	if !strings.HasSuffix(s, ")") {
		return s
	}
	depth := 0
	for i := len(s) - 1; i > 0; i-- {
		switch s[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return strings.TrimSpace(s[:i])
			}
		}
	}
	return s
}

package kernelname

import (
	"regexp"
	"strings"
)

// turned is what autotuners, library versions and architectures put into a function's name: numbers and tiles
// (128x64, 64x3), architectures (sm80, sm_90a, ampere), hashes, and single letters with a number (stages, v2, k16).
var turned = regexp.MustCompile(`sm_?\d+[a-z]?|(volta|turing|ampere|ada|hopper|blackwell|maxwell|pascal)|0x[0-9a-f]+|[0-9a-f]{8,}|\d+(x\d+)*|\b[a-z]\b`)

// underscores is what is left between what was taken out.
var underscores = regexp.MustCompile(`_+`)

// Stem is a function's own name without what changes from one version, tile or architecture to the next. CUTLASS
// wraps its kernels: of Kernel2<cutlass_80_simt_sgemm_128x64_8x5> the stem is that of what is wrapped.
func (n Name) Stem() string {
	s := n.Base
	if strings.EqualFold(strings.TrimRight(s, "0123456789"), "kernel") {
		if _, inner, ok := strings.Cut(n.Whole, "<"); ok {
			s = inner[:min(len(inner), strings.IndexAny(inner+"<>,", "<>,"))]
		}
	}
	s = strings.ToLower(s)
	s = underscores.ReplaceAllString(turned.ReplaceAllString(strings.ReplaceAll(s, "_", " _ "), "_"), "_")
	s = strings.Trim(underscores.ReplaceAllString(strings.ReplaceAll(s, " ", ""), "_"), "_")
	if s == "" {
		return strings.ToLower(n.Base)
	}
	return s
}

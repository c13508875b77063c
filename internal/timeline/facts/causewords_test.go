package facts

import "testing"

// TestCauseKeys: every cause is read back from its key, and every one that has no name of its own has words.
func TestCauseKeys(t *testing.T) {
	for key, want := range map[string]NamedCause{
		"unknown": {Kind: causeUnknown}, "sync": {Kind: causeSync}, "alloc": {Kind: causeAlloc},
		"copy_call": {Kind: causeCopyCall},
		"launch":    {Kind: causeLaunch}, "os": {Kind: causeOS}, "host": {Kind: causeHost},
		"range:sync": {causeRange, "sync"}, "op:aten::item": {causeOp, "aten::item"},
		"call:cuModuleLoad": {causeCall, "cuModuleLoad"},
		"range:":            {causeRange, ""}, "": {causeOther, ""}, "range": {causeOther, "range"},
		"compute": {causeOther, "compute"},
	} {
		c := ParseCause(key)
		if c != want {
			t.Errorf("%q is %+v, want %+v", key, c, want)
		}
		if c.Key() != key {
			t.Errorf("%q comes back as %q", key, c.Key())
		}
	}
	for kind, words := range plainWords {
		if words.clause == "" || words.part == "" || words.noun == "" {
			t.Errorf("no words for %s", plainCauses[kind])
		}
	}
}

package instrument

import "github.com/rogpeppe/go-internal/diff"

// Diff is the change from a script to its instrumented form as patch takes it: patch SCRIPT < FILE. The path is that
// of the script, as the user typed it.
func Diff(path, before, after string) string {
	return string(diff.Diff(path, []byte(before), path, []byte(after)))
}

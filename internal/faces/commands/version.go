package commands

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/pflag"
)

var versionCommand = Command{
	Name:     "version",
	Title:    "Print the version and the build",
	Examples: []string{"lacuna version"},
	Setup: func(*pflag.FlagSet) Run {
		return func(_ context.Context, env *Env, _ []string) error { return env.write(printVersion) }
	},
}

// printVersion writes what the Go toolchain knows of the binary.
func printVersion(w io.Writer) error {
	version, revision := "(devel)", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		dirty := ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = ", changed since"
			}
		}
		if revision != "" {
			revision = " (" + revision[:min(len(revision), 12)] + dirty + ")"
		}
	}
	_, err := fmt.Fprintf(w, "lacuna %s%s %s %s/%s\n", version, revision, runtime.Version(), runtime.GOOS,
		runtime.GOARCH)
	return err
}

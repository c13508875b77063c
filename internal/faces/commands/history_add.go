package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/internal/answer/engine"
	"lacuna/internal/runs/history"
	"lacuna/internal/runs/measure"
)

var historyAddCommand = &Command{
	Name:  "add",
	Args:  "INPUT...",
	Title: "Add the runs in captures, kernel reports and measure files",
	Doc: `
Commit and branch come from git, unless --commit and --branch are given.`,
	Examples: []string{
		"lacuna history add run.sqlite --program train.py",
		"lacuna history add after.sqlite --program train.py --commit 4f2a91c",
	},
	Setup: func(flags *pflag.FlagSet) Run {
		c := &historyAddCall{
			store:   storeFlag(flags),
			format:  choose(flags, "format", "output `FORMAT`: text or json", "text", "json"),
			program: flags.String("program", "", "`NAME` of the program, if the input has none"),
			branch:  flags.String("branch", "", "`NAME` of the branch of the runs (default: from git)"),
			commit:  flags.String("commit", "", "`COMMIT` of the runs (default: git's HEAD)"),
			labels:  flags.StringArray("label", nil, "label the runs with `NAME=VALUE`; may be repeated"),
			steps:   flags.String("steps", "", "only steps `A:B`: positions from 0, B excluded, of captures"),
			pattern: flags.String("step-range", "", "steps are the ranges named `NAME`, or that match /REGEXP/"),
			rank:    optionalInt(flags, "rank", "only rank `N`, if there are several (default the slowest)"),
		}
		return c.run
	},
}

// A historyAddCall is the flags of history add.
type historyAddCall struct {
	store, format, program, branch, commit, steps, pattern *string
	labels                                                 *[]string
	rank                                                   *int
}

func (c *historyAddCall) run(ctx context.Context, env *Env, args []string) error {
	if len(args) == 0 {
		return errCall("history add: no INPUT given; try lacuna history add run.sqlite")
	}
	labels, err := parseLabels(*c.labels)
	if err != nil {
		return err
	}
	steps, err := stepOptions(*c.steps, *c.pattern)
	if err != nil {
		return err
	}
	place, err := historyPlace(*c.store)
	if err != nil {
		return err
	}
	files, err := engine.RunFiles(args)
	if err != nil {
		return err
	}
	if err := checkRank("history add", *c.rank); err != nil {
		return err
	}
	in := env.openRuns(steps, *c.rank)
	runs, err := in.Read(ctx, files)
	if err != nil {
		return err
	}
	env.tellRanks(in)
	for i, r := range runs {
		if *c.program == "" && r.Program == "" {
			return errCall("history add: %s: does not say which program it is of, and runs of different programs must "+
				"not be compared; name it with --program NAME", firstOf(r.Name, files[min(i, len(files)-1)]))
		}
	}
	entries := c.entries(ctx, env, runs, labels)
	s, err := history.Create(ctx, place)
	if err != nil {
		return err
	}
	defer s.Close()
	keys, present, err := s.Add(ctx, entries)
	if err != nil {
		return err
	}
	return env.write(func(w io.Writer) error { return c.saved(w, s, entries, keys, present) })
}

// saved says what was kept.
func (c *historyAddCall) saved(w io.Writer, s *history.Store, entries []history.Entry, keys []string,
	present int) error {
	if *c.format == "json" {
		return json.NewEncoder(w).Encode(map[string]any{"schema": 1, "store": s.Name, "runs": keys,
			"added": len(keys) - present, "present": present})
	}
	at := ""
	if e := entries[0]; e.Commit != "" {
		at = " at " + e.Commit[:min(12, len(e.Commit))]
	}
	if b := entries[0].Branch; b != "" {
		at += " (" + b + ")"
	}
	runs := fmt.Sprintf("%d runs", len(keys)-present)
	if len(keys)-present == 1 {
		runs = "1 run"
	}
	there := ""
	if present > 0 {
		there = fmt.Sprintf("; %d of them were there already", present)
	}
	_, err := fmt.Fprintf(w, "%s added%s to %s%s\n", runs, at, s.Name, there)
	return err
}

// entries says of each run which commit it is of: by the flags, by its own labels, by git.
func (c *historyAddCall) entries(ctx context.Context, env *Env, runs []*measure.Run,
	labels []measure.Pair) (out []history.Entry) {
	asked := make(map[string]checkout)
	ask := func(commit string) checkout {
		if _, ok := asked[commit]; !ok {
			asked[commit] = askGit(ctx, commit)
		}
		return asked[commit]
	}
	unknown := ""
	for _, r := range runs {
		own := func(name string) string {
			i := slices.IndexFunc(r.Labels, func(p measure.Pair) bool { return p.Name == name })
			if i < 0 {
				return ""
			}
			return r.Labels[i].Value
		}
		commit := firstOf(*c.commit, own("commit"))
		at := ask(commit)
		if at.commit == "" {
			unknown = at.why
		}
		for _, l := range labels {
			r.Labels = append(slices.DeleteFunc(r.Labels, func(p measure.Pair) bool { return p.Name == l.Name }), l)
		}
		if at.dirty {
			r.Labels = append(r.Labels, measure.Pair{Name: "dirty", Value: "yes"})
		}
		r.Sort()
		r.Program = firstOf(*c.program, r.Program)
		out = append(out, history.Entry{Run: r, Commit: at.commit,
			Branch: firstOf(*c.branch, own("branch"), at.branch), CommitAt: at.at})
	}
	if unknown != "" {
		env.remark("history add: the commit is unknown (%s): runs are ordered by their time, and blame cannot name "+
			"a commit; give it with --commit", unknown)
	}
	if ask("").dirty && *c.commit == "" {
		env.remark("history add: tracked files differ from HEAD: the runs are labelled dirty=yes")
	}
	return out
}

// firstOf is the first text that is not empty.
func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// parseLabels understands NAME=VALUE.
func parseLabels(texts []string) (out []measure.Pair, err error) {
	for _, t := range texts {
		name, value, ok := strings.Cut(t, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, errCall("--label %s: want NAME=VALUE", t)
		}
		out = append(out, measure.Pair{Name: name, Value: value})
	}
	return out, nil
}

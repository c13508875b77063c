package commands

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"lacuna/internal/answer/engine"
)

// openJob prepares questions about captures; what is read is shown on stderr.
func (e *Env) openJob(paths []string, steps engine.StepOptions, rank int) *engine.Job {
	return engine.Open(paths, engine.Options{Steps: steps, Rank: rank, Progress: e})
}

// openRuns begins a comparison.
func (e *Env) openRuns(steps engine.StepOptions, rank int) *engine.Runs {
	return engine.OpenRuns(engine.Options{Steps: steps, Rank: rank, Progress: e})
}

// tellRanks says on stderr which ranks were taken.
func (e *Env) tellRanks(runs *engine.Runs) {
	for _, text := range runs.Said() {
		e.remark("%s", text)
	}
}

// inputFiles is the files that a command's arguments name: files, the files of folders, globs that the shell did not
// expand. There is one at least, stdin is named once, and no file twice: it would count twice.
func inputFiles(command string, args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, errCall("%s: no INPUT given; try lacuna %s trace.json.gz, or lacuna demo", command, command)
	}
	files, err := engine.RunFiles(args)
	if err != nil {
		return nil, err
	}
	var seen []os.FileInfo
	for i, path := range files {
		st, err := os.Stat(path)
		if path == "-" {
			if slices.Contains(files[:i], "-") {
				return nil, errCall("%s: stdin (-) can be read only once", command)
			}
			st, err = nil, nil
		}
		if err != nil {
			st = nil // the reader says it
		}
		for k, earlier := range seen {
			if st != nil && earlier != nil && os.SameFile(st, earlier) {
				return nil, errCall("%s: %s and %s are the same file; name it once", command, files[k], path)
			}
		}
		seen = append(seen, st)
	}
	return files, nil
}

// stepOptions understands --steps A:B and --step-range.
func stepOptions(steps, pattern string) (engine.StepOptions, error) {
	var opt engine.StepOptions
	if steps != "" {
		first, last, ok := strings.Cut(steps, ":")
		var err1, err2 error
		if first != "" {
			opt.First, err1 = strconv.Atoi(first)
		}
		if last != "" {
			opt.Last, err2 = strconv.Atoi(last)
		}
		if !ok || err1 != nil || err2 != nil {
			return opt, errCall("--steps %s: want two positions A:B, from 0, B excluded, such as 2:10 or 1:-1 or 5:",
				steps)
		}
		opt.Pin, opt.Whole = true, last == ""
	}
	if pattern != "" {
		re, err := compileRange(pattern)
		if err != nil {
			return opt, err
		}
		opt.Range, opt.Asked = re, pattern
	}
	return opt, nil
}

// anyEngine is the word of --engine for whichever engine marks steps.
const anyEngine = "auto"

// engineFlag declares --engine, which says whose marks steps are.
func engineFlag(flags *pflag.FlagSet) *string {
	words := append([]string{anyEngine}, engine.Engines()...)
	return choose(flags, "engine", "steps are the marks of serving `ENGINE`: "+strings.Join(words, ", ")+
		" (others are left aside; none: steps by other means)", words...)
}

// kindOption understands --kind NAME[@SIZE] and --engine.
func kindOption(kind, marks string, opt *engine.StepOptions) error {
	if marks != anyEngine {
		opt.Engine = marks
	}
	if kind == "" {
		return nil
	}
	name, size, sized := strings.Cut(kind, "@")
	if err := oneOf("--kind", name, engine.StepKinds()); err != nil {
		return err
	}
	n, err := strconv.ParseInt(size, 10, 64)
	if sized && (err != nil || n <= 0) {
		return errCall("--kind %s: want a kind of step and a size behind it, such as decode@32", kind)
	}
	*opt = engine.OfKind(*opt, name, n)
	return nil
}

// compileRange makes a pattern of NAME, which is the whole of a range's name, or of /REGEXP/, which is looked for in
// it.
func compileRange(pattern string) (*regexp.Regexp, error) {
	expr := "^" + regexp.QuoteMeta(pattern) + "$"
	if len(pattern) > 2 && strings.HasPrefix(pattern, "/") && strings.HasSuffix(pattern, "/") {
		expr = pattern[1 : len(pattern)-1]
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, errCall("--step-range %s: is not a regular expression: %w", pattern, err)
	}
	return re, nil
}

// checkRank refuses numbers that are no rank.
func checkRank(command string, rank int) error {
	if rank < -1 || rank > math.MaxInt32 {
		return errCall("%s: --rank %d: want 0 to %d", command, rank, math.MaxInt32)
	}
	return nil
}

// oneOf checks the value of a flag.
func oneOf(flag, value string, values []string) error {
	for _, v := range values {
		if v == value {
			return nil
		}
	}
	hint := ""
	if near, ok := nearest(value, values); ok {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	return errCall("%s %s: want %s%s", flag, value, strings.Join(values, ", "), hint)
}

// optionalInt declares a flag for a number from 0; -1 says that it was not given.
func optionalInt(flags *pflag.FlagSet, name, usage string) *int {
	v := flags.Int(name, -1, usage)
	flags.Lookup(name).DefValue = "0" // what help takes for no default
	return v
}

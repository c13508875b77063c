// Accuracy measures how right lacuna is, on programs whose truth is known: the step without a profiler,
// the step after a fix, the fault that was planted. It writes docs/accuracy.md.
//
//	go run ./tools/accuracy                                      # the corpus beside the repository
//	go run ./tools/accuracy -again DIR -unseen DIR               # more captures, laid out like the corpus
//	go run ./tools/accuracy -only data_loading -o -              # one case, to stdout
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	do, args := run, os.Args[1:]
	if len(args) > 0 && args[0] == "kernels" {
		do, args = runKernels, args[1:]
	}
	if err := do(context.Background(), args); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

// paths is a flag that may be given several times.
type paths []string

func (p *paths) String() string     { return strings.Join(*p, " ") }
func (p *paths) Set(s string) error { *p = append(*p, s); return nil }

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("accuracy", flag.ContinueOnError)
	corpus := flags.String("corpus", "../shared/corpus/system",
		"folder of CASE/VARIANT captures with CASE/truth.json, seen while lacuna was made")
	out := flags.String("o", "docs/accuracy.md", "file to write; - is stdout")
	only := flags.String("only", "", "regular expression over CASE")
	date := flags.String("date", time.Now().Format(time.DateOnly), "date that the page bears")
	truth := flags.String("truth", "bench/gpu/results/truth-h200.json",
		"timings without a profiler, of more runs and more variants; none if it is not there")
	var again, unseen, elsewhere paths
	flags.Var(&again, "again", "a folder of captures of the same programs, made anew; may be repeated")
	flags.Var(&unseen, "unseen", "a folder of captures of programs that were not seen; may be repeated")
	flags.Var(&elsewhere, "elsewhere", "a folder of captures made on another host, whose timings are in its own "+
		"truth.json files; may be repeated")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	page := &Page{Date: *date, Call: strings.TrimSpace("go run ./tools/accuracy " + strings.Join(shown(args), " "))}
	for _, folders := range []struct {
		title string
		dirs  []string
		truth string
	}{
		{"the corpus, which was seen while lacuna was made", []string{*corpus}, *truth},
		{"the same programs, captured anew", again, *truth},
		{"programs that were not seen", unseen, *truth},
		{"another host, which was not seen", elsewhere, ""},
	} {
		for _, dir := range folders.dirs {
			set, err := measureFolder(ctx, dir, folders.truth, pattern)
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s: no captures there; -corpus, -again and -unseen say where they are", dir)
			}
			if err != nil {
				return err
			}
			set.Title = folders.title
			page.Sets = append(page.Sets, set)
		}
	}
	if *out == "-" {
		return page.Write(os.Stdout)
	}
	var b strings.Builder
	if err := page.Write(&b); err != nil {
		return err
	}
	return os.WriteFile(*out, []byte(b.String()), 0o666)
}

// shown is the arguments without where the page goes: folders by their last name, since the rest is of one machine.
func shown(args []string) (out []string) {
	for i := 0; i < len(args); i++ {
		switch strings.TrimLeft(args[i], "-") {
		case "o", "date":
			i++
		case "again", "unseen", "elsewhere", "truth", "corpus":
			if i+1 < len(args) {
				out = append(out, args[i], filepath.Base(args[i+1]))
				i++
			}
		default:
			out = append(out, args[i])
		}
	}
	return out
}

// A Set is what was measured of one folder.
type Set struct {
	Title       string // what programs these are
	Captures    []*Capture
	Predictions []*Prediction
}

// cure is the variant in which what was planted in v is fixed, or nil.
func cure(all []*Variant, v *Variant) *Variant {
	for _, x := range all {
		if x.Case == v.Case && x.Base == v.Name && x.Name == "fixed" && x.StepMs() > 0 && v.StepMs() > 0 {
			return x
		}
	}
	return nil
}

// measureFolder measures every capture of a folder.
func measureFolder(ctx context.Context, dir, timings string, only *regexp.Regexp) (*Set, error) {
	truth := make(Truth)
	if err := truth.AddFolder(dir); err != nil {
		return nil, err
	}
	if timings != "" {
		if err := truth.AddFile(timings); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	set := new(Set)
	all := truth.Sorted()
	for _, v := range all {
		if !only.MatchString(v.Case) {
			continue
		}
		repaired := slices.DeleteFunc(slices.Clone(all), func(x *Variant) bool {
			return x.Case != v.Case || x.Base != v.Name || len(x.Changes()) == 0
		})
		for _, f := range formats {
			if v.Paths[f.name] == "" {
				continue
			}
			c, p, err := measure(ctx, v, f.name, repaired)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.Paths[f.name], err)
			}
			fmt.Fprintf(os.Stderr, "%s/%s %s\n", v.Case, v.Name, f.name)
			c.Cure = cure(all, v)
			set.Captures, set.Predictions = append(set.Captures, c), append(set.Predictions, p...)
		}
	}
	for _, p := range set.Predictions {
		for _, c := range set.Captures {
			if c.Variant == p.Fixed && c.Format == p.Format {
				p.After = c
			}
		}
	}
	return set, nil
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lacuna/internal/kernel"
	"lacuna/internal/kernel/kernelrules"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
)

// runKernels writes docs/accuracy-kernels.md: what is found of kernels whose fault is known, and their predicted times
// against measured ones.
//
//	go run ./tools/accuracy kernels                 # the corpus beside the repository
//	go run ./tools/accuracy kernels -unseen DIR     # kernels that were not seen, laid out alike
func runKernels(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("accuracy kernels", flag.ContinueOnError)
	corpus := flags.String("corpus", "../shared/corpus/kernel",
		"folder of CASE/report.ncu-rep and times.csv, seen while the rules were made")
	out := flags.String("o", "docs/accuracy-kernels.md",
		"file to write, with casebook-kernels.md beside it; - is stdout")
	date := flags.String("date", time.Now().Format(time.DateOnly), "date that the page bears")
	var unseen paths
	flags.Var(&unseen, "unseen", "a folder of kernels that were not seen; may be repeated")
	if err := flags.Parse(args); err != nil {
		return err
	}
	page := &kernelPage{Date: *date, Call: strings.TrimSpace("go run ./tools/accuracy kernels " +
		strings.Join(shown(args), " "))}
	for i, folder := range append([]string{*corpus}, unseen...) {
		set, err := measureKernels(ctx, folder)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: no times.csv of kernels there; -corpus and -unseen say where they are (%w)", folder,
				err)
		}
		if err != nil {
			return err
		}
		set.Title = fmt.Sprintf("held-out kernels, set %d, after the causes of its errors were fixed", i)
		if folder == *corpus {
			set.Title = "the corpus, which was seen while the rules were made"
		}
		page.Sets = append(page.Sets, set)
	}
	text := page.text()
	if *out == "-" {
		_, err := os.Stdout.WriteString(text)
		return err
	}
	if err := os.WriteFile(*out, []byte(text), 0o666); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(filepath.Dir(*out), "casebook-kernels.md"), []byte(page.casebook()), 0o666)
}

// A kernelSet is the kernels of a folder.
type kernelSet struct {
	Title   string
	Kernels []measuredKernel
}

// A measuredKernel is one with what was found of it.
type measuredKernel struct {
	kernelTruth
	ProfiledUs float64
	Found      []kernelrules.Finding
	Vendor     vendorVerdict
	Fixed      float64 // measured time of the fixed variant over that of the slow one; 0: none
}

func measureKernels(ctx context.Context, folder string) (*kernelSet, error) {
	truths, err := kernelTruths(folder)
	if err != nil {
		return nil, err
	}
	fixed := make(map[string]float64)
	for _, k := range truths {
		if k.Variant == "fixed" {
			fixed[k.Case] = k.Us
		}
	}
	set := &kernelSet{}
	for _, group := range byCase(truths) {
		found, err := diagnoseKernels(ctx, folder, group[0].Case)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(os.Stderr, "%s: no report of it, left out\n", group[0].Case)
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, k := range group {
			m, ok := found(k.Kernel)
			if !ok {
				return nil, fmt.Errorf("%s: no kernel %s in the report", k.Case, k.Kernel)
			}
			m.kernelTruth = k
			if k.Variant == "slow" {
				m.Fixed = fixed[k.Case] / k.Us
			}
			set.Kernels = append(set.Kernels, m)
		}
	}
	return set, nil
}

func byCase(all []kernelTruth) (out [][]kernelTruth) {
	for i, k := range all {
		if i == 0 || all[i-1].Case != k.Case {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], k)
	}
	return out
}

// diagnoseKernels reads the report of a case, FOLDER/CASE/report.ncu-rep or FOLDER/reports/CASE.ncu-rep, and returns
// what was found by the beginning of a kernel's name.
func diagnoseKernels(ctx context.Context, folder, name string) (func(prefix string) (measuredKernel, bool), error) {
	var files []string
	for _, pattern := range []string{filepath.Join(folder, name, "report.ncu-rep*"),
		filepath.Join(folder, "reports", name+".ncu-rep*")} {
		some, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		files = append(files, some...)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no report of %s in it: %w", folder, name, fs.ErrNotExist)
	}
	report, err := reader.OpenProfile(ctx, files[0], readers.All, reader.Options{})
	if err != nil {
		return nil, err
	}
	var all []*kernel.Kernel
	for _, l := range report.Launches {
		all = append(all, kernel.Of(l))
	}
	found := kernelrules.Diagnose(all)
	return func(prefix string) (measuredKernel, bool) {
		for i, k := range all {
			if strings.HasPrefix(strings.TrimPrefix(k.Launch.Name, "void "), prefix) ||
				strings.HasPrefix(k.Launch.Base, prefix) {
				us, _ := k.Microseconds()
				return measuredKernel{ProfiledUs: us, Found: found[i].All, Vendor: vendorOf(k.Launch)}, true
			}
		}
		return measuredKernel{}, false
	}, nil
}

// rank is the place of the first finding that names the fault, from 1; 0: none does.
func (k *measuredKernel) rank() int {
	return 1 + slices.IndexFunc(k.Found, func(f kernelrules.Finding) bool {
		return slices.Contains(k.Rules,
			f.Rule.ID)
	})
}

// highOnes is the findings that claim a fifth of the time or more with a confidence of a half or more.
func (k *measuredKernel) highOnes() (out []kernelrules.Finding) {
	for _, f := range k.Found {
		if !f.Rule.Healthy && f.PredictedUs > 0 && f.PredictedUs < 0.8*k.ProfiledUs && f.Confidence >= 0.5 {
			out = append(out, f)
		}
	}
	return out
}

// A kernelPrediction is the first finding's against what was measured, all as shares of the time of now.
type kernelPrediction struct {
	predicted, low, high, measured float64
	logOff                         float64 // of the logarithm of the gain
}

func (k *measuredKernel) prediction() (kernelPrediction, bool) {
	if k.Fixed == 0 || k.NoGain || len(k.Found) == 0 || k.Found[0].PredictedUs == 0 {
		return kernelPrediction{}, false
	}
	f, t := k.Found[0], k.ProfiledUs
	p := kernelPrediction{f.PredictedUs / t, f.LowUs / t, f.HighUs / t, k.Fixed, 0}
	p.logOff = math.Abs(math.Log(p.predicted/p.measured)) / math.Abs(math.Log(p.measured))
	return p, true
}

func (p kernelPrediction) near() bool   { return p.logOff <= nearLogGain }
func (p kernelPrediction) inside() bool { return p.low <= p.measured && p.measured <= p.high }

// nearLogGain: a gain of 1.3 that is predicted as 1.4 is off by 28 %: a miss.
const nearLogGain = 0.25

// Gateproof simulates the gate over resampled measured steps and writes docs/gate.md: how often it cries wolf, what it
// finds, and what other rules make of the same data. From the repository's root: go run ./tools/gateproof
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

const repeats = "bench/gpu/gate/results/repeats-h200.json"

// mark ends what is generated: what is below it in the page was written by hand and stays.
const mark = "<!-- What is above is written by go run ./tools/gateproof. -->\n"

func main() {
	suites := flag.Int("suites", 300, "suites of each case of false alarms")
	trials := flag.Int("trials", 400, "trials of each case of power")
	out := flag.String("o", "docs/gate.md", "the page")
	flag.Parse()
	if err := run(*suites, *trials, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gateproof:", err)
		os.Exit(1)
	}
}

func run(suites, trials int, out string) error {
	pool, err := readRepeats(repeats)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	_, hand, _ := strings.Cut(string(old), mark)
	var page bytes.Buffer
	write(&page, pool, suites, trials)
	page.WriteString(mark + hand)
	return os.WriteFile(out, page.Bytes(), 0o666)
}

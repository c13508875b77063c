// Gen writes the lists of the shelves, all_gen.go, from the files that are there: adding a table or a
// command is adding a file and running go generate ./... It only parses sources, so it works
// when a list is missing or names what is gone. The pages in docs/ are made after it by gen/docs.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run .
//go:generate go run ./docs

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// root is the folder of go.mod: go generate runs a program in its own folder.
const root = "../.."

func run() error {
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return fmt.Errorf("not in tools/gen; run go generate ./... (%w)", err)
	}
	files, err := lists(root)
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(root, f.path)
		if old, err := os.ReadFile(path); err == nil && string(old) == string(f.text) {
			continue
		}
		if err := os.WriteFile(path, f.text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// Docs writes the pages that are made from the shelves: docs/formats/README.md, docs/tables, docs/rules,
// docs/kernelrules, docs/changes, docs/exporters, docs/schema and docs/cli. It runs after the lists are current, since
// it is built from them.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lacuna/internal/faces/commands"
	"lacuna/internal/faces/exporters"
	"lacuna/internal/kernel/kernelrules"
	"lacuna/internal/readers"
	"lacuna/internal/runs/gate"
	"lacuna/internal/timeline/changes"
	"lacuna/internal/timeline/rules"
	"lacuna/internal/timeline/tables"
)

func main() {
	if err := write("../.."); err != nil {
		fmt.Fprintln(os.Stderr, "gen/docs:", err)
		os.Exit(1)
	}
}

// pages is every generated page by its path under docs. root is the folder of go.mod.
func pages(root string) (map[string]string, error) {
	out := make(map[string]string)
	for name, text := range commands.Pages() {
		out["cli/"+name] = text
	}
	out["schema/lacuna.schema.json"], out["schema/README.md"] = string(gate.ConfigSchema()), gate.ConfigPage()
	for name, text := range tablePages(tables.All) {
		out["tables/"+name] = text
	}
	out["formats/README.md"] = formatsPage(readers.All, filepath.Join(root, "docs/formats"))
	repairs, err := changePages(changes.All, filepath.Join(root, "internal/timeline/changes/testdata"))
	if err != nil {
		return nil, err
	}
	for name, text := range repairs {
		out["changes/"+name] = text
	}
	forms, err := exporterPages(exporters.All, filepath.Join(root, "internal/faces/exporters/testdata"))
	if err != nil {
		return nil, err
	}
	for name, text := range forms {
		out["exporters/"+name] = text
	}
	diagnoses, err := rulePages(rules.All, filepath.Join(root, "internal/timeline/rules/testdata"))
	if err != nil {
		return nil, err
	}
	for name, text := range diagnoses {
		out["rules/"+name] = text
	}
	kernels, err := kernelRulePages(kernelrules.All, filepath.Join(root, "internal/kernel/kernelrules/testdata"))
	if err != nil {
		return nil, err
	}
	for name, text := range kernels {
		out["kernelrules/"+name] = text
	}
	return out, nil
}

// folders is where nothing but generated pages lies.
var folders = []string{"changes", "cli", "exporters", "kernelrules", "rules", "tables"}

// write makes docs hold exactly the pages. go generate runs it in tools/gen.
func write(root string) error {
	docs := filepath.Join(root, "docs")
	if _, err := os.Stat(docs); err != nil {
		return fmt.Errorf("not in tools/gen; run go generate ./... (%w)", err)
	}
	want, err := pages(root)
	if err != nil {
		return err
	}
	old, err := strangers(docs, want)
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := os.Remove(filepath.Join(docs, path)); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		path := filepath.Join(docs, name)
		if have, err := os.ReadFile(path); err == nil && string(have) == want[name] {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(want[name]), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// strangers is the pages that nothing makes any more.
func strangers(docs string, want map[string]string) ([]string, error) {
	var out []string
	for _, folder := range folders {
		entries, err := os.ReadDir(filepath.Join(docs, folder))
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		for _, e := range entries {
			name := folder + "/" + e.Name()
			if _, ok := want[name]; !ok && strings.HasSuffix(name, ".md") {
				out = append(out, name)
			}
		}
	}
	return out, nil
}

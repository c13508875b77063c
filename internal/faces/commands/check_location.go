package commands

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"lacuna/internal/runs/gate"
)

// locationOf is the value of --location: a file, or FILE:LINE.
func locationOf(text string) (gate.Location, error) {
	if text == "" {
		return gate.Location{}, nil
	}
	at := gate.Location{File: text, Line: 1}
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		n, err := strconv.Atoi(text[i+1:])
		if err != nil || n < 1 || i == 0 {
			return at, errCall("--location %s: want FILE:LINE, such as train.py:12", text)
		}
		at.File, at.Line = text[:i], n
	}
	at.File = inRepository(at.File)
	return at, nil
}

// inRepository is a path as code hosts want it: from the root of the repository that it lies in, else from here.
func inRepository(path string) string {
	if path == "" {
		return ""
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return filepath.ToSlash(path)
	}
	root, err := os.Getwd()
	for dir := filepath.Dir(whole); ; dir = filepath.Dir(dir) {
		if _, no := os.Stat(filepath.Join(dir, ".git")); no == nil {
			root, err = dir, nil
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if err != nil {
		return filepath.ToSlash(path)
	}
	short, err := filepath.Rel(root, whole)
	if err != nil || strings.HasPrefix(short, "..") {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(short)
}

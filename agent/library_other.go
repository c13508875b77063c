//go:build !linux || !(amd64 || arm64)

package agent

import (
	"context"
	"io/fs"
)

type kit struct {
	sources, prebuilt fs.FS
	getenv            func(string) string
	look              func(string) (string, error)
}

func (kit) library(context.Context, string) (Lib, error) { return Lib{}, ErrUnsupported }

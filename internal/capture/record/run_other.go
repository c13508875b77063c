//go:build !linux

package record

import (
	"context"

	"lacuna/agent"
)

// mayWrite is asked on Linux.
func mayWrite(string) error { return nil }

// Run is what Linux has.
func Run(context.Context, Options) (*Result, error) { return nil, agent.ErrUnsupported }

// Agents is what Linux has.
func Agents() ([]int, error) { return nil, agent.ErrUnsupported }

// Ask is what Linux has.
func Ask(context.Context, int, string) (Status, error) { return Status{}, agent.ErrUnsupported }

// CommandOf is what Linux has.
func CommandOf(int) string { return "" }

// SpoolOf is what Linux has.
func SpoolOf(s Status) string { return s.Spool }

package commands

import (
	"errors"

	"lacuna/internal/answer/engine"
)

// reportFiles is inputFiles for kernel reports.
func reportFiles(command string, args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, errCall("%s: no REPORT given; try lacuna %s report.ncu-rep, which ncu --set full --import-source "+
			"yes -o report PROGRAM writes", command, command)
	}
	return inputFiles(command, args)
}

// noLaunch makes the answer "no" of a selection that leaves nothing.
func noLaunch(err error) error {
	var none *engine.NoMatchError
	if errors.As(err, &none) {
		return &statusError{No, err}
	}
	return err
}

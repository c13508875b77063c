package changes

import (
	"fmt"
	"strconv"

	"lacuna/internal/timeline/replay"
)

var cpu = Change{
	Name:    "cpu",
	Syntax:  "cpu:F",
	Title:   "a host that is F times as fast",
	Doc:     "Host work between calls, and the calls' own time, are divided by F; waiting is not.",
	Assumes: "all host work scales alike",
	NotWhen: "the host waits for disks or other processes, which do not scale with its cores",
	Example: "cpu:1.5",
	Apply: func(e *replay.Edit, arg string) (int, error) {
		f, err := factor("cpu", arg)
		if err != nil {
			return 0, err
		}
		for i := range e.Calls {
			c := &e.Calls[i]
			if c.Pred >= 0 {
				c.GapNs, c.GapOverNs = int64(float64(c.GapNs)/f), int64(float64(c.GapOverNs)/f)
			}
			c.OwnNs, c.OwnOverNs = int64(float64(c.OwnNs)/f), int64(float64(c.OwnOverNs)/f)
		}
		return matched(len(e.Calls))
	},
}

// factor understands a positive number.
func factor(change, arg string) (float64, error) {
	f, err := strconv.ParseFloat(arg, 64)
	if err != nil || !(f > 0 && f <= 1e6) {
		return 0, fmt.Errorf("%s:%s: needs a factor over 0, such as %s:1.5", change, arg, change)
	}
	return f, nil
}

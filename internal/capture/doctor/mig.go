package doctor

import (
	"fmt"
	"strings"
)

var mig = Check{ID: "mig", Title: "MIG", For: []Purpose{Record, NCU}, Run: func(x *exam) []Result {
	if x.library == nil {
		return nil
	}
	var split []string
	for i, d := range x.library.Devices() {
		if d.MIG {
			split = append(split, fmt.Sprint(i))
		}
	}
	if split == nil {
		return nil
	}
	return []Result{{State: Limited, Text: fmt.Sprintf("GPU %s is split into MIG instances", strings.Join(split, ", ")),
		Cost: "the driver does not report the utilization of a split GPU; ncu cannot read counters of resources " +
			"that instances share",
		Fix:    "measure on a whole GPU where that matters",
		Limits: []Purpose{Record, NCU}}}
}}

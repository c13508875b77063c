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
	return []Result{{State: Limited, Text: fmt.Sprintf("GPU %s is split into instances", strings.Join(split, ", ")),
		Cost:   "the driver does not tell how busy a split GPU is; counters of what instances share are not given to ncu",
		Fix:    "measure on a whole GPU where that matters",
		Limits: []Purpose{Record, NCU}}}
}}

package doctor

import (
	"fmt"
	"strings"
)

// fewMemory is the memory below which recording may be what fills it: the agent's buffers take up to 256 MiB
// (LACUNA_MEMORY_MB's default), reading the result about as much again.
const fewMemory = 1 << 30

var memory = Check{ID: "memory", Title: "Memory", For: []Purpose{Record}, Run: func(x *exam) []Result {
	var free int64 = -1
	var kiB int64
	for line := range strings.Lines(x.read("/proc/meminfo")) {
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kiB); n == 1 {
			free = kiB << 10
		}
	}
	text := "of the machine"
	for _, dir := range x.cgroups("memory") {
		for _, names := range [][2]string{{"memory.max", "memory.current"},
			{"memory.limit_in_bytes", "memory.usage_in_bytes"}} {
			var limit, used int64
			if n, _ := fmt.Sscanf(x.line(dir+"/"+names[0]), "%d", &limit); n == 1 && limit > 0 && limit < 1<<60 {
				fmt.Sscanf(x.line(dir+"/"+names[1]), "%d", &used)
				if left := max(0, limit-used); free < 0 || left < free {
					free, text = left, fmt.Sprintf("of the %s that the container may use", bytesWords(limit))
				}
			}
		}
	}
	switch {
	case free < 0:
		return []Result{{State: Unknown, Text: "/proc/meminfo does not say"}}
	case free < fewMemory:
		return []Result{{State: Limited, Text: fmt.Sprintf("%s %s are free", bytesWords(free), text),
			Cost: "recording buffers up to 256 MiB: the program may be killed for lack of memory",
			Fix:  "record with a smaller buffer", Commands: []string{"lacuna record --memory 64 -- ..."},
			Limits: []Purpose{Record}}}
	}
	return fine(fmt.Sprintf("%s %s are free", bytesWords(free), text))
}}

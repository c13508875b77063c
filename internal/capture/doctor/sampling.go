package doctor

var sampling = Check{ID: "sampling", Title: "CPU sampling", For: []Purpose{Sample}, Run: func(x *exam) []Result {
	s := x.Sampling()
	cost := "a recording has no CPU call stacks: only NVTX ranges show what the host does between CUDA calls"
	switch {
	case !s.Samples:
		return []Result{{State: Missing, Text: s.Why, Cost: cost, Fix: s.Fix, Stops: []Purpose{Sample}}}
	case s.Why != "":
		return []Result{{State: Limited, Text: s.Why, Cost: "user code is sampled; operating system code is not",
			Fix: s.Fix, Limits: []Purpose{Sample}}}
	}
	return fine("call stacks and context switches can be recorded (perf_event_open)")
}}

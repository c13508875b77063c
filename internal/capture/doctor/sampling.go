package doctor

var sampling = Check{ID: "sampling", Title: "CPU sampling", For: []Purpose{Sample}, Run: func(x *exam) []Result {
	s := x.Sampling()
	cost := "a recording has no call stacks of the CPU: what the host does between CUDA calls is known from NVTX ranges only"
	switch {
	case !s.Samples:
		return []Result{{State: Missing, Text: s.Why, Cost: cost, Fix: s.Fix, Stops: []Purpose{Sample}}}
	case s.Why != "":
		return []Result{{State: Limited, Text: s.Why, Cost: "user code is sampled; the rest is not seen", Fix: s.Fix, Limits: []Purpose{Sample}}}
	}
	return fine("call stacks and context switches can be recorded (perf_event_open)")
}}

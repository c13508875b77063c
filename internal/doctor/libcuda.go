package doctor

var libcuda = Check{ID: "libcuda", Title: "CUDA driver library", Run: func(x *exam) []Result {
	if x.cuda != "" {
		return fine(x.cuda)
	}
	if x.library == nil && x.moduleVersion() == "" {
		return nil // the driver's check has said it
	}
	r := Result{State: Missing, Text: "libcuda.so.1 is not found", Cost: "no CUDA program runs here", Stops: []Purpose{Record, NCU}}
	if r.Fix, r.Commands = x.inside.allow("--gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility", "the environment NVIDIA_DRIVER_CAPABILITIES=compute,utility"); r.Fix == "" {
		r.Fix, r.Commands = "it comes with the driver; if it is in a folder of its own, name that", []string{"export LD_LIBRARY_PATH=/path/to/the/folder"}
	}
	return []Result{r}
}}

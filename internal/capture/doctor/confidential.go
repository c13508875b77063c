package doctor

var confidential = Check{ID: "confidential", Title: "Confidential computing", For: []Purpose{Record, NCU}, Run: func(x *exam) []Result {
	if x.library == nil || !x.library.System().Confidential {
		return nil
	}
	return []Result{{State: Broken, Text: "on, without the mode for tools", Cost: "CUPTI answers with error 41: nothing of the GPU can be recorded",
		Fix: "have the administrator switch the GPUs to the mode for tools (devtools), or off", Stops: []Purpose{Record, NCU}}}
}}

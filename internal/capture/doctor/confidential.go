package doctor

var confidential = Check{ID: "confidential", Title: "Confidential computing", For: []Purpose{Record, NCU},
	Run: func(x *exam) []Result {
		if x.library == nil || !x.library.System().Confidential {
			return nil
		}
		return []Result{{State: Broken, Text: "on, without the mode for developer tools",
			Cost: "CUPTI returns error 41: no GPU activity can be recorded",
			Fix: "ask the administrator to switch the GPUs to devtools mode, or to switch confidential " +
				"computing off",
			Stops: []Purpose{Record, NCU}}}
	}}

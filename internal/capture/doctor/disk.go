package doctor

import "fmt"

// fewDisk is what a busy program's recording may fill in minutes.
const fewDisk = 1 << 30

var disk = Check{ID: "disk", Title: "Disk", For: []Purpose{Record, NCU}, Run: func(x *exam) []Result {
	var out []Result
	for _, folder := range []string{x.Folder, x.Temp} {
		free, err := x.Free(folder)
		switch {
		case folder == x.Temp && x.Temp == x.Folder:
		case err != nil:
			out = append(out, Result{State: Broken, Text: fmt.Sprintf("%s: %v", folder, err),
				Cost: "nothing can be written there", Fix: "change to a folder that can be written, or set TMPDIR",
				Limits: []Purpose{Record, NCU}})
		case free < fewDisk:
			out = append(out, Result{State: Limited, Text: fmt.Sprintf("%s has %s free", folder, bytesWords(free)),
				Cost:   "a recording stops when the disk is full, and keeps what it has",
				Fix:    "write elsewhere: run in another folder, set TMPDIR, or name a file with -o",
				Limits: []Purpose{Record, NCU}})
		default:
			out = append(out, Result{State: OK, Text: fmt.Sprintf("%s has %s free", folder, bytesWords(free))})
		}
	}
	return out
}}

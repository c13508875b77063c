package record

import (
	"fmt"

	"lacuna/internal/base/unit"
)

// A Status is what an agent says of itself when asked.
type Status struct {
	Error   string `json:"error,omitempty"` // why it did not do what it was asked
	State   string `json:"state"`           // armed, recording, stopped, refused, yielded, failed, off
	Why     string `json:"why"`
	Pid     int    `json:"pid"`
	Spool   string `json:"spool"` // its file; "": it has not written yet
	Records int64  `json:"records"`
	Dropped int64  `json:"dropped"`
	Bytes   int64  `json:"bytes"`
}

// States of an agent.
const (
	StateArmed     = "armed"
	StateRecording = "recording"
	StateStopped   = "stopped"
	StateRefused   = "refused"
	StateYielded   = "yielded"
	StateFailed    = "failed"
)

// Words is what an agent does, for people.
func (s Status) Words() string {
	text := s.State
	if text == "" {
		text = "unknown"
	}
	if s.Why != "" && s.State != StateRecording && s.State != StateArmed {
		text += " (" + s.Why + ")"
	}
	if s.Error != "" && s.State != StateFailed { // else why says it
		text += ": " + s.Error
	}
	if s.Spool == "" {
		return text
	}
	text += fmt.Sprintf(", %s events, %s", unit.FormatCount(s.Records), Size(s.Bytes))
	if s.Dropped > 0 {
		text += fmt.Sprintf(", %s dropped", unit.FormatCount(s.Dropped))
	}
	return text + " in " + s.Spool
}

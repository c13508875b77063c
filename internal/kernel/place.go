package kernel

// A Place is where in a kernel something happens: a source line, or an instruction where there are
// no lines.
type Place struct {
	File     string // path as compiled; "": no line information
	Line     int    // from 1; 0: no line information
	Text     string // the line's text, if the report has it
	Function string
	Address  uint64  // of the worst instruction
	Offset   uint64  // of it, from the function's start
	SASS     string  // its text, where a disassembler was there
	Share    float64 // of all of what was counted, 0 to 1
}

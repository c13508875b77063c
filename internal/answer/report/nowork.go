package report

import "lacuna/internal/timeline/facts"

// withoutWork says what a capture without GPU work lacks, and how to get it where it can be had.
func withoutWork(f *facts.Facts) Abstained {
	const recorders = "lacuna record, nsys profile --trace=cuda,nvtx, or ProfilerActivity.CUDA in torch.profiler"
	a := Abstained{Rule: "budget", Kind: AnswerLacks, Missing: "kernels and copies", GetItWith: recorders}
	switch f.NoWork() {
	case facts.WorkForeign:
		a.Reason = "the capture is of an accelerator that lacuna does not know: what it did is unknown"
		a.Missing, a.GetItWith = "kernels and copies of a GPU", "a capture on an NVIDIA or AMD GPU"
	case facts.WorkCut:
		a.Reason = "the file is cut off: work of a GPU may have been in the part that is missing"
		a.Missing, a.GetItWith = "the rest of the file", "a complete file: let the export end before the program does "+
			"and before the file is copied, and see that the disk has room for it"
	case facts.WorkLost:
		a.Reason = "a GPU worked, but none of its kernels and copies were recorded"
		if f.Unrecorded().Launches > 0 { // its calls were traced: that was not what is missing
			a.GetItWith = "the same capture again, once nothing keeps kernels from being recorded: missing permission, " +
				"WSL, another profiler at the same time (lacuna doctor looks for that)"
		}
	case facts.WorkUnasked:
		a.Reason = "a GPU was used, but neither its work nor the calls to it were recorded"
	case facts.WorkElse:
		a.Reason = "what " + f.OtherDevice() + " did is not in the capture"
		a.Missing, a.GetItWith = "the work of that device", "the profiler of that device's maker"
		if f.OtherDevice() == facts.AppleGPU {
			a.GetItWith = "torch.mps.profiler and Xcode's Instruments: torch.profiler records none of it, and lacuna reads " +
				"neither"
		}
	case facts.WorkOnHost:
		a.Reason, a.GetItWith = "the program ran on the CPU: there is no GPU work to judge", ""
	case facts.WorkNone:
		a.Reason = "none of the calls to the GPU's runtime starts work: there is none to judge"
		a.GetItWith = "a capture of the time in which the GPU works"
		if len(f.FirstUses()) > 0 { // recorded from its start on
			a.Reason = "the program opens the GPU and starts no work on it: there is none to judge"
			a.GetItWith = ""
		}
	default:
		a.Reason = "neither GPU work nor a call to a GPU was recorded: whether the program used one is unknown"
	}
	return a
}

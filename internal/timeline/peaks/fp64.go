package peaks

import "lacuna/internal/timeline/model"

// FP64Share is the rate of the vector units in FP64 by that in FP32, and where that is from: what the maker says of all
// chips of the device's compute capability, else the table. false: not known.
func FP64Share(name string, dev model.Device) (share float64, source string, ok bool) {
	if by, known := fp64ByCapability[[2]int32{dev.ComputeMajor, dev.ComputeMinor}]; known {
		return by.share, by.source, true
	}
	if p, found := Find(name, dev); found && p.FP64 > 0 && p.FP32 > 0 {
		return p.FP64 / p.FP32, p.Source, true
	}
	return 0, "", false
}

// fp64ByCapability is the rate of compute capabilities whose chips all have the same.
var fp64ByCapability = map[[2]int32]struct {
	share  float64
	source string
}{
	{6, 1}:  {1. / 32, "NVIDIA GeForce GTX 1080 white paper"},
	{7, 5}:  {1. / 32, "NVIDIA Turing GPU architecture white paper"},
	{8, 6}:  {1. / 64, sourceGA10},
	{8, 9}:  {1. / 64, sourceAda},
	{12, 0}: {1. / 64, "NVIDIA RTX Blackwell GPU architecture white paper"},
}

// Package peaks says what GPUs can do at most, as their makers state it: dense arithmetic by type,
// bandwidth of memory and host link, sizes of caches. A device that is not listed, or that the capture
// tells apart from the listed one, is unknown: a wrong roof is worse than none.
//
// Conventions: rates are dense, never those of 2:4 sparsity, and at the boost clock; matrix rates of 16-bit
// types are those with FP32 accumulation, which is what PyTorch's libraries ask for and GeForce cards
// do at half speed. TFLOP/s is 10^12 a second, GB/s is 10^9 bytes a second.
package peaks

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"lacuna/internal/timeline/model"
)

// A Peak is one device as software sees it: of a card with two GPUs, one GPU.
// A rate of 0 means that the device has no such unit or that its maker states none.
type Peak struct {
	Name       string
	SMs        int32 // compute units on AMD; 0: not published
	CoresPerSM int32 // FP32 lanes
	BoostMHz   float64

	FP64, FP32             float64 // TFLOP/s of the vector units
	FP64Matrix, FP32Matrix float64 // TFLOP/s of matrix units that take the type as it is
	TF32, FP16, BF16, FP8  float64 // TFLOP/s of matrix units (of the vector units, where those are all there is)
	INT8                   float64 // TOP/s

	MemoryGiB float64 // nominal
	MemoryGBs float64
	HostLink  string
	HostGBs   float64 // one way; 0: not stated for one GPU
	L2MiB     float64
	SharedKiB float64 // shared memory of an SM

	Source string

	names []string // normalised device names
}

// A Unit is a kind of arithmetic with a peak of its own.
type Unit string

// The units. Vector units do what is not a matrix product, in FP32 also for 16-bit types.
const (
	VectorFP64 Unit = "fp64"
	VectorFP32 Unit = "fp32"
	MatrixFP64 Unit = "fp64 matrix"
	MatrixFP32 Unit = "fp32 matrix"
	MatrixTF32 Unit = "tf32 matrix"
	MatrixFP16 Unit = "fp16 matrix"
	MatrixBF16 Unit = "bf16 matrix"
	MatrixFP8  Unit = "fp8 matrix"
	MatrixINT8 Unit = "int8 matrix"
)

// TFLOPs is the peak of a unit; false: the device has none, or none is stated.
func (p *Peak) TFLOPs(u Unit) (float64, bool) {
	v := 0.0
	switch u {
	case VectorFP64:
		v = p.FP64
	case VectorFP32:
		v = p.FP32
	case MatrixFP64:
		v = p.FP64Matrix
	case MatrixFP32:
		v = p.FP32Matrix
	case MatrixTF32:
		v = p.TF32
	case MatrixFP16:
		v = p.FP16
	case MatrixBF16:
		v = p.BF16
	case MatrixFP8:
		v = p.FP8
	case MatrixINT8:
		v = p.INT8
	}
	return v, v > 0
}

// How far a capture's own figures may be from the table's before it is another device.
const (
	leastMemory = 0.90 // ECC and firmware take up to 8 % (T4: 14.7 of 16 GiB)
	mostMemory  = 1.01
	mostBandOff = 0.05 // stated bandwidths differ from data sheets by up to 2.5 % (H200: 4917 for 4800)
)

// Find is the peak of the device of this name. dev has what the capture says of it, its zero value nothing:
// number of SMs, size of memory and bandwidth must agree with the table where the capture states them,
// so that a slice of a GPU (MIG), a mobile variant, or a card of the same name with other memory is not
// mistaken for it. If more than one variant remains, the device is unknown.
func Find(name string, dev model.Device) (*Peak, bool) {
	norm := normal(name)
	if norm == "" {
		return nil, false
	}
	var found *Peak
	for _, p := range all() {
		if !slices.Contains(p.names, norm) || !p.agrees(dev) {
			continue
		}
		if found != nil {
			return nil, false
		}
		found = p
	}
	return found, found != nil
}

// All is every device of the table.
func All() []*Peak { return all() }

func (p *Peak) agrees(dev model.Device) bool {
	if dev.SMs > 0 && p.SMs > 0 && dev.SMs != p.SMs {
		return false
	}
	if dev.MemoryBytes > 0 {
		share := float64(dev.MemoryBytes) / (p.MemoryGiB * (1 << 30))
		if share < leastMemory || share > mostMemory {
			return false
		}
	}
	return dev.BandwidthBps <= 0 || math.Abs(float64(dev.BandwidthBps)/(p.MemoryGBs*1e9)-1) <= mostBandOff
}

// normal is a device's name in lower case, without makers and marks: "Tesla V100-SXM2-16GB" is "v100 sxm2 16gb".
func normal(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	words = slices.DeleteFunc(words, func(w string) bool {
		switch w {
		case "nvidia", "amd", "tesla", "geforce", "instinct", "gpu":
			return true
		}
		return false
	})
	return strings.Join(words, " ")
}

// all lists the devices, oldest maker's generation first.
func all() []*Peak {
	return slices.Concat(pascalToTuring(), pascalAndTuringCards(), ampereAndAda(), geForceCards(), professionalCards(),
		hopperAndBlackwell(), dataCenterMore(), cdna())
}

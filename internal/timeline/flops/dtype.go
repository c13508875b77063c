package flops

// A Dtype is the type of a tensor's elements in short: bf16, fp32.
type Dtype string

// The types.
const (
	NoDtype    Dtype = ""
	FP64       Dtype = "fp64"
	FP32       Dtype = "fp32"
	FP16       Dtype = "fp16"
	BF16       Dtype = "bf16"
	FP8        Dtype = "fp8"
	Int64      Dtype = "int64"
	Int32      Dtype = "int32"
	Int16      Dtype = "int16"
	Int8       Dtype = "int8"
	UInt8      Dtype = "uint8"
	Bool       Dtype = "bool"
	Complex64  Dtype = "complex64"
	Complex128 Dtype = "complex128"
)

// dtypeOf reads the profiler's name of a tensor's type: a C++ name. What is no tensor (Scalar, ScalarList, Int, "")
// has none.
func dtypeOf(name string) Dtype {
	switch name {
	case "double":
		return FP64
	case "float":
		return FP32
	case "c10::Half":
		return FP16
	case "c10::BFloat16":
		return BF16
	case "c10::Float8_e4m3fn", "c10::Float8_e5m2", "c10::Float8_e4m3fnuz", "c10::Float8_e5m2fnuz":
		return FP8
	case "long int", "long", "unsigned long", "long long":
		return Int64
	case "int", "unsigned int":
		return Int32
	case "short int", "short", "unsigned short":
		return Int16
	case "signed char":
		return Int8
	case "unsigned char":
		return UInt8
	case "bool":
		return Bool
	case "c10::complex<float>":
		return Complex64
	case "c10::complex<double>":
		return Complex128
	}
	return NoDtype
}

// scalarType is the type that a concrete value names by c10::ScalarType's number: 15 is BFloat16.
func scalarType(value string) Dtype {
	switch value {
	case "0":
		return UInt8
	case "1":
		return Int8
	case "2":
		return Int16
	case "3":
		return Int32
	case "4":
		return Int64
	case "5":
		return FP16
	case "6":
		return FP32
	case "7":
		return FP64
	case "9":
		return Complex64
	case "10":
		return Complex128
	case "11":
		return Bool
	case "15":
		return BF16
	case "23", "24", "25", "26":
		return FP8
	}
	return NoDtype
}

// Bytes is the size of an element; 0: unknown.
func (t Dtype) Bytes() float64 {
	switch t {
	case Complex128:
		return 16
	case FP64, Int64, Complex64:
		return 8
	case FP32, Int32:
		return 4
	case FP16, BF16, Int16:
		return 2
	case FP8, Int8, UInt8, Bool:
		return 1
	}
	return 0
}

// rank orders types by what they promote to: of two tensors the higher one wins.
func (t Dtype) rank() int {
	for i, x := range []Dtype{NoDtype, Bool, UInt8, Int8, Int16, Int32, Int64, FP8, BF16, FP16, FP32, FP64, Complex64,
		Complex128} {
		if t == x {
			return i
		}
	}
	return 0
}

func (t Dtype) isFloat() bool { return t.rank() >= FP8.rank() }

// promote is the type of the result of arithmetic on tensors: tensors with dimensions decide before those
// without, unless these are of a higher kind (a float with integers).
func promote(tensors []tensor) Dtype {
	var withDims, without Dtype
	for _, x := range tensors {
		if len(x.dims) > 0 {
			withDims = higher(withDims, x.dtype)
		} else {
			without = higher(without, x.dtype)
		}
	}
	switch {
	case withDims == NoDtype:
		return without
	case without.isFloat() && !withDims.isFloat():
		return FP32 // a number of Python takes the default type
	}
	return withDims
}

func higher(a, b Dtype) Dtype {
	switch {
	case a == BF16 && b == FP16 || a == FP16 && b == BF16:
		return FP32
	case b.rank() > a.rank():
		return b
	}
	return a
}

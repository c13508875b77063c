package facts

import (
	"strings"

	"lacuna/internal/timeline/model"
)

// pytorchSigns are beginnings of names that PyTorch alone gives: operators, what its autograd marks, what its profiler
// and optimizers mark.
var pytorchSigns = []string{"aten::", "autograd::engine", "torch::", "c10d::", "ProfilerStep#", "Optimizer.step#",
	"enumerate(DataLoader)"}

// UsesPyTorch says whether something in the capture is PyTorch's: an operator, a range, or a kernel in at::native.
func (f *Facts) UsesPyTorch() bool {
	return f.kept.usesPyTorch.of(f, func(f *Facts) bool {
		for id := range f.Trace.Strings.Len() {
			text := f.Trace.Strings.Text(model.StringID(id))
			for _, sign := range pytorchSigns {
				if strings.HasPrefix(text, sign) {
					return true
				}
			}
			if strings.Contains(text, "at::native::") {
				return true
			}
		}
		return false
	})
}

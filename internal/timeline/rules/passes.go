package rules

import (
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// needBackward is a training step whose backward can be told.
var needBackward = Need{"backward pass", func(f *facts.Facts) bool { return f.Passes().Trains },
	"a training step, in which autograd's thread is recorded, or torch.cuda.nvtx.range_push(\"backward\") around it"}

// passTime is what a pass of a training step takes on the device, over the window.
type passTime struct {
	elapsedNs int64 // from its first work to the next pass
	computeNs int64 // in which kernels compute
	busyNs    int64 // in which kernels compute or communicate
	rows      []int32
}

// passTimes divides the time of the busiest stream's device by pass: time between two pieces of work of one pass is
// that pass's, as is the time from the last work of forward to the first of backward; time before forward is no
// pass's. Copies to the device bring the next batch, and belong to no pass.
func (c *Case) passTimes() (out [facts.PassUpdate + 1]passTime) {
	passes, w := c.Facts.Passes(), c.work()
	window, device := c.Steps.Window(), c.Steps.Busiest.Device
	last := int32(-1)
	var compute, busy [facts.PassUpdate + 1][]int32
	for i := range w.Len() {
		if w.Device[i] != device || !window.Contains(w.StartNs[i]) || c.isBatch(int32(i)) {
			continue
		}
		p := passes.Of[i]
		if last >= 0 {
			q := passes.Of[last]
			if q == p || q == facts.PassForward && p == facts.PassBackward {
				out[q].elapsedNs += w.StartNs[i] - w.StartNs[last]
			} else {
				out[q].elapsedNs += max(0, min(w.EndNs[last], w.StartNs[i])-w.StartNs[last])
			}
		}
		last = int32(i)
		out[p].rows = append(out[p].rows, int32(i))
		if w.Kind[i].IsCompute() {
			compute[p] = append(compute[p], int32(i))
		}
		if w.Kind[i] <= facts.WorkComm {
			busy[p] = append(busy[p], int32(i))
		}
	}
	for p := range out {
		out[p].computeNs, out[p].busyNs = c.unionNs(compute[p]), c.unionNs(busy[p])
	}
	return out
}

// isBatch says whether a piece of work is a copy to the device.
func (c *Case) isBatch(row int32) bool {
	w := c.work()
	return w.Kind[row] == facts.WorkCopy && c.Trace.Copies.Kind[w.Row[row]] == model.CopyHtoD
}

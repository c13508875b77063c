package rules

import (
	"fmt"

	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var kvCopiesExposed = Rule{
	ID:    "kv_copies_exposed",
	Title: "The cache of keys and values is copied between host and GPU, and the GPU waits for it",
	Since: "0.3",
	Doc: `
Engines that keep a part of the cache of keys and values in host memory, or share it with other GPUs through the host,
copy blocks of it in and out. Copy engines do that beside kernels, if they are asked in time and from pinned memory.

The rule takes copies between host and GPU of over 512 KiB within the steps of a serving engine: inputs and tokens are
smaller. It fires where they run for 3 % of the steps or more with no kernel beside them.`,
	Limits: `
Weights that are loaded from the host layer by layer look the same. Transfers by a network card leave no work on the
GPU and are not seen.`,
	Fix: `
Copy blocks ahead of the layer that reads them, on a stream of their own, from pinned memory; keep more of the cache on
the GPU:

    --gpu-memory-utilization 0.95 --kv-cache-dtype fp8                   # vLLM
    --mem-fraction-static 0.9 --hicache-io-backend kernel                # SGLang`,
	FixC:      `cudaMemcpyAsync from pinned memory on a stream of its own; the kernel that reads waits for an event.`,
	Confirm:   `Copies of blocks overlap with kernels.`,
	RefutedBy: `Without offloading, the same requests have to be computed again, and that takes longer.`,
	Check:     checkKVCopiesExposed,
}

// minKVShare is the share of the steps: what little less costs is not worth another setting.
const minKVShare = 0.03

func checkKVCopiesExposed(c *Case, out *Findings) {
	if c.engine() == nil {
		return
	}
	w := c.work()
	var rows []int32
	var in, back int64 // bytes
	for _, l := range c.lanes() {
		for _, r := range l {
			if w.Kind[r] != facts.WorkCopy {
				continue
			}
			row := w.Row[r]
			bytes := c.Trace.Copies.Bytes[row]
			if bytes <= facts.TokenBytes {
				continue
			}
			switch c.Trace.Copies.Kind[row] {
			case model.CopyHtoD:
				in += bytes
			case model.CopyDtoH:
				back += bytes
			default:
				continue
			}
			rows = append(rows, r)
		}
	}
	var alone int64
	for device, set := range c.unions(rows) {
		alone += interval.Subtract(set, c.kernelsOn(device)).TotalNs()
	}
	if c.shareOfStep(alone) < minKVShare {
		return
	}
	f := out.Add(0.7, c.perStep(alone), "Blocks of the cache are copied between host and GPU for %s of %s with no kernel "+
		"beside them", ms(c.perStep(alone)), ms(c.StepNs))
	f.Because(fmt.Sprintf("%s copies of over 512 KiB per step: %s to the GPU, %s to the host, %s in all, %s of it with no "+
		"kernel beside it", number(float64(len(rows))*c.PerStep), megabytes(float64(in)*c.PerStep),
		megabytes(float64(back)*c.PerStep), ms(c.perStep(c.unionNs(rows))), ms(c.perStep(alone))))
	f.Repair("overlap-copies")
}

// kernelsOn is when kernels run on a device, those that communicate too.
func (c *Case) kernelsOn(device uint32) interval.Set {
	w := c.work()
	var rows []int32
	for i := range int32(w.Len()) {
		if w.Device[i] == device && (w.Kind[i].IsCompute() || w.Kind[i] == facts.WorkComm) {
			rows = append(rows, i)
		}
	}
	return c.unions(rows)[device]
}

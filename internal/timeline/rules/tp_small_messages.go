package rules

import (
	"fmt"
)

var tpSmallMessages = Rule{
	ID:    "tp_small_messages",
	Title: "Tensor parallelism sends small messages after each layer of a decode step",
	Since: "0.3",
	Doc: `
With tensor parallelism the ranks of a server add up their parts after each attention and each MLP: twice a layer. A
decode step has one row for each request, so these messages are small, and latency counts, not bandwidth.

The rule fires in decode steps of which 10 % or more is exposed communication, with 8 collectives a step or more that
carry less than 1 MB in the median: by their recorded size, else by the batch, since a row has at most 32 KiB (16,384
values of 2 bytes, the width of a model of 405 billion parameters).`,
	Limits: `
From one rank's capture waiting for the others looks the same; with the captures of all ranks it is left out.`,
	Fix: `
Fewer or faster collectives:

    one-shot all-reduce through peer memory, and all-reduce fused with the norm behind it (vLLM: leave custom
        all-reduce on; SGLang: --enable-flashinfer-allreduce-fusion)
    fewer ranks for each model and more copies of it: --tensor-parallel-size 4 --data-parallel-size 2`,
	Confirm:   `The same batch decodes in less time, and communication is less of it.`,
	RefutedBy: `With the captures of all ranks, most of it is waiting for a late one.`,
	Check:     checkTPSmallMessages,
}

const (
	minTPShare = 0.10     // of the decode step
	rowBytes   = 32 << 10 // of a request in a message, at most
	minTPComms = 8        // a step; fewer are no layers
)

func checkTPSmallMessages(c *Case, out *Findings) {
	if !c.decodes() {
		return
	}
	rows := c.commRows()
	each := c.engine().Each
	var bytes []int64
	for _, r := range rows {
		b := c.commBytes(r)
		if i := c.stepAt(c.work().StartNs[r]); b == 0 && i >= 0 {
			if tokens := each[c.Steps.First+i].Tokens; tokens > 0 {
				b = tokens * rowBytes
			}
		}
		if b > 0 {
			bytes = append(bytes, b)
		}
	}
	perStep := float64(len(rows)) * c.PerStep / c.deviceCount()
	exposed := c.exposedNs() - c.stalledNs()
	if x := c.together(); x != nil {
		exposed -= c.exposedWaits(x)
	}
	if perStep < minTPComms || 2*len(bytes) < len(rows) || c.shareOfStep(exposed) < minTPShare {
		return
	}
	size := medianInt(bytes)
	if size >= smallCommBytes {
		return
	}
	f := out.Add(0.7, c.perStep(exposed), "%s small collectives per decode step take %s of %s", number(perStep),
		ms(c.perStep(exposed)), ms(c.StepNs))
	f.Because(fmt.Sprintf("in the median they carry %s or less: latency counts, not bandwidth", megabytes(float64(size))),
		c.kernelRows(rows)...)
	if c.together() == nil {
		f.Because(c.noWaits() + ": how much of it is waiting for other ranks is unknown")
	}
}

package rules

import (
	"fmt"
	"regexp"

	"lacuna/internal/timeline/facts"
)

var batchNormTraining = Rule{
	ID:    "batch_norm_training",
	Title: "Batch normalization computes statistics, and nothing is trained",
	Since: "0.3",
	Needs: []Need{needKernels},
	Doc: `
Kernels that normalize a batch in training mode (cuDNN's bn_fw_tr, PyTorch's batch_norm_collect_statistics and
batch_norm_transform_input, MIOpen's BatchNormFwdTrain) in a capture without any backward and without an optimizer. In
training mode the statistics of the batch are computed, so each input is read twice and written once; in evaluation mode
the stored ones are used, in one pass, which a compiler folds into the convolution before it. Besides, the results are
those of training: dropout is at work, and running statistics change. Threshold: 3 % of the step.`,
	Limits: `
A capture of the forward pass alone of a program that trains looks the same: then it is as it should be.`,
	Fix: `
For inference:

    model.eval()
    with torch.inference_mode():
        y = torch.compile(model)(x)          # or torch.ao.quantization.fuse_modules, which folds the normalization`,
	FixC:      `Call cudnnBatchNormalizationForwardInference, or fold scale and shift into the convolution's weights.`,
	Confirm:   `Kernels named bn_fw_inf, or none, take the place of bn_fw_tr.`,
	RefutedBy: `The program trains: its backward runs outside the time that was recorded.`,
	Check:     checkBatchNormTraining,
}

// normTrains is kernels of batch normalization's forward in training mode.
var normTrains = regexp.MustCompile(`(?i)bn_fw_tr|batch_norm_(collect_statistics|transform_input)|batchnormfwdtrain`)

func checkBatchNormTraining(c *Case, out *Findings) {
	passes := c.Facts.Passes()
	if passes.Trains {
		return
	}
	trains, backward := c.saying(normTrains.MatchString), c.saying(backwardKernel.MatchString)
	var rows []int32
	collects := false
	for _, l := range c.lanes() {
		for _, r := range l {
			if !c.isKernel(r) {
				continue
			}
			if k := c.kind(r); k.Class == facts.ClassForeach || k.Backward || passes.Of[r] == facts.PassUpdate ||
				backward(c.kernelName(r)) {
				return
			}
			if trains(c.kernelName(r)) {
				rows = append(rows, r)
				collects = collects || collectsStatistics.MatchString(c.Trace.Strings.Text(c.kernelName(r)))
			}
		}
	}
	ns := c.unionNs(rows)
	if !collects || c.shareOfStep(ns) < minWorkShare {
		return
	}
	f := out.Add(0.65, c.perStep(ns), "Batch normalization computes statistics, and nothing is trained: %s of %s per step",
		ms(c.perStep(ns)), ms(c.StepNs))
	f.Because(fmt.Sprintf("the model is in training mode: %s per step, %.1f %% of it; no backward and no optimizer is in "+
		"the capture", several(float64(len(rows))*c.PerStep, "such kernel", "such kernels"), 100*c.shareOfStep(ns)),
		c.kernelRows(rows)...)
}

// backwardKernel is kernels of backward by their names, where no operator of the host says so.
var backwardKernel = regexp.MustCompile(`(?i)backward|bwd|bprop|dgrad|wgrad|_wrw|bn_bw`)

// collectsStatistics is the kernels of training mode alone: PyTorch's transform_input runs in evaluation mode too.
var collectsStatistics = regexp.MustCompile(`(?i)bn_fw_tr|batch_norm_collect_statistics|batchnormfwdtrain`)

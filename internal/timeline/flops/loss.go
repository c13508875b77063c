package flops

// loss is the leaves of loss functions: cross entropy is log_softmax and nll_loss.
func loss(name string) formula {
	switch name {
	case "aten::nll_loss_forward", "aten::nll_loss2d_forward":
		return nllForward
	case "aten::nll_loss_backward", "aten::nll_loss2d_backward":
		return nllBackward
	}
	return nil
}

// nllForward is (self, target, ...): picks one element for each target, weighs and adds it.
func nllForward(a args) (Work, bool) {
	x, target := a.at(0).tensor, a.at(1).tensor
	if !x.isTensor() || !target.isTensor() {
		return Work{}, false
	}
	n := target.elements()
	return both(Loss, 2*n, target.bytes()+n*x.dtype.Bytes(), x.dtype)
}

// nllBackward is (grad_output, self, target, ...): writes one element for each target; the zeros around them are
// another operator's work (aten::zero_).
func nllBackward(a args) (Work, bool) {
	x, target := a.at(1).tensor, a.at(2).tensor
	if !x.isTensor() || !target.isTensor() {
		return Work{}, false
	}
	n := target.elements()
	return both(Loss, n, target.bytes()+n*x.dtype.Bytes(), x.dtype)
}

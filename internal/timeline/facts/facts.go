// Package facts derives once what is true of a capture: which call launched a kernel, when a
// device was busy, where steps begin, what a host thread did. Tables, rules and reports only
// look. Facts cannot tell which tool made the capture.
//
// Every fact is a method of Facts that computes on first use and keeps its answer.
package facts

import (
	"lacuna/internal/base/interval"
	"lacuna/internal/timeline/model"
)

// Facts is what follows from one capture.
type Facts struct {
	Trace *model.Trace
	steps StepOptions // which steps are looked at

	kept kept
}

// kept is the answers that were asked for so far: one field for each fact.
type kept struct {
	busiestLane      lazy[Lane]
	usesPyTorch      lazy[bool]
	callCauses       lazy[[]uint8]
	commKernels      lazy[[]bool]
	copiesByCall     lazy[[]int32]
	devices          lazy[[]uint32]
	noWork           lazy[NoWork]
	doer             lazy[*doer]
	engineMarks      lazy[*EngineMarks]
	feeders          lazy[map[model.ThreadRow][]model.ThreadRow]
	feedingProcesses lazy[int]
	frameworkRanges  lazy[[][]uint32]
	launching        lazy[launching]
	clockShifts      lazy[map[uint32]int64]
	handover         lazy[*handover]
	hasStreamWaits   lazy[bool]
	hostCode         lazy[*hostCode]
	hostThreads      lazy[[]hostThread]
	idleness         keyed[interval.Span, []Idleness]
	innermostOps     lazy[[][]named]
	innermostRanges  lazy[[]int32]
	issued           lazy[*issued]
	kernelKinds      lazy[[]KernelKind]
	launches         lazy[*Launches]
	longCalls        lazy[[][]LongCall]
	mainFeeder       lazy[model.ThreadRow]
	namedOps         lazy[*opsNamed]
	nestableRanges   lazy[[]int64]
	opTree           lazy[*OpTree]
	partRanges       lazy[[]partRange]
	passCasts        lazy[*PassCasts]
	passes           lazy[*Passes]
	projection       lazy[*Projection]
	rangeClasses     lazy[[]RangeClass]
	rangeMakers      lazy[[]RangeClass]
	rangeNames       lazy[*rangeNames]
	rangeTree        lazy[*RangeTree]
	recordedOps      lazy[map[uint32]model.CollectiveRow]
	selection        lazy[*Selection]
	serving          lazy[[]ServingStep]
	steps            lazy[stepsOrError]
	toolWork         lazy[map[model.ThreadRow]interval.Set]
	trust            lazy[*Trust]
	unseen           lazy[[]Unseen]
	twins            lazy[map[int32][]int32]
	updateKernels    lazy[[]bool]
	work             lazy[*Work]
	workOfCalls      lazy[[]int32]
	lostLaunches     lazy[map[model.ThreadRow][]int64]
	workOps          lazy[[]int32]
	workOwners       lazy[[]model.StringID]
}

// Of prepares the facts of a capture. Nothing is computed yet.
func Of(t *model.Trace) *Facts { return With(t, StepOptions{}) }

// With is Of where the steps to look at were asked for: all facts are of these.
func With(t *model.Trace, steps StepOptions) *Facts { return &Facts{Trace: t, steps: steps} }

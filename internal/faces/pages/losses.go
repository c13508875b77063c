package pages

import (
	"strings"

	"lacuna/internal/timeline/model"
)

// lossWords says what a loss means. Codes of one reader only are shown as they are.
func lossWords(code string) string {
	switch model.LossCode(code) {
	case model.LossTruncated:
		return "the file ends too early; what came before was read"
	case model.LossSurplus:
		return "bytes after the end of the trace were left out: another trace, or something else"
	case model.LossBadEvent:
		return "events that could not be parsed were left out"
	case model.LossBadTime:
		return "events without a usable time were left out"
	case model.LossNegative:
		return "events that end before they start count as instants"
	case model.LossZeroTime:
		return "GPU work whose times the profiler did not collect was left out"
	case model.LossUnknownEvent:
		return "events of a kind that lacuna does not know were left out"
	case model.LossWidth:
		return "values that are out of range were left out"
	case model.LossUnclosed:
		return "ranges that never ended are kept as open"
	case model.LossDuplicateCorr:
		return "calls share a correlation ID with an earlier one; work is credited to the first"
	case model.LossUnreadableTable:
		return "a part of the file is damaged and was left out"
	case model.LossDropped:
		return "the profiler itself says that it dropped records"
	case model.LossForeignDevice:
		return "work of devices that lacuna does not know as GPUs was left out"
	}
	return strings.ReplaceAll(code, "-", " ")
}

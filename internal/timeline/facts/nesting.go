package facts

// NotNested is the parent of an interval that lies in no other.
const NotNested = int32(-1)

// Nest finds for every interval the innermost other one of its lane that contains it, and how many
// are around it. A lane is what things can nest on: a host thread.
//
// Intervals come sorted by start, then longest first, as the model's tables are; of two equal ones the
// later lies in the earlier. Intervals that intersect without nesting are ordinary input (NVTX
// start/end ranges, Lightning#16634): of all that contain an interval its parent is the one that
// started last, and depth counts along parents. A negative duration, of an interval that was
// never closed, takes no part. Time and memory are linear.
func Nest[L comparable](startNs, durNs []int64, lane []L) (parent, depth []int32) {
	parent, depth = make([]int32, len(startNs)), make([]int32, len(startNs))
	// The open intervals of a lane are a chain of parents. One that ends before a later one does
	// leaves it for good: whatever it might still contain lies in that later one, too.
	innermost := make(map[L]*int32)
	var open *int32
	for i, start := range startNs {
		if i == 0 || lane[i] != lane[i-1] {
			if open = innermost[lane[i]]; open == nil {
				open = new(int32)
				*open = NotNested
				innermost[lane[i]] = open
			}
		}
		parent[i] = NotNested
		if durNs[i] < 0 {
			continue
		}
		end := start + durNs[i]
		for *open != NotNested && (startNs[*open]+durNs[*open] <= start || startNs[*open]+durNs[*open] < end) {
			*open = parent[*open]
		}
		if parent[i] = *open; *open != NotNested {
			depth[i] = depth[*open] + 1
		}
		*open = int32(i)
	}
	return parent, depth
}

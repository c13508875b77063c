package facts

import "lacuna/internal/timeline/model"

// Around is the innermost user range and the outermost operator open on a thread at an instant; "" if there is none.
// A thread without user ranges, such as autograd's, is in those of the thread that it works for.
func (f *Facts) Around(thread model.ThreadRow, ns int64) (userRange, op string) {
	threads := f.hostThreads()
	if h := threadAt(threads, thread); h != nil {
		if i := firstNamedAfter(h.ops, ns); inSpan(h.ops, i, ns) {
			op = f.Trace.Strings.Text(h.ops[i].name)
		}
	}
	for _, th := range append([]model.ThreadRow{thread}, f.feeders(thread)...) {
		if h := threadAt(threads, th); h != nil {
			if i := firstNamedAfter(h.user, ns); inSpan(h.user, i, ns) {
				return f.Trace.Strings.Text(h.user[i].name), op
			}
		}
	}
	return "", op
}

// CallName is the name of a call without the version that nsys appends.
func (f *Facts) CallName(row int32) string {
	return BaseCallName(f.Trace.Strings.Text(f.Trace.Calls.Name[row]))
}

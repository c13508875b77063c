package nsys

import (
	"strings"

	"lacuna/internal/base/sqlite"
)

// leave notes that a table is left unread by a section that nobody wants. Another one may read it.
func (r *reading) leave(name string) {
	if table := r.db.Table(name); table != nil && isOfEvents(table) {
		r.skipped[table] |= r.unwanted
	}
}

// leftUnread counts the events of the tables that nobody read, and of those that this reader does not know.
func (r *reading) leftUnread() {
	for _, table := range r.db.Tables {
		if r.met[table] || !isOfEvents(table) {
			continue
		}
		n := int64(r.db.Plan(table).MaxRows())
		r.trace.Info.Events += n
		if parts := r.skipped[table]; parts != 0 {
			r.trace.Losses.LeavePart(parts, n)
		} else {
			r.trace.Losses.Leave("rows of "+table.Name, n)
		}
	}
}

// isOfEvents says whether rows of a table happened at a time: not what names, describes or belongs to events.
func isOfEvents(t *sqlite.Table) bool {
	if strings.HasSuffix(t.Name, "_CALLCHAINS") || strings.HasPrefix(t.Name, "TARGET_INFO_") ||
		strings.HasPrefix(t.Name, "META_DATA_") || strings.HasPrefix(t.Name, "ENUM_") {
		return false
	}
	return t.Has("start") || t.Has("timestamp")
}

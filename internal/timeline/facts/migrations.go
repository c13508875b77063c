package facts

import "lacuna/internal/timeline/model"

// IsMigration says whether a kind of copy is pages of unified memory that the driver moves: no call launches it.
func IsMigration(k model.CopyKind) bool {
	return k == model.CopyUMHtoD || k == model.CopyUMDtoH || k == model.CopyUMDtoD
}

// isMigration says whether a row of Work is a migration of unified memory.
func (f *Facts) isMigration(i int) bool {
	w := f.Work()
	return w.Kind[i] == WorkCopy && IsMigration(f.Trace.Copies.Kind[w.Row[i]])
}

// EndsWithMigration says whether an idle gap ends with a migration of unified memory.
func (f *Facts) EndsWithMigration(g IdleGap) bool { return g.After >= 0 && f.isMigration(int(g.After)) }

package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	ref "zombiezen.com/go/sqlite"

	"lacuna/internal/base/sqlite"
	"lacuna/tools/synth"
)

const benchKernels = 200_000

// BenchmarkScan and BenchmarkSQLite read the same six columns of the same rows on one goroutine.
func BenchmarkScan(b *testing.B) {
	f, err := os.Open(benchFile(b))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	var sum int64
	for b.Loop() {
		db, err := sqlite.Open(f, st.Size())
		if err != nil {
			b.Fatal(err)
		}
		plan := db.Plan(db.Table("CUPTI_ACTIVITY_KIND_KERNEL"), "start", "end", "streamId", "correlationId",
			"demangledName", "gridX")
		_, err = plan.Scan(context.Background(), func(r *sqlite.Row) {
			for i := range 6 {
				v, _ := r.Int(i)
				sum += v
			}
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*benchKernels/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkSQLite(b *testing.B) {
	db, err := ref.OpenConn("file:"+benchFile(b)+"?mode=ro&immutable=1", ref.OpenReadOnly|ref.OpenURI)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	var sum int64
	for b.Loop() {
		stmt := db.Prep("SELECT start, end, streamId, correlationId, demangledName, gridX FROM " +
			"CUPTI_ACTIVITY_KIND_KERNEL")
		for {
			more, err := stmt.Step()
			if err != nil {
				b.Fatal(err)
			}
			if !more {
				break
			}
			for i := range 6 {
				sum += stmt.ColumnInt64(i)
			}
		}
	}
	b.ReportMetric(float64(b.N)*benchKernels/b.Elapsed().Seconds(), "rows/s")
}

func benchFile(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "x.sqlite")
	if err := synth.Nsys(path, benchKernels); err != nil {
		b.Fatal(err)
	}
	return path
}

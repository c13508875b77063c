package sqlite_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	ref "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"lacuna/internal/base/golden"
	"lacuna/internal/base/sqlite"
)

// make runs SQL on a new file through SQLite itself.
func makeFile(t testing.TB, pageSize int, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.sqlite")
	db, err := ref.OpenConn(path, ref.OpenReadWrite|ref.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := sqlitex.ExecuteTransient(db, fmt.Sprintf("PRAGMA page_size=%d", pageSize), nil); err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(script, "PRAGMA") {
		pragma, rest, _ := strings.Cut(script, ";")
		script = rest
		if err := sqlitex.ExecuteTransient(db, pragma, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := sqlitex.ExecuteScript(db, script, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

// open opens a file.
func open(t testing.TB, path string) (*sqlite.DB, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sqlite.Open(bytes.NewReader(data), int64(len(data)))
}

// cell is a value as text, told apart by type.
func cell(row *sqlite.Row, i int) string {
	switch row.Kind(i) {
	case sqlite.Int:
		v, _ := row.Int(i)
		return fmt.Sprint("int ", v)
	case sqlite.Float:
		v, _ := row.Float(i)
		return fmt.Sprintf("float %x", math.Float64bits(v))
	case sqlite.Text:
		return "text " + string(row.Bytes(i))
	case sqlite.Blob:
		return "blob " + string(row.Bytes(i))
	}
	return "null"
}

func refCell(s *ref.Stmt, i int) string {
	switch s.ColumnType(i) {
	case ref.TypeInteger:
		return fmt.Sprint("int ", s.ColumnInt64(i))
	case ref.TypeFloat:
		return fmt.Sprintf("float %x", math.Float64bits(s.ColumnFloat(i)))
	case ref.TypeText:
		return "text " + s.ColumnText(i)
	case ref.TypeBlob:
		b := make([]byte, s.ColumnLen(i))
		return "blob " + string(b[:s.ColumnBytes(i, b)])
	}
	return "null"
}

// compare checks that every row of every table is what SQLite says it is.
func compare(t *testing.T, path string) {
	t.Helper()
	db, err := open(t, path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := ref.OpenConn(path, ref.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var names []string
	err = sqlitex.Execute(conn, "select name from sqlite_master where type='table' and name not like 'sqlite\\_%' "+
		"escape '\\'", &sqlitex.ExecOptions{
		ResultFunc: func(s *ref.Stmt) error { names = append(names, s.ColumnText(0)); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != len(db.Tables) {
		t.Fatalf("%d tables, SQLite has %d", len(db.Tables), len(names))
	}
	for _, name := range names {
		compareTable(t, db, conn, name)
	}
}

func compareTable(t *testing.T, db *sqlite.DB, conn *ref.Conn, name string) {
	t.Helper()
	stmt, err := conn.Prepare(fmt.Sprintf("select rowid, * from \"%s\" order by rowid", name))
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Finalize()
	table := db.Table(name)
	columns := []string{}
	for i := 1; i < stmt.ColumnCount(); i++ {
		columns = append(columns, stmt.ColumnName(i))
		if c := table.Columns[i-1].Name; c != stmt.ColumnName(i) {
			t.Fatalf("%s: column %d is %q, SQLite says %q", name, i, c, stmt.ColumnName(i))
		}
	}
	plan := db.Plan(table, columns...)
	rows, most := 0, plan.MaxRows()
	for _, part := range plan.Split(3) {
		damage, err := part.Scan(context.Background(), func(row *sqlite.Row) {
			rows++
			if more, err := stmt.Step(); !more {
				t.Fatalf("%s: row %d is one too many (%v)", name, rows, err)
			}
			if id := stmt.ColumnInt64(0); id != row.RowID {
				t.Fatalf("%s: row %d has number %d, SQLite says %d", name, rows, row.RowID, id)
			}
			for i := range columns {
				if got, want := cell(row, i), refCell(stmt, i+1); got != want {
					t.Fatalf("%s.%s, row %d: %.60q, SQLite says %.60q", name, columns[i], row.RowID, got, want)
				}
			}
		})
		if damage.Pages != 0 || err != nil {
			t.Errorf("%s: damage %+v, %v", name, damage, err)
		}
	}
	if more, _ := stmt.Step(); more {
		t.Errorf("%s: only %d rows", name, rows)
	}
	if rows > most {
		t.Errorf("%s: %d rows, but at most %d were promised", name, rows, most)
	}
}

const everything = `
CREATE TABLE nums(a INTEGER, b, c REAL, d TEXT);
WITH RECURSIVE n(i) AS (SELECT -70 UNION ALL SELECT i+1 FROM n WHERE i < 70)
  INSERT INTO nums SELECT CASE WHEN i < 0 THEN -(1<<(-i%63)) ELSE (1<<(i%63)) - 1 END, i * 1.5, i, 'text ' || i FROM n;
INSERT INTO nums VALUES (9223372036854775807, -9223372036854775808, 1e300, NULL), (0, 1, -0.0, ''), ('text', x'00ff', 'more', x''), (1e300, 0.1, NULL, char(0) || 'after');
CREATE TABLE long(id INTEGER PRIMARY KEY, a TEXT, b INTEGER, c BLOB, d TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 60)
  INSERT INTO long SELECT i * 3, printf('%.*c', i * i * 7, 'x'), i, randomblob(i * 911 % 3000), printf('%.*c', 5000 - i * 80, 'y') FROM n;
CREATE TABLE many(id INTEGER NOT NULL, "odd, name" TEXT DEFAULT 'a,b', [key] INTEGER CHECK (key > 0), -- a comment, with a comma
  /* and (another */ "quo""ted" VARCHAR(10, 2) REFERENCES nums(a), PRIMARY KEY (id));
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 20000)
  INSERT INTO many SELECT i * 2, 'row ' || i, i % 7 + 1, NULL FROM n;
DELETE FROM many WHERE id % 6 = 0 OR id BETWEEN 10000 AND 20000;
CREATE TABLE negative(id INTEGER PRIMARY KEY, v);
INSERT INTO negative VALUES (-5, 'a'), (0, 'b'), (9223372036854775807, 'c'), (-9223372036854775808, 'd');
CREATE TABLE empty(a, b);
CREATE INDEX i ON many(key);
CREATE VIEW v AS SELECT 1;
ALTER TABLE nums ADD COLUMN later INTEGER DEFAULT -7;
ALTER TABLE nums ADD COLUMN latest;
INSERT INTO nums VALUES (1, 2, 3, 4, 5, 6);
`

func TestScan(t *testing.T) {
	for _, pageSize := range []int{512, 1024, 4096, 65536} {
		t.Run(fmt.Sprint(pageSize), func(t *testing.T) { compare(t, makeFile(t, pageSize, everything)) })
	}
	for _, encoding := range []string{"UTF-16le", "UTF-16be"} {
		t.Run(encoding, func(t *testing.T) {
			compare(t, makeFile(t, 4096, "PRAGMA encoding='"+encoding+
				"';CREATE TABLE t(a, b); INSERT INTO t VALUES ('grün 💚', 1), ('', 'x');"))
		})
	}
}

// TestCorpus compares every value of the captures that hold the most kinds of tables.
func TestCorpus(t *testing.T) {
	for _, name := range []string{"flameox-graphs", "nsysai-h100-nccl", "pipit-saxpy-mpi", "nsightful-t4",
		"mordred-2020"} {
		packed, err := os.Open(filepath.Join(golden.Corpus(t), "public/nsys", name, "capture.sqlite.zst"))
		if err != nil {
			t.Fatal(err)
		}
		defer packed.Close()
		z, err := zstd.NewReader(packed)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name+".sqlite")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(f, z); err != nil {
			t.Fatal(err)
		}
		f.Close()
		t.Run(name, func(t *testing.T) { compare(t, path) })
	}
}

func TestNotRead(t *testing.T) {
	path := makeFile(t, 4096, "CREATE TABLE w(a INTEGER PRIMARY KEY, b) WITHOUT ROWID; INSERT INTO w VALUES (1, "+
		"2); CREATE TABLE g(a, b AS (a + 1)); CREATE TABLE ok(a); INSERT INTO ok VALUES (1);")
	db, err := open(t, path)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"w": "WITHOUT ROWID", "g": "computed", "ok": ""} {
		plan := db.Plan(db.Table(name), "a")
		damage, _ := plan.Scan(context.Background(), func(*sqlite.Row) {})
		if got := fmt.Sprint(damage.First); (want == "") != (damage.First == nil) || !strings.Contains(got, want) {
			t.Errorf("table %s: %v, want %q", name, damage.First, want)
		}
	}
}

// TestCut reads files that were cut off: what lies before the cut is read, the rest is counted.
func TestCut(t *testing.T) {
	whole, err := os.ReadFile(makeFile(t, 1024, everything))
	if err != nil {
		t.Fatal(err)
	}
	before := -1
	for i := 1; i <= 20; i++ {
		path := filepath.Join(t.TempDir(), "cut.sqlite")
		if err := os.WriteFile(path, whole[:len(whole)*i/20], 0o600); err != nil {
			t.Fatal(err)
		}
		rows, lost, cut := scanAll(t, path)
		if cut != (i < 20) || (lost > 0) != (i < 20) {
			t.Errorf("%d of 20: cut %v, %d pages lost", i, cut, lost)
		}
		if rows < before {
			t.Errorf("%d of 20: %d rows, fewer than of a shorter file", i, rows)
		}
		before = rows
	}
}

// scanAll reads everything in a file: how many rows, how many pages were lost, whether it is cut.
func scanAll(t testing.TB, path string) (rows, lost int, cut bool) {
	db, err := open(t, path)
	if err != nil {
		return 0, 1, true
	}
	lost = db.Damage.Pages
	for _, table := range db.Tables {
		var columns []string
		for _, c := range table.Columns {
			columns = append(columns, c.Name)
		}
		damage, _ := db.Plan(table, columns...).Scan(context.Background(), func(row *sqlite.Row) {
			rows++
			for i := range columns {
				cell(row, i)
			}
		})
		lost += damage.Pages
	}
	return rows, lost, db.Cut
}

// FuzzScan reads damaged files: it must not panic, nor yield more rows than fit into the file.
func FuzzScan(f *testing.F) {
	for _, pageSize := range []int{512, 1024} {
		path := makeFile(f, pageSize, strings.ReplaceAll(everything, "< 20000", "< 200"))
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint32(0), byte(0))
		f.Add(data, uint32(107), byte(5))
		f.Add(data[:len(data)/2], uint32(700), byte(255))
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint32, mask byte) {
		if len(data) > 0 {
			data = append([]byte(nil), data...)
			data[int(at)%len(data)] ^= mask
		}
		path := filepath.Join(t.TempDir(), "x.sqlite")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := open(t, path)
		if err != nil {
			return
		}
		tables := len(db.Tables)
		if rows, _, _ := scanAll(t, path); rows > (tables+1)*len(data) {
			t.Errorf("%d rows from %d bytes", rows, len(data))
		}
	})
}

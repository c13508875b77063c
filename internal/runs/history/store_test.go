package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"lacuna/internal/runs/measure"
)

// onBoth runs a test on a new store of each kind. dsn opens the same store again.
func onBoth(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "sub", "lacuna.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, postgres(t)) })
}

// postgres is the DSN of a new schema on the server of LACUNA_TEST_POSTGRES, which .ci/run starts.
func postgres(t *testing.T) string {
	t.Helper()
	dsn := os.Getenv("LACUNA_TEST_POSTGRES")
	if dsn == "" {
		t.Skip("NOT TESTED on PostgreSQL: LACUNA_TEST_POSTGRES names no server (.ci/run starts one)")
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	schema := fmt.Sprintf("t%d", time.Now().UnixNano())
	if _, err := db.Exec("CREATE SCHEMA " + schema); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		db, _ := sql.Open("pgx", dsn)
		db.Exec("DROP SCHEMA " + schema + " CASCADE")
		db.Close()
	})
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

func create(t testing.TB, dsn string) *Store {
	t.Helper()
	s, err := Create(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// entry is a run at a commit: commits are numbers, in order.
func entry(commit int, name string, measures ...measure.Measure) Entry {
	r := &measure.Run{Name: name, Program: "train.py",
		Machine: measure.Machine{Host: "h", GPU: "NVIDIA H200", GPUs: 1, Driver: "580.10"}, Measures: measures}
	r.Sort()
	return Entry{Run: r, Commit: fmt.Sprintf("c%039d", commit), Branch: "main",
		CommitAt: int64(1_700_000_000 + 3600*commit)}
}

func step(ms ...float64) measure.Measure {
	return measure.Measure{Name: "step", Unit: "ms", Samples: ms}
}

// only is the one series of a store.
func only(t testing.TB, s *Store) Series {
	t.Helper()
	x, err := s.Choose(context.Background(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestKeepsWhatIsAdded(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		ctx := context.Background()
		s := create(t, dsn)
		e := entry(1, "a.json", step(4.1, 4.2, 4.0),
			measure.Measure{Name: "peak_memory", Unit: "bytes", Samples: []float64{1 << 30}},
			measure.Measure{Name: "throughput", Unit: "tok/s", Better: measure.Higher, Samples: []float64{9000}})
		e.Run.Labels = []measure.Pair{{Name: "note", Value: "odd \x00 \xff text"}}
		e.Run.Conditions = []measure.Condition{{Name: "sm_mhz", Min: 1900, Median: 1980, Max: 1980}}
		keys, present, err := s.Add(ctx, []Entry{e})
		if err != nil || present != 0 || len(keys) != 1 {
			t.Fatal(keys, present, err)
		}
		found, err := s.Find(ctx, keys[0][:6])
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		got, err := s.Measured(ctx, found[0])
		if err != nil {
			t.Fatal(err)
		}
		want := *e.Run
		want.Labels = []measure.Pair{{Name: "commit", Value: e.Commit}, {Name: "note", Value: "odd \x00 \ufffd text"}}
		if !reflect.DeepEqual(got, &want) {
			t.Errorf("got  %+v\nwant %+v", got, &want)
		}
		kept, err := s.Kept(ctx, found[0])
		if err != nil || len(kept) != 3 || kept[1].Name != "step" || kept[1].Median != 4.1 || kept[1].N != 3 {
			t.Errorf("%+v %v", kept, err)
		}
	})
}

// A run keeps its key whatever is added before, after or beside it, and is never kept twice.
func TestIdentity(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		ctx := context.Background()
		s := create(t, dsn)
		key := map[int]string{}
		for _, c := range []int{5, 1, 9, 3} { // out of order
			keys, _, err := s.Add(ctx, []Entry{entry(c, "x", step(float64(c)))})
			if err != nil {
				t.Fatal(err)
			}
			key[c] = keys[0]
		}
		keys, present, err := s.Add(ctx, []Entry{entry(3, "x", step(3)), entry(4, "x", step(4)),
			entry(4, "x", step(4))})
		if err != nil || present != 2 || keys[0] != key[3] || keys[1] != keys[2] {
			t.Errorf("%q %d %v", keys, present, err)
		}
		runs, err := s.Runs(ctx, only(t, s).ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		for _, r := range runs {
			order = append(order, r.Key)
		}
		if want := []string{key[1], key[3], keys[1], key[5], key[9]}; !reflect.DeepEqual(order, want) {
			t.Errorf("order %q, want %q", order, want)
		}
		m, err := s.Measures(ctx, only(t, s).ID)
		if err != nil {
			t.Fatal(err)
		}
		points, err := s.Points(ctx, only(t, s).ID, m[0].ID, 3)
		if err != nil || !reflect.DeepEqual(values(points), []float64{4, 5, 9}) {
			t.Errorf("%v %v", points, err)
		}
	})
}

func TestMachinesAreNotMixed(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		ctx := context.Background()
		s := create(t, dsn)
		var all []Entry
		for i, gpu := range []string{"NVIDIA H100 NVL", "NVIDIA H100 PCIe", "NVIDIA H100 NVL"} {
			e := entry(i, "x", step(float64(i)))
			e.Run.Machine.GPU = gpu
			all = append(all, e)
		}
		all[2].Run.Machine.Driver = "580.99" // the same major version
		for _, change := range []func(e *Entry){
			func(e *Entry) { e.Run.Machine.Driver = "590.1" },
			func(e *Entry) { e.Run.Machine.Clocks = "locked 1980 MHz" },
			func(e *Entry) { e.Run.Machine.GPUs = 2 }, func(e *Entry) { e.Run.Tool = "nsys" },
			func(e *Entry) { e.Branch = "topic" },
		} {
			e := entry(9, "y", step(1))
			change(&e)
			all = append(all, e)
		}
		if _, _, err := s.Add(ctx, all); err != nil {
			t.Fatal(err)
		}
		series, err := s.Series(ctx, Filter{})
		if err != nil || len(series) != 7 {
			t.Errorf("%d series, want 7: %v %v", len(series), series, err)
		}
		if _, err := s.Choose(ctx, Filter{}); err == nil || !strings.Contains(err.Error(), "matches 6 series") {
			t.Error(err)
		}
		if x, err := s.Choose(ctx, Filter{Machine: "H100 NVL"}); err != nil || x.Runs != 2 || x.Branch != "main" {
			t.Error(x, err)
		}
		if _, err := s.Choose(ctx, Filter{Machine: "B200"}); err == nil ||
			!strings.Contains(err.Error(), "no series has machine B200 (there is ") {
			t.Error(err)
		}
	})
}

// Several writers at once, on a store that none of them has seen: everything arrives once.
func TestConcurrentWriters(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		const writers, each = 6, 8
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				s, err := Create(context.Background(), dsn)
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				for i := range each {
					e := entry(i, fmt.Sprint(w), step(float64(w)),
						measure.Measure{Name: fmt.Sprintf("m%d", (w+i)%5), Unit: "ms", Samples: []float64{1}})
					if _, _, err := s.Add(context.Background(), []Entry{e, entry(100, "same", step(1))}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if got := only(t, create(t, dsn)).Runs; got != writers*each+1 {
			t.Errorf("%d runs, want %d", got, writers*each+1)
		}
	})
}

// A writer that is killed in the middle leaves the store whole: each of its runs with all of its measures, or not at
// all.
func TestKilledWriter(t *testing.T) {
	if dsn := os.Getenv("LACUNA_TEST_KILLED"); dsn != "" {
		writeForever(dsn)
	}
	onBoth(t, func(t *testing.T, dsn string) {
		ctx := context.Background()
		s := create(t, dsn)
		const measures = 300
		for round := range 5 {
			child := exec.Command(os.Args[0], "-test.run", "^TestKilledWriter$")
			child.Env = append(os.Environ(), "LACUNA_TEST_KILLED="+dsn)
			out, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			out.Read(make([]byte, 1)) // it writes
			time.Sleep(time.Duration(20+rand.Intn(60)) * time.Millisecond)
			child.Process.Kill() // SIGKILL
			child.Wait()
			if _, _, err := s.Add(ctx, []Entry{entry(round, "after", step(1))}); err != nil {
				t.Fatalf("after a killed writer: %v", err)
			}
		}
		var runs, points, samples int
		for query, to := range map[string]*int{
			"SELECT count(*) FROM run WHERE name = 'killed'":                                             &runs,
			"SELECT count(*) FROM point WHERE n = 2":                                                     &points,
			"SELECT count(*) FROM sample WHERE measure IN (SELECT id FROM measure WHERE name LIKE 'k%')": &samples,
		} {
			if err := s.db.QueryRow(query).Scan(to); err != nil {
				t.Fatal(err)
			}
		}
		if runs == 0 || points != runs*measures || samples != points {
			t.Errorf("%d runs, %d points, %d samples: want %d of each run", runs, points, samples, measures)
		}
		if !s.kind.numbered {
			var ok string
			if err := s.db.QueryRow("PRAGMA integrity_check").Scan(&ok); err != nil || ok != "ok" {
				t.Error(ok, err)
			}
		}
	})
}

// writeForever is the child: it adds runs of many measures until it is killed.
func writeForever(dsn string) {
	s, err := Create(context.Background(), dsn)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		e := entry(1000+i, "killed")
		e.Run.Started = time.Now().UnixNano()
		for k := range 300 {
			e.Run.Measures = append(e.Run.Measures,
				measure.Measure{Name: fmt.Sprintf("k%03d", k), Unit: "ms", Samples: []float64{float64(i), 1}})
		}
		if _, _, err := s.Add(context.Background(), []Entry{e}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if i == 0 {
			fmt.Println("writing")
		}
	}
}

func TestOpenErrors(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	os.WriteFile(path("text"), []byte(strings.Repeat("no database ", 200)), 0o644)
	other, _ := sql.Open("sqlite", path("other.db"))
	other.Exec("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER)")
	other.Close()
	newer := create(t, path("newer.db"))
	if _, err := newer.db.Exec("INSERT INTO lacuna_schema (version_id, is_applied) VALUES (99, 1)"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		dsn, want string
		create    bool
	}{
		{path("none.db"), "there is no history yet", false},
		{dir, "is a folder", true},
		{path("text"), "is not a SQLite file", true},
		{path("other.db"), "is another program", true},
		{path("newer.db"), "written by a newer lacuna (schema 99, this one knows 1)", true},
		{"postgres://me:secret@127.0.0.1:1/x", "cannot be reached", true},
		{"postgres://me:secret@127.0.0.1:x/x", "cannot be reached", true},
	} {
		_, err := open(ctx, test.dsn, test.create)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.dsn, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the password is told: %v", test.dsn, err)
		}
	}
	if _, err := Open(ctx, path("none.db")); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

func TestLocked(t *testing.T) {
	dsn := filepath.Join(t.TempDir(), "lacuna.db")
	s := create(t, dsn)
	s.db.SetMaxOpenConns(1)
	if _, err := s.db.Exec("PRAGMA busy_timeout = 50"); err != nil {
		t.Fatal(err)
	}
	other := create(t, dsn)
	tx, err := other.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, _, err := s.Add(context.Background(), []Entry{entry(1, "x", step(1))}); err == nil ||
		!strings.Contains(err.Error(), "is locked: another program") {
		t.Error(err)
	}
	if _, err := s.Series(context.Background(), Filter{}); err != nil {
		t.Errorf("a reader waits for a writer: %v", err)
	}
}

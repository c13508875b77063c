package history

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"lacuna/internal/base/stat"
	"lacuna/internal/runs/measure"
)

// An Entry is a run to be kept.
type Entry struct {
	Run    *measure.Run
	Commit string // "": not known
	Branch string // "": not known
	// when it was committed, seconds since 1970: its place in the series; 0: not known, then when the run started,
	// then now
	CommitAt int64
}

// maxSamples bounds how many samples of a measure are kept: of more, as many at even distances. The summary is of all.
const maxSamples = 1000

// Add keeps runs, all or none. A run that is there already, by what was measured, is passed over: present says how
// many. keys are of all of them, in order.
func (s *Store) Add(ctx context.Context, entries []Entry) (keys []string, present int, err error) {
	err = s.change(ctx, func(tx *sql.Tx) error {
		a := adder{s, tx, time.Now().Unix(), map[[4]string]int64{}, map[measureKey]int64{}}
		if err := a.names(ctx, entries); err != nil {
			return err
		}
		for _, e := range entries {
			key := e.key()
			keys = append(keys, key)
			added, err := a.add(ctx, e, key)
			if err != nil {
				return err
			}
			if !added {
				present++
			}
		}
		return nil
	})
	return keys, present, err
}

// key is what a run is known by: a hash of what it is and what was measured, whatever its file was called. It stays the
// same when other runs come before or after it.
func (e Entry) key() string {
	h := sha256.New()
	say := func(values ...any) { fmt.Fprintf(h, "%q\n", values) }
	r := e.Run
	say(r.Program, r.Started, r.Tool, e.Commit, e.Branch, r.Machine.Host, MachineKind(r.Machine), r.Labels)
	if r.Started == 0 { // then its name is what tells it from another of the same numbers
		say(r.Name)
	}
	for _, m := range r.Measures {
		say(m.Name, m.Unit, m.Better)
		for _, x := range m.Samples {
			binary.Write(h, binary.LittleEndian, math.Float64bits(x))
		}
	}
	io.WriteString(h, "1")
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// MachineKind is what must be equal for runs to be in one series: GPU and how many, major version of the driver,
// clocks.
func MachineKind(m measure.Machine) string {
	gpu := m.GPU
	if gpu == "" {
		gpu = "unknown GPU"
	}
	if m.GPUs > 1 {
		gpu = fmt.Sprintf("%d x %s", m.GPUs, gpu)
	}
	parts := []string{gpu}
	if major, _, _ := strings.Cut(m.Driver, "."); major != "" {
		parts = append(parts, "driver "+major)
	}
	if m.Clocks != "" {
		parts = append(parts, "clocks "+m.Clocks)
	}
	return strings.Join(parts, ", ")
}

// details is of a run what nobody searches for.
type details struct {
	Machine    measure.Machine     `json:"machine"`
	Conditions []measure.Condition `json:"conditions,omitempty"`
	Labels     []measure.Pair      `json:"labels,omitempty"`
}

// A measureKey is what a measure is, without samples.
type measureKey struct {
	Name, Unit string
	Better     measure.Better
}

// An adder adds runs in one transaction.
type adder struct {
	*Store
	tx       *sql.Tx
	now      int64
	series   map[[4]string]int64
	measures map[measureKey]int64
}

func seriesOf(e Entry) [4]string {
	return [4]string{clean(e.Run.Program), clean(MachineKind(e.Run.Machine)), clean(e.Branch), clean(e.Run.Tool)}
}

// names finds or makes the series and the measures of all entries, in one order, so that two writers never wait for
// each other in a ring.
func (a *adder) names(ctx context.Context, entries []Entry) error {
	var series [][4]string
	var measures []measureKey
	for _, e := range entries {
		series = append(series, seriesOf(e))
		for _, m := range e.Run.Measures {
			measures = append(measures, bare(m))
		}
	}
	slices.SortFunc(series, func(x, y [4]string) int { return slices.Compare(x[:], y[:]) })
	for _, x := range slices.Compact(series) {
		id, err := a.id(ctx, "series", []string{"program", "machine", "branch", "tool"}, x[0], x[1], x[2], x[3])
		if err != nil {
			return err
		}
		a.series[x] = id
	}
	slices.SortFunc(measures, func(x, y measureKey) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Unit, y.Unit), int(x.Better)-int(y.Better))
	})
	for _, x := range measures {
		if _, ok := a.measures[x]; ok {
			continue
		}
		id, err := a.id(ctx, "measure", []string{"name", "unit", "better"}, x.Name, x.Unit, int64(x.Better))
		if err != nil {
			return err
		}
		a.measures[x] = id
	}
	return nil
}

// id finds or makes the row of a table with these values.
func (a *adder) id(ctx context.Context, table string, columns []string, values ...any) (id int64, err error) {
	find := a.bind("SELECT id FROM " + table + " WHERE " + strings.Join(columns, " = ? AND ") + " = ?")
	err = a.tx.QueryRowContext(ctx, find, values...).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	insert := a.bind("INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" +
		strings.Repeat(", ?", len(columns)-1) + ") ON CONFLICT DO NOTHING")
	if _, err := a.tx.ExecContext(ctx, insert, values...); err != nil {
		return 0, err
	}
	return id, a.tx.QueryRowContext(ctx, find, values...).Scan(&id)
}

// add adds one run; false: it is there.
func (a *adder) add(ctx context.Context, e Entry, key string) (bool, error) {
	r := e.Run
	at := e.CommitAt
	if at == 0 {
		at = r.Started
	}
	if at == 0 {
		at = a.now
	}
	more, err := json.Marshal(details{r.Machine, r.Conditions, r.Labels})
	if err != nil {
		return false, err
	}
	series := a.series[seriesOf(e)]
	var id int64
	err = a.tx.QueryRowContext(ctx, a.bind(`INSERT INTO run (key, series, at, started, added, commit_id, name, profile, machine, details)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING RETURNING id`),
		key, series, at, r.Started, a.now, clean(e.Commit), clean(r.Name), clean(r.Profile), clean(r.Machine.Host),
		clean(string(more))).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var points, samples [][]any
	for _, m := range r.Measures {
		sum, ok := summarise(m.Samples)
		if !ok {
			return false, fmt.Errorf("run %s: measure %s is not a number", r.Name, m.Name)
		}
		of := a.measures[bare(m)]
		points = append(points, []any{series, of, at, id, len(m.Samples), sum.median, sum.p10, sum.p90, sum.mad})
		samples = append(samples, []any{id, of, pack(m.Samples)})
	}
	if err := a.insert(ctx, "point (series, measure, at, run, n, median, p10, p90, mad)", points); err != nil {
		return false, err
	}
	return true, a.insert(ctx, "sample (run, measure, data)", samples)
}

// insert inserts rows, many at a time: each statement is a way to the server and back.
func (a *adder) insert(ctx context.Context, into string, rows [][]any) error {
	const most = 200
	for part := range slices.Chunk(rows, most) {
		one := "(?" + strings.Repeat(", ?", len(part[0])-1) + ")"
		query := a.bind("INSERT INTO " + into + " VALUES " + one + strings.Repeat(", "+one, len(part)-1))
		if _, err := a.tx.ExecContext(ctx, query, slices.Concat(part...)...); err != nil {
			return err
		}
	}
	return nil
}

// bare is a measure as a key.
func bare(m measure.Measure) measureKey { return measureKey{clean(m.Name), clean(m.Unit), m.Better} }

// clean is text that PostgreSQL takes: valid UTF-8 without NUL.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// A summary of samples.
type summary struct{ median, p10, p90, mad float64 }

// summarise is false if a sample is no number or there is none.
func summarise(samples []float64) (summary, bool) {
	v := slices.Clone(samples)
	slices.Sort(v)
	if len(v) == 0 || math.IsNaN(v[0]) || math.IsInf(v[0], 0) || math.IsInf(v[len(v)-1], 0) {
		return summary{}, false
	}
	s := summary{median: stat.Quantile(v, 0.5), p10: stat.Quantile(v, 0.1), p90: stat.Quantile(v, 0.9)}
	for i, x := range v {
		v[i] = math.Abs(x - s.median)
	}
	slices.Sort(v)
	s.mad = stat.Quantile(v, 0.5)
	return s, true
}

// pack makes bytes of samples: eight each, little end first, at most maxSamples at even distances.
func pack(samples []float64) []byte {
	n := min(len(samples), maxSamples)
	out := make([]byte, 0, 8*n)
	for i := range n {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(samples[i*len(samples)/n]))
	}
	return out
}

// unpack is what pack packed.
func unpack(data []byte) []float64 {
	out := make([]float64, len(data)/8)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return out
}

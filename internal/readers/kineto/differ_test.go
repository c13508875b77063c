package kineto

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"lacuna/internal/base/golden"
	"lacuna/internal/timeline/model"
)

// The second opinion: every event decoded by encoding/json, without a scanner, blocks or columns.

type anyMap = map[string]any

// expected is a line for each event of the kinds that both sides word.
func expected(tb testing.TB, text []byte) (lines []string) {
	tb.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil {
		tb.Fatal(err)
	}
	events, isList := doc.([]any)
	if !isList {
		events = doc.(anyMap)["traceEvents"].([]any)
	}
	for _, e := range events {
		e, _ := e.(anyMap)
		args, _ := e["args"].(anyMap)
		if e["ph"] != "X" {
			if e["name"] == "[memory]" {
				lines = append(lines, fmt.Sprintf("memory %d %d %d %d", exactNs(e["ts"]), whole(args["Bytes"], 0),
					whole(args["Total Allocated"], -1), whole(e["tid"], 0)))
			}
			continue
		}
		base := fmt.Sprintf("%s %d %d", e["name"], exactNs(e["ts"]), exactNs(e["dur"]))
		place := fmt.Sprintf("%d %d", whole(e["pid"], 0), whole(e["tid"], 0))
		corr := whole(args["correlation"], int64(model.NoCorr))
		external := whole(args["External id"], whole(args["external id"], 0))
		if external == 0 {
			external = int64(model.NoExternal)
		}
		switch cat := e["cat"]; cat {
		case "kernel", "Kernel":
			grid, _ := args["grid"].([]any)
			if grid == nil {
				grid = []any{json.Number("0"), json.Number("0"), json.Number("0")}
			}
			lines = append(lines, fmt.Sprintf("kernel %s dev%d s%d c%d x%d %s r%d %d", base,
				whole(args["device"], whole(e["pid"], 0)), whole(args["stream"], whole(e["tid"], -1)), corr, external,
				grid, whole(args["registers per thread"], 0), whole(args["shared memory"], 0)))
		case "gpu_memcpy", "Memcpy":
			lines = append(lines, fmt.Sprintf("copy %s dev%d s%d c%d %d %v", base,
				whole(args["device"], whole(e["pid"], 0)), whole(args["stream"], whole(e["tid"], -1)), corr,
				whole(args["bytes"], 0), real(args["memory bandwidth (GB/s)"])))
		case "cuda_runtime", "Runtime", "cuda_driver":
			lines = append(lines, fmt.Sprintf("call %s %s c%d x%d", base, place, corr, external))
		case "cpu_op", "Operator":
			if strings.HasPrefix(e["name"].(string), "ProfilerStep") {
				lines = append(lines, fmt.Sprintf("range %s %s", base, place))
				break
			}
			shapes := args["Input Dims"]
			if shapes == nil {
				shapes = args["Input dims"]
			}
			lines = append(lines, fmt.Sprintf("op %s %s x%d q%d %s %s", base, place, external,
				whole(args["Sequence number"], -1), respaced(shapes), respaced(args["Concrete Inputs"])))
		case "user_annotation":
			lines = append(lines, fmt.Sprintf("range %s %s", base, place))
		case "python_function":
			lines = append(lines, fmt.Sprintf("python %s %s %d %d", base, place, whole(args["Python id"], -1),
				whole(args["Python parent id"], -1)))
		}
	}
	slices.Sort(lines)
	return lines
}

func exactNs(v any) int64 {
	if v == nil {
		return 0
	}
	r, _ := new(big.Rat).SetString(fmt.Sprint(v))
	r.Mul(r, big.NewRat(1000, 1))
	return new(big.Int).Quo(r.Num(), r.Denom()).Int64()
}

func whole(v any, absent int64) int64 {
	n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	if err != nil {
		return absent
	}
	return n
}

func real(v any) string {
	f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil {
		return "NaN"
	}
	return fmt.Sprint(f)
}

// respaced is a decoded value's JSON as Kineto lays it out.
func respaced(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		return "[" + strings.Join(each(v, respaced), ", ") + "]"
	case string:
		return strconv.Quote(v)
	default:
		return fmt.Sprint(v)
	}
}

// worded is the same lines of a trace.
func worded(tb testing.TB, t *model.Trace) (lines []string) {
	tb.Helper()
	text := func(column []model.StringID, i int) string {
		if column == nil {
			return ""
		}
		return t.Strings.Text(column[i])
	}
	// decoded takes texts of JSON through encoding/json, so that only their meaning counts
	decoded := func(s string) string {
		if s == "" {
			return ""
		}
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			tb.Fatalf("%q: %v", s, err)
		}
		return respaced(v)
	}
	place := func(r model.ThreadRow) string {
		return fmt.Sprintf("%d %d", t.Processes[t.Threads[r].Process].Pid, t.Threads[r].Tid)
	}
	at := func(column []uint32, i int, absent uint32) int64 {
		if column == nil {
			return int64(absent)
		}
		return int64(column[i])
	}
	k := &t.Kernels
	for i := range k.StartNs {
		grid, registers, shared := [3]int32{}, uint16(0), int32(0)
		if k.GridX != nil {
			grid = [3]int32{k.GridX[i], k.GridY[i], k.GridZ[i]}
		}
		if k.Registers != nil {
			registers = k.Registers[i]
		}
		if k.DynShared != nil {
			shared = k.DynShared[i]
		}
		lines = append(lines, fmt.Sprintf("kernel %s %d %d dev%d s%d c%d x%d %v r%d %d", text(k.Name, i), k.StartNs[i],
			k.DurNs[i], k.Device[i], k.Stream[i], k.Corr[i], at(k.External, i, model.NoExternal), grid, registers,
			shared))
	}
	c := &t.Copies
	for i := range c.StartNs {
		gbs, bytes := "NaN", int64(0)
		if c.GBs != nil {
			gbs = fmt.Sprint(c.GBs[i])
		}
		if c.Bytes != nil {
			bytes = c.Bytes[i]
		}
		lines = append(lines, fmt.Sprintf("copy %s %d %d dev%d s%d c%d %d %s", text(c.Name, i), c.StartNs[i],
			c.DurNs[i], c.Device[i], c.Stream[i], c.Corr[i], bytes, gbs))
	}
	for i := range t.Calls.StartNs {
		lines = append(lines, fmt.Sprintf("call %s %d %d %s c%d x%d", text(t.Calls.Name, i), t.Calls.StartNs[i],
			t.Calls.DurNs[i], place(t.Calls.Thread[i]), t.Calls.Corr[i], at(t.Calls.External, i, model.NoExternal)))
	}
	o := &t.Ops
	for i := range o.StartNs {
		sequence := model.NoSequence
		if o.Sequence != nil {
			sequence = o.Sequence[i]
		}
		lines = append(lines, fmt.Sprintf("op %s %d %d %s x%d q%d %s %s", text(o.Name, i), o.StartNs[i], o.DurNs[i],
			place(o.Thread[i]), o.External[i], sequence, decoded(text(o.Shapes, i)), decoded(text(o.Values, i))))
	}
	for i := range t.Ranges.StartNs {
		lines = append(lines, fmt.Sprintf("range %s %d %d %s", text(t.Ranges.Name, i), t.Ranges.StartNs[i],
			t.Ranges.DurNs[i], place(t.Ranges.Thread[i])))
	}
	for i := range t.PyCalls.StartNs {
		lines = append(lines, fmt.Sprintf("python %s %d %d %s %d %d", text(t.PyCalls.Name, i), t.PyCalls.StartNs[i],
			t.PyCalls.DurNs[i], place(t.PyCalls.Thread[i]), t.PyCalls.ID[i], t.PyCalls.Parent[i]))
	}
	for i := range t.AllocEvents.TimeNs {
		lines = append(lines, fmt.Sprintf("memory %d %d %d %d", t.AllocEvents.TimeNs[i], t.AllocEvents.DeltaBytes[i],
			t.AllocEvents.AllocatedBytes[i], t.Threads[t.AllocEvents.Thread[i]].Tid))
	}
	slices.Sort(lines)
	return lines
}

func sameLines(t testing.TB, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("line %d\n got %s\nwant %s", i, got[i], want[i])
		}
	}
}

// hipCall is a call of ROCm; traces of CUDA have "hip_runtime_version" and the like, too.
var hipCall = regexp.MustCompile(`"hip[A-Z]`)

// ROCm traces are left out: there, calls say what kernels lack, which the second opinion does not follow.
func TestCorpusAgainstJSON(t *testing.T) {
	paths, _ := filepath.Glob(golden.Corpus(t) + "/public/kineto/*/*.json.gz")
	if len(paths) == 0 {
		t.Fatal("no captures in the corpus")
	}
	for _, path := range paths {
		st, _ := os.Stat(path)
		if st.Size() > 700_000 {
			continue // encoding/json takes its time
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			z, err := gzip.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			if hipCall.Match(text) {
				return // ROCm
			}
			sameLines(t, worded(t, open(t, path, 0)), expected(t, text))
		})
	}
}

// Events with keys in any order, any layout, escapes and nested arguments mean what encoding/json says.
func TestRandomAgainstJSON(t *testing.T) {
	for seed := range uint64(300) {
		text := randomTrace(rand.New(rand.NewPCG(seed, 7)))
		trace, err := openBlocks(t, text, 200+int(seed)*17)
		if err != nil {
			t.Fatal(err)
		}
		if losses := trace.Losses.All(); len(losses) > 0 {
			t.Fatalf("seed %d: %v\n%s", seed, losses, text)
		}
		sameLines(t, worded(t, trace), expected(t, text))
	}
}

// randomTrace is a valid trace in an unusual form.
func randomTrace(r *rand.Rand) []byte {
	space := func() string { return strings.Repeat(string(" \n\t\r"[r.IntN(4)]), r.IntN(3)) }
	str := func() string {
		var b []rune
		for range r.IntN(12) {
			b = append(b, []rune{'a', 'Z', '"', '\\', '{', '}', '[', ']', ',', ':', '/', 'é', '😀', '\n', 0x2028,
				'0'}[r.IntN(16)])
		}
		if r.IntN(2) == 0 {
			return strconv.QuoteToASCII(strings.ToValidUTF8(string(b), ""))
		}
		s, _ := json.Marshal(string(b))
		return string(s)
	}
	jsonString := func() string { // QuoteToASCII writes \U0001f600 and \x00, which JSON does not know
		for {
			if s := str(); json.Valid([]byte(s)) {
				return s
			}
		}
	}
	number := func() string {
		return fmt.Sprintf("%d.%0*d", r.Int64N(2e15)+1, 1+r.IntN(6), r.IntN(10))
	}
	integer := func() string {
		if s := strconv.Itoa(r.IntN(1 << 30)); r.IntN(4) > 0 {
			return s
		} else {
			return `"` + s + `"`
		}
	}
	object := func(pairs [][2]string) string {
		r.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
		parts := each(pairs, func(p [2]string) string {
			return space() + strconv.Quote(p[0]) + space() + ":" + space() + p[1] + space()
		})
		return "{" + strings.Join(parts, ",") + space() + "}"
	}
	cats := []string{"kernel", "gpu_memcpy", "cuda_runtime", "cpu_op", "user_annotation", "python_function", "Operator"}
	var events []string
	for range 1 + r.IntN(30) {
		args := [][2]string{
			{"device", integer()}, {"stream", integer()}, {"correlation", integer()}, {"External id", integer()},
			{"grid", "[" + space() + "3," + space() + "1,1]"}, {"block", "[32,1,1]"}, {"registers per thread", "17"},
			{"bytes", integer()},
			{"memory bandwidth (GB/s)", number()}, {"Python id", integer()}, {"Sequence number", integer()},
			{"Input Dims", "[[" + space() + "1," + space() + "2],[" + space() + "]]"},
			{"Concrete Inputs", "[" + jsonString() + "," + jsonString() + "]"},
			{"deep", `[{"` + `a":[{},{"}, {":"]"}]}` + space() + `, 1e5, true]`}, {"text", jsonString()},
		}
		r.Shuffle(len(args), func(i, j int) { args[i], args[j] = args[j], args[i] })
		pairs := [][2]string{
			{"ph", `"X"`}, {"cat", strconv.Quote(cats[r.IntN(len(cats))])}, {"name", jsonString()}, {"pid", integer()},
			{"tid", integer()},
			{"ts", number()}, {"dur", number()}, {"other", jsonString()},
			{"args", object(args[:3+r.IntN(len(args)-3)])},
		}
		events = append(events, object(pairs))
	}
	return []byte(`{"schemaVersion":1,"traceEvents":[` + space() + strings.Join(events, space()+","+space()) +
		space() + `]}`)
}

func FuzzText(f *testing.F) {
	for _, s := range []string{`abc`, `a\"b`, `\u00e9\ud83d\ude00`, `\ud800x`, `\udc00\ud800`, "\xff\xfe", `\\`,
		`\/\b\f\n\r\t`, `\u12`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		quoted := append(append([]byte{'"'}, raw...), '"')
		end, escaped := stringEnd(quoted, 1)
		var want string
		if json.Unmarshal(quoted, &want) != nil {
			if got := unquote(nil, raw); !utf8.Valid(got) {
				t.Errorf("unquote(%q) = %q, which is no UTF-8", raw, got)
			}
			return
		}
		if end != len(quoted)-1 || escaped != bytes.ContainsRune(raw, '\\') {
			t.Errorf("stringEnd(%q) = %d, %v", quoted, end, escaped)
		}
		if got := string(unquote(nil, raw)); got != want {
			t.Errorf("unquote(%q) = %q, want %q", raw, got, want)
		}
	})
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"0", "-0.5", "4396349062346.232", "1711549134556789.1239", "1e3", "1.5E-2",
		"99999999999999999999", "-9e15", "1.", "", "-", "0.0001", "4611686018427387.904", "4611686018427387.905"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		ns, ok := parseMicros(raw)
		n, isInt := parseInt(raw)
		if !json.Valid(raw) || len(raw) == 0 || raw[0]-'0' > 9 && raw[0] != '-' || len(raw) > 40 {
			return
		}
		text := strings.TrimSpace(string(raw))
		if text != string(raw) {
			return
		}
		if want, err := strconv.ParseInt(text, 10, 64); err == nil && (!isInt || n != want) {
			t.Errorf("parseInt(%q) = %d, %v", raw, n, isInt)
		}
		if f, err := strconv.ParseFloat(text, 64); err != nil || f > 5e15 || f < -5e15 {
			if ok {
				t.Errorf("parseMicros(%q) = %d, want none", raw, ns)
			}
			return
		}
		if strings.ContainsAny(text, "eE") || len(text) > 18 {
			return // through a float64, rounded
		}
		r, isNumber := new(big.Rat).SetString(text)
		if !isNumber {
			t.Fatalf("math/big does not take %q", text)
		}
		r.Mul(r, big.NewRat(1000, 1))
		want := new(big.Int).Quo(r.Num(), r.Denom())
		inRange := want.CmpAbs(big.NewInt(maxNs)) <= 0
		if ok != inRange || ok && ns != want.Int64() {
			t.Errorf("parseMicros(%q) = %d, %v, want %v", raw, ns, ok, want)
		}
	})
}

// strictEnd agrees with encoding/json on what is valid, and skipValue with it on where that ends.
func FuzzSkip(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"]}"}]} `, `[[]]x`, `"a\"" `, `12,`, `{}`, `{"a":1,}`, `[1 2]`, `{"a"}`,
		`tru,`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || isSpace[b[0]] {
			return
		}
		end, strict := skipValue(b, 0), strictEnd(b, 0)
		var s skipper
		n, done := s.feed(b)
		d := json.NewDecoder(bytes.NewReader(b))
		var v json.RawMessage
		if d.Decode(&v) != nil || b[0] != '{' && b[0] != '[' && b[0] != '"' {
			return
		}
		if end != len(v) || strict != len(v) || !done || n != len(v) {
			t.Errorf("%q: skipValue %d, strictEnd %d, skipper %d %v, want %d", b, end, strict, n, done, len(v))
		}
	})
}

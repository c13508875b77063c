package spool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
)

// write is a stream with a row of every table, the values 1, 2, 3 and so on, and three notes.
func write(t testing.TB, begin Begin) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, begin)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range ours() {
		if err := w.Append(filled(row, i)); err != nil {
			t.Fatal(err)
		}
	}
	if id := w.Text("a name"); id != 1 || w.Text("another") != 2 || w.Text("a name") != 1 || w.Text("") != 0 {
		t.Errorf("a name is text %d", id)
	}
	for _, err := range []error{
		w.Note("state", map[string]string{"state": "armed"}), w.Flush(), w.Note("end", nil),
		w.Note("host", struct{}{}), w.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if int64(b.Len()) != w.Bytes() {
		t.Errorf("%d bytes written, %d said", b.Len(), w.Bytes())
	}
	return b.Bytes()
}

// filled is a row whose fields count from n+1.
func filled(row Row, n int) Row {
	v := reflect.New(reflect.TypeOf(row)).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.CanUint():
			f.SetUint(uint64(n + i + 1))
		case f.CanInt():
			f.SetInt(-int64(n + i + 1))
		default:
			f.SetFloat(float64(n+i+1) + 0.5)
		}
	}
	return v.Interface().(Row)
}

// TestRoundTrip reads what was written, field by field, also a byte at a time.
func TestRoundTrip(t *testing.T) {
	file := write(t, Begin{Role: RoleAgent, Pid: 7, Env: map[string]string{"RANK": "3"}})
	for _, in := range []io.Reader{bytes.NewReader(file), iotest.OneByteReader(bytes.NewReader(file))} {
		s := NewScanner(in)
		got := map[int]any{}
		var notes []string
		texts := map[Text]string{}
		for s.Next() {
			c := s.Chunk()
			switch c.Type {
			case TypeBegin, TypeSchema:
				if b := c.Process.Begin; b.Format != 1 || b.Pid != 7 || b.Env["RANK"] != "3" {
					t.Errorf("begins with %+v", b)
				}
			case TypeTexts:
				if !c.Texts(func(id Text, text []byte) { texts[id] = string(text) }) {
					t.Error("texts break off")
				}
			case TypeNote:
				var fields struct{ State string }
				kind, err := c.Note(&fields)
				if err != nil {
					t.Error(err)
				}
				notes = append(notes, kind+fields.State)
			default:
				got[c.Type] = decode(c)
			}
		}
		if s.Lost().Any() {
			t.Errorf("lost %+v", s.Lost())
		}
		for i, row := range ours() {
			if want := filled(row, i); !reflect.DeepEqual(got[row.table()], want) {
				t.Errorf("got %+v, want %+v", got[row.table()], want)
			}
		}
		if want := map[Text]string{1: "a name", 2: "another"}; !reflect.DeepEqual(texts, want) {
			t.Errorf("texts %v", texts)
		}
		if want := []string{"statearmed", "end", "host"}; !reflect.DeepEqual(notes, want) {
			t.Errorf("notes %q", notes)
		}
	}
}

// decode is the first row of a chunk.
func decode(c *Chunk) any {
	switch c.Table.Name {
	case "kernel":
		return Rows[Kernel](c)[0]
	case "counter":
		return Rows[Counter](c)[0]
	}
	for _, row := range ours() {
		if row.table() != c.Type {
			continue
		}
		v := reflect.New(reflect.TypeOf(row)).Elem()
		for i := range v.NumField() {
			column := c.Column(snake(v.Type().Field(i).Name))
			switch f := v.Field(i); {
			case f.CanUint():
				f.SetUint(Append[uint64](nil, column, 1, 0)[0])
			case f.CanInt():
				f.SetInt(Append[int64](nil, column, 1, 0)[0])
			default:
				f.SetFloat(Append[float64](nil, column, 1, 0)[0])
			}
		}
		return v.Interface()
	}
	return nil
}

// TestOtherSchema reads rows of an agent that knows other tables and fields.
func TestOtherSchema(t *testing.T) {
	var b bytes.Buffer
	out := chunks{w: &b, pack: true}
	out.write(TypeBegin, 0, []byte(`{"format":1,"new":true}`))
	out.write(TypeSchema, 0, []byte("39 track unit:text new:u16 track:u64\n900 unheard_of x:u8\n"))
	out.write(39, 2, []byte{1, 0, 0, 0, 9, 9, 5, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 9, 9, 6, 0, 0, 0, 0, 0, 0, 0})
	out.write(900, 1, []byte{1})
	out.write(901, 5, []byte{1})
	out.write(39, 3, []byte{1})
	s := NewScanner(&b)
	var rows []Track
	kinds := ""
	for s.Next() {
		kinds += fmt.Sprintf("%d ", s.Chunk().Type)
		if s.Chunk().Type == 39 {
			rows = append(rows, Rows[Track](s.Chunk())...)
		}
	}
	if want := []Track{{Track: 5, Unit: 1}, {Track: 6, Unit: 2}}; !reflect.DeepEqual(rows, want) {
		t.Errorf("got %+v", rows)
	}
	if kinds != "0 1 39 900 901 " || s.Lost().Unexplained != 1 {
		t.Errorf("chunks %s, lost %+v", kinds, s.Lost())
	}
}

func TestParseSchema(t *testing.T) {
	for _, tt := range []struct {
		text   string
		tables int
		ok     bool
	}{
		{"", 0, true}, {"16 kernel", 1, true}, {"16 kernel start:gpu\n\n17 copy", 2, true}, {"3 note x:u8", 0, false},
		{"70000 a", 0, false}, {"16", 0, false}, {"16 a\n16 b", 1, false}, {"16 a\n17 b x:u128", 1, false},
		{"17 b x", 0, false},
	} {
		if s, err := ParseSchema(tt.text); len(s) != tt.tables || (err == nil) != tt.ok {
			t.Errorf("%q: %d tables, %v", tt.text, len(s), err)
		}
	}
}

// TestWriterGoroutines writes from many goroutines; every row and text arrives.
func TestWriterGoroutines(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, Begin{Role: RoleRecorder})
	if err != nil {
		t.Fatal(err)
	}
	const goroutines, each = 8, 20_000
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				name := w.Text(fmt.Sprintf("thread %d", i%500))
				if err := w.Append(Task{Pid: uint32(g), Tid: uint32(i), Name: name}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(Task{}); err == nil {
		t.Error("a closed spool takes rows")
	}
	s, texts, rows := NewScanner(&b), map[Text]string{}, 0
	for s.Next() {
		switch c := s.Chunk(); c.Type {
		case TypeTexts:
			c.Texts(func(id Text, text []byte) { texts[id] = string(text) })
		case 44:
			for _, row := range Rows[Task](c) {
				if texts[row.Name] != fmt.Sprintf("thread %d", row.Tid%500) {
					t.Fatalf("row %+v is named %q", row, texts[row.Name])
				}
				rows++
			}
		}
	}
	if rows != goroutines*each || s.Lost().Any() {
		t.Errorf("%d rows, lost %+v", rows, s.Lost())
	}
}

// full is a disk with room for so many bytes.
type full int

func (f *full) Write(b []byte) (int, error) {
	if n := int(*f); n < len(b) {
		*f = 0
		return n, fmt.Errorf("no space left on device")
	}
	*f -= full(len(b))
	return len(b), nil
}

func TestWriterError(t *testing.T) {
	room := full(1000)
	if w, err := NewWriter(&room, Begin{}); err == nil {
		t.Errorf("begins on a full disk: %d bytes", w.Bytes())
	}
	room = 8000
	w, err := NewWriter(&room, Begin{})
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		w.Text("x")
		err = w.Append(Counter{Value: float64(w.Bytes())})
	}
	if w.Close() == nil || w.Flush() == nil || w.Note("x", nil) == nil {
		t.Error("the error is gone")
	}
	if w.Note("x", 5) == nil {
		t.Error("a note of 5")
	}
}

func TestPack(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i, begin := range []Begin{
		{Role: RoleRecorder, Pid: 1}, {Role: RoleAgent, Pid: 30, RealNs: 5}, {Role: RoleAgent, Pid: 4},
		{Role: RoleAgent, Pid: 30, RealNs: 2},
	} {
		file := write(t, begin)
		switch i {
		case 1: // damaged in its last chunk but two
			file[len(file)-150] ^= 0x40
		case 2: // cut
			file = file[:len(file)-9]
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.spool", i))
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	empty := filepath.Join(dir, "empty.spool")
	if err := os.WriteFile(empty, []byte("LCK"), 0o600); err != nil {
		t.Fatal(err)
	}
	pack := func(paths ...string) (Summary, []byte) {
		var b bytes.Buffer
		sum, err := Pack(context.Background(), &b, paths)
		if err != nil {
			t.Fatal(err)
		}
		return sum, b.Bytes()
	}
	sum, packed := pack(paths[0], empty, paths[1], paths[2], paths[3])
	if sum.Files != 5 || sum.Streams != 4 || sum.Lost.Bytes == 0 || sum.Lost.Chunks != 1 || sum.Lost.Cut == 0 ||
		len(sum.Empty) != 1 {
		t.Errorf("summary %+v", sum)
	}
	if _, other := pack(paths[3], paths[2], paths[0], paths[1], empty); !bytes.Equal(packed, other) {
		t.Error("the order of the paths matters")
	}
	z, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	s, order, notes, rows := NewScanner(z), "", "", int64(0)
	for s.Next() {
		c := s.Chunk()
		var lost LostNote
		switch {
		case c.Type == TypeBegin:
			order += fmt.Sprintf("%s %d %d; ", c.Process.Begin.Role, c.Process.Begin.Pid, c.Process.Begin.RealNs)
		case c.Type == TypeNote:
			if kind, err := c.Note(&lost); kind == NoteLost && err == nil {
				notes += fmt.Sprintf("%d: %d %d; ", c.Process.Begin.Pid, lost.Chunks, lost.Cut)
			}
		case c.Table != nil:
			rows += int64(c.Count)
		}
	}
	if want := "agent 4 0; agent 30 2; agent 30 5; recorder 1 0; "; order != want {
		t.Errorf("order %s", order)
	}
	if s.Lost().Any() || rows != sum.Rows || notes != fmt.Sprintf("4: 0 %d; 30: 1 0; ", sum.Lost.Cut-3) {
		t.Errorf("lost %+v; %d rows of %d; notes %s", s.Lost(), rows, sum.Rows, notes)
	}
	again := filepath.Join(dir, "all.lacuna")
	if err := os.WriteFile(again, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	if twice, _ := pack(again); twice.Rows != sum.Rows || twice.Streams != 4 {
		t.Errorf("packed again: %+v", twice)
	}
}

package spool

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// A Schema is the tables of a stream, by number.
type Schema map[int]*Table

// A Table is what a stream says of one kind of row.
type Table struct {
	Number int
	Name   string
	Fields []Field
	Size   int // bytes of a row
}

// A Field is one value of a row.
type Field struct {
	Name string
	Type string // as in the schema: u32, text, gpu
	At   int    // bytes from the row's beginning
	size int
	kind fieldKind
}

type fieldKind uint8

const (
	unsigned fieldKind = iota
	signed
	floating
)

// fieldType is the size and kind of a type of the schema; size 0: there is none of that name.
func fieldType(name string) (size int, kind fieldKind) {
	switch name {
	case "u8":
		return 1, unsigned
	case "u16":
		return 2, unsigned
	case "u32", "text":
		return 4, unsigned
	case "u64", "real", "mono", "gpu":
		return 8, unsigned
	case "i32":
		return 4, signed
	case "i64":
		return 8, signed
	case "f64":
		return 8, floating
	}
	return 0, unsigned
}

// maxRow bounds a row that a stranger's schema makes up.
const maxRow = 64 << 10

// ParseSchema reads a schema's lines. A line that makes no sense is an error; those before it are there.
func ParseSchema(text string) (Schema, error) {
	s := Schema{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		number, err := strconv.ParseUint(words[0], 10, 16)
		if err != nil || number <= TypeNote || len(words) < 2 || s[int(number)] != nil {
			return s, fmt.Errorf("schema: %.60q is not a table", line)
		}
		table := &Table{Number: int(number), Name: words[1]}
		for _, word := range words[2:] {
			name, typ, _ := strings.Cut(word, ":")
			size, kind := fieldType(typ)
			if size == 0 || table.Size+size > maxRow {
				return s, fmt.Errorf("schema: table %.40q: %.40q is not a field", table.Name, word)
			}
			table.Fields = append(table.Fields, Field{Name: name, Type: typ, At: table.Size, size: size, kind: kind})
			table.Size += size
		}
		s[table.Number] = table
	}
	return s, nil
}

// field is the field of that name; ok false: this stream has none.
func (t *Table) field(name string) (Field, bool) {
	for _, f := range t.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// SchemaText is the schema of the streams that are written here: that of spool.h.
func SchemaText() string {
	var b strings.Builder
	for _, row := range ours() {
		t := reflect.TypeOf(row)
		fmt.Fprintf(&b, "%d %s", row.table(), snake(t.Name()))
		for f := range t.Fields() {
			fmt.Fprintf(&b, " %s:%s", snake(f.Name), typeName(f.Type))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// typeName is how a schema names the type of a Go struct's field.
func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[Text](), reflect.TypeFor[Real](), reflect.TypeFor[Mono](), reflect.TypeFor[GPU]():
		return strings.ToLower(t.Name())
	}
	return map[reflect.Kind]string{
		reflect.Uint8: "u8", reflect.Uint16: "u16", reflect.Uint32: "u32", reflect.Uint64: "u64",
		reflect.Int32: "i32", reflect.Int64: "i64", reflect.Float64: "f64",
	}[t.Kind()]
}

// snake is a Go name as the schema has it: GraphRun is graph_run, GridID grid_id, SMs sms.
func snake(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		if i > 0 && unicode.IsUpper(r) && !unicode.IsUpper(letters[i-1]) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

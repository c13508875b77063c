package evtext

import "lacuna/internal/timeline/model"

// A Field is a column of a table as other text formats may want it: its key, which rows have a
// value, and the value as text.
type Field struct {
	Key     string
	Numeric bool   // Append writes a JSON number
	Column  string // the model's name
	col     *column
	ids     *[]model.StringID // of a column of texts
	strings *model.Strings
}

// Fields is the columns of t by table, without times. Absent columns are left out.
func Fields(t *model.Trace) map[string][]Field {
	e := &env{strings: &t.Strings}
	out := make(map[string][]Field)
	for _, m := range t.Tables() {
		table := newTable(e, m)
		n := table.len()
		for _, c := range table.cols {
			if c.len() != n || table.isTime(c) {
				continue
			}
			f := Field{Key: c.key, Column: c.name, col: c, strings: e.strings}
			switch cells := c.slice.Addr().Interface().(type) {
			case *[]model.StringID:
				f.ids = cells
			case *[]float64, *[]float32, *[]int64, *[]int32, *[]uint32, *[]uint16, *[]uint8:
				f.Numeric = true
			case *[]uint64:
				f.Numeric = c.name != "Addr"
			}
			out[m.Name] = append(out[m.Name], f)
		}
	}
	return out
}

// Has says whether a row has a value: one that the text form would print.
func (f *Field) Has(row int) bool { return !f.col.isDefault(row) }

// Text is the interned text of a row, if the field is one.
func (f *Field) Text(row int) (model.StringID, bool) {
	if f.ids == nil {
		return 0, false
	}
	return (*f.ids)[row], true
}

// Append writes the value of a row that has one.
func (f *Field) Append(b []byte, row int) []byte {
	if f.ids != nil {
		return append(b, f.strings.Text((*f.ids)[row])...)
	}
	return f.col.print(b, row)
}

package sqlite

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// A Table is one table of a file.
type Table struct {
	Name    string
	Columns []Column
	Err     error // why it cannot be scanned, if so
	root    uint32
}

// A Column of a Table.
type Column struct {
	Name    string
	isRowID bool   // INTEGER PRIMARY KEY: its values are the row numbers
	missing value  // what rows have that are older than the column
	kind    string // as declared: INTEGER, VARCHAR ( 10 )
}

// isReal says whether the column has SQLite's REAL affinity.
func (c Column) isReal() bool {
	kind := strings.ToUpper(c.kind)
	for _, other := range []string{"INT", "CHAR", "CLOB", "TEXT", "BLOB"} { // these come first in SQLite's rules
		if strings.Contains(kind, other) {
			return false
		}
	}
	return strings.Contains(kind, "REAL") || strings.Contains(kind, "FLOA") || strings.Contains(kind, "DOUB")
}

// Has says whether t has the column. It may be called on a nil Table.
func (t *Table) Has(column string) bool { return t.index(column) >= 0 }

func (t *Table) index(column string) int {
	if t != nil {
		for i, c := range t.Columns {
			if strings.EqualFold(c.Name, column) {
				return i
			}
		}
	}
	return -1
}

// schema reads sqlite_schema, whose tree begins on page 1.
func (db *DB) schema() {
	master := &Table{Name: "sqlite_schema", root: 1}
	for _, name := range []string{"type", "name", "tbl_name", "rootpage", "sql"} {
		master.Columns = append(master.Columns, Column{Name: name})
	}
	plan := db.Plan(master, "type", "name", "rootpage", "sql")
	damage, _ := plan.Scan(context.Background(), func(r *Row) {
		if string(r.Bytes(0)) != "table" {
			return
		}
		name, sql := string(r.Bytes(1)), string(r.Bytes(3))
		root, _ := r.Int(2)
		if strings.HasPrefix(name, "sqlite_") {
			return
		}
		t := &Table{Name: name, root: uint32(root)}
		if root <= 1 || root > 1<<32-2 {
			t.Err = fmt.Errorf("it has no pages (virtual table, or damaged schema)")
		} else if t.Err = t.parse(sql); t.Err == nil && uint32(root) > db.pages {
			t.Err = fmt.Errorf("page %d: %w", root, errOutside)
		}
		db.Tables = append(db.Tables, t)
	})
	db.Damage = damage
}

// parse takes the columns from the CREATE TABLE statement.
func (t *Table) parse(sql string) error {
	words := lex(sql)
	open := 0
	for open < len(words) && words[open].text != "(" {
		open++
	}
	depth, from := 0, open+1
	for i := open; i < len(words); i++ {
		switch w := words[i]; {
		case w.quoted:
		case w.text == "(":
			depth++
		case w.text == "," && depth == 1, w.text == ")" && depth == 1:
			if err := t.define(words[from:i]); err != nil {
				return err
			}
			from = i + 1
			if w.text == ")" {
				return t.options(words[i+1:])
			}
		case w.text == ")":
			depth--
		}
	}
	return fmt.Errorf("its definition cannot be read: %.60q", sql)
}

func (t *Table) options(words []word) error {
	for _, w := range words {
		if w.is("WITHOUT") {
			return fmt.Errorf("it is a table WITHOUT ROWID, which is not read")
		}
	}
	return nil
}

// define adds one column, or looks at one constraint of the table.
func (t *Table) define(def []word) error {
	if len(def) == 0 {
		return nil
	}
	for _, keyword := range []string{"CONSTRAINT", "UNIQUE", "CHECK", "FOREIGN", "PRIMARY"} {
		if def[0].is(keyword) {
			t.constrain(def)
			return nil
		}
	}
	c := Column{Name: def[0].text}
	typed := true // the words before the first constraint are the type
	for i, w := range def[1:] {
		switch {
		case w.is("AS"), w.is("GENERATED"):
			return fmt.Errorf("column %s is computed, which is not read", c.Name)
		case w.is("PRIMARY"):
			desc := i+3 < len(def) && def[i+3].is("DESC")
			c.isRowID, typed = strings.EqualFold(c.kind, "INTEGER") && !desc, false
		case w.is("DEFAULT"):
			c.missing, typed = literal(def[i+2:]), false
		case w.is("NOT"), w.is("NULL"), w.is("UNIQUE"), w.is("CHECK"), w.is("REFERENCES"), w.is("CONSTRAINT"),
			w.is("COLLATE"):
			typed = false
		case typed:
			c.kind = strings.TrimSpace(c.kind + " " + w.text)
		}
	}
	t.Columns = append(t.Columns, c)
	return nil
}

// constrain looks for PRIMARY KEY (id), which makes id the row number just as a column's own PRIMARY KEY does.
func (t *Table) constrain(def []word) {
	for i := 0; i+4 < len(def); i++ {
		if def[i].is("PRIMARY") && def[i+4].text == ")" {
			if c := t.index(def[i+3].text); c >= 0 && strings.EqualFold(t.Columns[c].kind, "INTEGER") {
				t.Columns[c].isRowID = true
			}
		}
	}
}

// literal is the number that words begin with; rows older than a column with any other default have none.
func literal(words []word) value {
	text := ""
	for _, w := range words {
		if text += w.text; w.text != "-" && w.text != "+" {
			break
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return value{kind: Int, bits: n}
	}
	return value{}
}

// A word is a token of SQL.
type word struct {
	text   string
	quoted bool
}

func (w word) is(keyword string) bool { return !w.quoted && strings.EqualFold(w.text, keyword) }

// lex splits SQL into words, leaving out blanks and comments.
func lex(sql string) []word {
	var out []word
	for i := 0; i < len(sql); {
		c, rest := sql[i], sql[i:]
		end := -1
		switch {
		case c <= ' ':
			i++
			continue
		case strings.HasPrefix(rest, "--"):
			end = strings.IndexByte(rest, '\n')
		case strings.HasPrefix(rest, "/*"):
			if end = strings.Index(rest, "*/"); end >= 0 {
				end++
			}
		case strings.IndexByte("\"'`[", c) >= 0:
			text, n := unquote(rest)
			out = append(out, word{text, true})
			i += n
			continue
		default:
			n := 1
			for n < len(rest) && isName(c) && isName(rest[n]) {
				n++
			}
			out = append(out, word{rest[:n], false})
			i += n
			continue
		}
		if end < 0 { // a comment to the end
			return out
		}
		i += end + 1
	}
	return out
}

func isName(c byte) bool {
	return c == '_' || c == '.' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// unquote is the text of the quoted name or string that s begins with, and its length in s.
func unquote(s string) (text string, n int) {
	q := s[0]
	if q == '[' {
		q = ']'
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != q {
			b.WriteByte(s[i])
			continue
		}
		if q == ']' || i+1 >= len(s) || s[i+1] != q {
			return b.String(), i + 1
		}
		b.WriteByte(q)
		i++
	}
	return b.String(), len(s)
}

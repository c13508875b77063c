// Package sqlite reads the tables of a SQLite 3 file, and nothing else: no SQL, no indexes,
// no writing, no lock, no file beside the user's. It exists because a profile is read by
// scanning whole tables, which this does several times as fast as SQLite's own virtual
// machine (docs/decisions/0002-sqlite.md), and because it can go on behind a damaged page.
//
// Nothing in a file is trusted: every offset is checked, a page is visited once a table, and what
// a scan can yield is bounded by the file's size before anything is allocated.
package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Magic is how every SQLite 3 file begins.
const Magic = "SQLite format 3\x00"

// A DB is an open file. It may be used by several goroutines at once.
type DB struct {
	Tables []*Table // as the schema lists them
	Cut    bool     // the file is shorter than its header says
	Damage Damage   // of the schema itself: Tables may lack some

	file     io.ReaderAt
	pageSize int
	usable   int    // bytes of a page that hold content
	pages    uint32 // whole pages that are there
	utf16    binary.ByteOrder
}

// Damage says what of a table could not be read.
type Damage struct {
	Pages int   // lost, each with everything below it
	First error // what was wrong first; nil: nothing
}

func (d *Damage) add(page uint32, err error) {
	d.Pages++
	if d.First == nil {
		d.First = fmt.Errorf("page %d: %w", page, err)
	}
}

// Merge adds o to d.
func (d *Damage) Merge(o Damage) {
	d.Pages += o.Pages
	if d.First == nil {
		d.First = o.First
	}
}

// Open reads the header and the schema of a file of size bytes. The error is nil as long as the
// schema could be read at least in part. Nothing of file is kept in memory.
func Open(file io.ReaderAt, size int64) (*DB, error) {
	db := &DB{file: file}
	if err := db.header(size); err != nil {
		return nil, err
	}
	db.schema()
	if len(db.Tables) == 0 && db.Damage.First != nil {
		return nil, fmt.Errorf("schema: %w", db.Damage.First)
	}
	return db, nil
}

// Table is the table called name, or nil. Case does not matter.
func (db *DB) Table(name string) *Table {
	for _, t := range db.Tables {
		if strings.EqualFold(t.Name, name) {
			return t
		}
	}
	return nil
}

// Bytes is the size of the pages that are there.
func (db *DB) Bytes() int64 { return int64(db.pages) * int64(db.pageSize) }

// PageBytes is the size of a page.
func (db *DB) PageBytes() int64 { return int64(db.pageSize) }

func (db *DB) header(size int64) error {
	var h [100]byte
	if n, _ := db.file.ReadAt(h[:], 0); n < len(h) {
		return errors.New("shorter than the header of a SQLite file")
	}
	if string(h[:16]) != Magic {
		return errors.New("not a SQLite 3 file")
	}
	db.pageSize = int(binary.BigEndian.Uint16(h[16:]))
	if db.pageSize == 1 {
		db.pageSize = 65536
	}
	if db.pageSize < 512 || db.pageSize&(db.pageSize-1) != 0 {
		return fmt.Errorf("damaged header: page size %d", db.pageSize)
	}
	db.usable = db.pageSize - int(h[20])
	if db.usable < 480 {
		return fmt.Errorf("damaged header: %d usable bytes in a page", db.usable)
	}
	switch enc := binary.BigEndian.Uint32(h[56:]); enc {
	case 0, 1: // UTF-8; 0 is an empty database
	case 2:
		db.utf16 = binary.LittleEndian
	case 3:
		db.utf16 = binary.BigEndian
	default:
		return fmt.Errorf("damaged header: text encoding %d", enc)
	}
	db.pages = uint32(min(size/int64(db.pageSize), 1<<32-2))
	db.Cut = int64(binary.BigEndian.Uint32(h[28:]))*int64(db.pageSize) > size
	if db.pages == 0 {
		return errors.New("cut off within its first page")
	}
	return nil
}

var (
	errOutside = errors.New("lies behind the end of the file")
	errTwice   = errors.New("is used twice")
	errKind    = errors.New("is of the wrong kind")
	errCell    = errors.New("a row lies outside its page")
	errRecord  = errors.New("a row is not a record")
	errChain   = errors.New("a long row cannot be followed")
	errCount   = errors.New("holds more rows than can be")
)

// read fills buf with pages from page on.
func (db *DB) read(page uint32, buf []byte) error {
	n := uint32(len(buf) / db.pageSize)
	if page == 0 || page > db.pages || n > db.pages-page+1 {
		return errOutside
	}
	if n, err := db.file.ReadAt(buf, int64(page-1)*int64(db.pageSize)); n < len(buf) {
		return err
	}
	return nil
}

// The kinds of b-tree pages of tables.
const (
	interiorPage = 5
	leafPage     = 13
)

// cells is where the page header begins and how many cells follow it. Page 1 begins with the file's header.
func cells(page uint32, buf []byte, kind byte) (at, n int, err error) {
	if page == 1 {
		at = 100
	}
	if buf[at] != kind {
		return 0, 0, errKind
	}
	n = int(binary.BigEndian.Uint16(buf[at+3:]))
	at += 8
	if kind == interiorPage {
		at += 4
	}
	if at+2*n > len(buf) {
		return 0, 0, errCount
	}
	return at, n, nil
}

// varint reads SQLite's variable-length integer; n is 0 if b ends before it does.
func varint(b []byte) (v uint64, n int) {
	for i := 0; i < len(b) && i < 8; i++ {
		v = v<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return v, i + 1
		}
	}
	if len(b) < 9 {
		return 0, 0
	}
	return v<<8 | uint64(b[8]), 9
}

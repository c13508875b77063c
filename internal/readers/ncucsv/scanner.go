package ncucsv

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// maxRecord bounds one row: the longest seen, the names of a raw page, has 150 kB.
const maxRecord = 8 << 20

var errTooLong = errors.New("too long")

// A scanner gives the lines of a page; a row whose quotes hold line breaks is one line.
type scanner struct {
	in     *bufio.Reader
	record []byte
	bytes  int64 // read
	count  int   // lines read
	open   bool  // the last line ended within quotes
}

func newScanner(r io.Reader) *scanner { return &scanner{in: bufio.NewReaderSize(r, 64<<10)} }

// next is the next line without its end, good until the next call.
func (s *scanner) next() ([]byte, error) {
	s.record, s.open = s.record[:0], false
	for {
		part, err := s.in.ReadSlice('\n')
		s.bytes += int64(len(part))
		if s.bytes > maxBytes || len(s.record)+len(part) > maxRecord {
			return nil, errTooLong
		}
		s.record = append(s.record, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && len(s.record) == 0 {
			return nil, err
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		s.count++
		// only rows have quotes of CSV; in them quotes within cells are doubled, so that an odd number is within one
		s.open = isRow(s.record) && bytes.Count(s.record, []byte{'"'})%2 == 1
		if err == nil && s.open {
			continue
		}
		if s.open {
			return nil, io.EOF
		}
		return bytes.TrimRight(s.record, "\r\n"), nil
	}
}

// isRow says whether a line can be a row of a table, not what a program or the profiler says.
func isRow(line []byte) bool {
	return len(line) > 0 && (line[0] == '"' || line[0] == ',' || line[0] >= '0' && line[0] <= '9')
}

// cells takes a row apart into dst. ok: every cell is quoted or bare as CSV has it.
func cells(row []byte, dst []string) (out []string, ok bool) {
	for {
		if len(row) > 0 && row[0] == '"' {
			var cell []byte
			end := 1
			for {
				at := bytes.IndexByte(row[end:], '"')
				if at < 0 {
					return dst, false
				}
				cell = append(cell, row[end:end+at]...)
				end += at + 1
				if end == len(row) || row[end] != '"' {
					break
				}
				cell = append(cell, '"')
				end++
			}
			dst, row = append(dst, string(cell)), row[end:]
		} else {
			at := bytes.IndexByte(row, ',')
			if at < 0 {
				at = len(row)
			}
			dst, row = append(dst, string(row[:at])), row[at:]
		}
		if len(row) == 0 {
			return dst, true
		}
		if row[0] != ',' {
			return dst, false
		}
		row = row[1:]
	}
}

// isUTF16 says whether text begins as PowerShell writes it: UTF-16 with the low byte first.
func isUTF16(head []byte) bool { return len(head) >= 2 && head[0] == 0xff && head[1] == 0xfe }

// newUTF16 gives such a text as UTF-8. Pages have no characters beyond the first plane that matter: halves of others
// become the replacement character.
func newUTF16(r io.Reader) io.Reader {
	return &wide{in: bufio.NewReaderSize(r, 64<<10)}
}

type wide struct {
	in   *bufio.Reader
	left []byte // of the last character
}

func (w *wide) Read(dst []byte) (n int, err error) {
	for n < len(dst) {
		if len(w.left) == 0 {
			var pair [2]byte
			if _, err := io.ReadFull(w.in, pair[:]); err != nil {
				if n > 0 {
					return n, nil
				}
				return 0, io.EOF
			}
			r := rune(pair[0]) | rune(pair[1])<<8
			if r == 0xfeff {
				continue
			}
			w.left = utf8.AppendRune(w.left, r)
		}
		m := copy(dst[n:], w.left)
		n, w.left = n+m, w.left[m:]
	}
	return n, nil
}

package evtext

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"lacuna/internal/timeline/model"
)

// thread is the row of thread number n, which comes into being if it is new.
func (p *parser) thread(n uint32) (model.ThreadRow, error) {
	if row, ok := p.threads.rows[n]; ok {
		return model.ThreadRow(row), nil
	}
	t := p.tables[keywordOf("Threads")]
	row, err := comeIntoBeing(t, &p.threads, n)
	return model.ThreadRow(row), err
}

func (p *parser) process(n uint32) (model.ProcessRow, error) {
	if row, ok := p.processes.rows[n]; ok {
		return model.ProcessRow(row), nil
	}
	t := p.tables[keywordOf("Processes")]
	row, err := comeIntoBeing(t, &p.processes, n)
	return model.ProcessRow(row), err
}

// comeIntoBeing makes a row of a dimension: its defaults, and its number as the ID that the system gave it.
func comeIntoBeing(t *table, d *declared, n uint32) (int, error) {
	row := t.len()
	d.rows[n] = row
	for _, c := range t.cols {
		if c.name != "Tid" && c.name != "Pid" {
			c.fill(row + 1)
			continue
		}
		if err := c.set(row, strconv.FormatUint(uint64(n), 10)); err != nil {
			return 0, err
		}
	}
	return row, nil
}

// declare is the row that a thread or process line is about: one already in use, or the next.
func declare(t *table, d *declared, number string) (int, error) {
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil || n == 0 || n == none {
		return 0, fmt.Errorf("%q is not a number from 1", clip(number))
	}
	if d.lines[uint32(n)] {
		return 0, fmt.Errorf("number %d is declared twice", n)
	}
	d.lines[uint32(n)] = true
	if row, ok := d.rows[uint32(n)]; ok {
		return row, nil
	}
	return comeIntoBeing(t, d, uint32(n))
}

// refer remembers that a table must have a row of this number.
func (p *parser) refer(table string, number uint32) {
	if number > p.refs[table].number {
		p.refs[table] = reference{number, p.lineNo}
	}
}

func (p *parser) checkReferences() error {
	var bad []reference
	var what string
	for name, ref := range p.refs {
		t := p.tables[keywordOf(name)]
		if int64(ref.number) <= int64(t.len()) {
			continue
		}
		if bad == nil || ref.line < bad[0].line || ref.line == bad[0].line && t.keyword < what {
			bad, what = []reference{ref}, t.keyword
		}
	}
	if bad == nil {
		return nil
	}
	have := p.tables[what].len()
	return fmt.Errorf("line %d: refers to %s %d, but there are %d", bad[0].line, what, bad[0].number, have)
}

// setPid reads the process of a thread by its PID; an unknown one comes into being.
func (p *parser) setPid(text string, row int) error {
	pid, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("pid: %w", notA("an integer", text, err))
	}
	processes, threads := p.tables[keywordOf("Processes")], p.tables[keywordOf("Threads")]
	pids := processes.column("Pid")
	of := slices.Index(pids.slice.Interface().([]int64), pid)
	if of < 0 {
		number := uint32(1)
		for has := true; has; {
			if _, has = p.processes.rows[number]; has {
				number++
			}
		}
		made, err := p.process(number)
		if err != nil {
			return err
		}
		of = int(made)
		if err := pids.set(of, text); err != nil {
			return err
		}
	}
	cells := threads.column("Process").slice
	cells.Index(row).Set(reflect.ValueOf(model.ProcessRow(of)))
	return nil
}

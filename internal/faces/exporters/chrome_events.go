package exporters

import (
	"fmt"
	"math"
	"strconv"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/model"
)

// span writes an event that takes time, and the arrow that leads to it.
func (c *chromeWriter) span(k *chromeTable, e chromeEvent, pid, tid int64) {
	b := c.common("X", k, e, pid, tid)
	b = appendUs(append(b, `,"dur":`...), e.endNs-e.startNs)
	c.end(c.args(b, k, int(e.row)))
	switch {
	case k.isCall:
		c.callTid[e.row] = tid
	case int(e.row) < len(k.calls) && k.calls[e.row] >= 0:
		call := k.calls[e.row]
		thread := at(c.t.Calls.Thread, int(call), model.NoThread)
		from := c.tracks[c.host(thread, "")].pid
		c.arrow("launch", from, c.callTid[call], c.t.Calls.StartNs[call], pid, tid, e.startNs)
	}
}

// instant writes an event without duration.
func (c *chromeWriter) instant(k *chromeTable, e chromeEvent, t *chromeTrack) {
	if k.counter != nil && k.counter(t.pid, int(e.row)) {
		return
	}
	b := c.common("i", k, e, t.pid, t.tid)
	b = append(b, `,"s":"t"`...)
	c.end(c.args(b, k, int(e.row)))
}

func (c *chromeWriter) common(ph string, k *chromeTable, e chromeEvent, pid, tid int64) []byte {
	b := c.begin(ph, pid, tid)
	b = appendUs(append(b, `,"ts":`...), e.startNs)
	b = append(append(append(b, `,"cat":"`...), k.cat...), `","name":`...)
	if id := at(k.names, int(e.row), 0); id != 0 {
		return append(b, c.text(id)...)
	}
	return unit.AppendQuoted(b, k.plain)
}

// args writes what else a row says, and what is known of its collective.
func (c *chromeWriter) args(b []byte, k *chromeTable, row int) []byte {
	b = append(b, `,"args":{`...)
	first := len(b)
	for i := range k.args {
		f := &k.args[i]
		if !f.Has(row) {
			continue
		}
		if f.Column == "Collective" {
			b = c.collective(b, first, f.Append(nil, row))
			continue
		}
		b = c.arg(b, first, "", f, row)
	}
	return append(b, '}')
}

// arg writes one field of a row.
func (c *chromeWriter) arg(b []byte, first int, prefix string, f *evtext.Field, row int) []byte {
	if len(b) > first {
		b = append(b, ',')
	}
	key := f.Key
	switch key {
	case "corr":
		key = "correlation"
	case "external":
		key = "External id"
	}
	b = append(append(append(append(b, '"'), prefix...), key...), `":`...)
	if id, ok := f.Text(row); ok {
		return append(b, c.text(id)...)
	}
	n := len(b)
	b = f.Append(b, row)
	if value := string(b[n:]); !f.Numeric || value == "-" || value == "NaN" || value[len(value)-1] == 'f' {
		b = unit.AppendQuoted(b[:n], value)
	}
	return b
}

// collective writes what is known of a collective; number counts from 1.
func (c *chromeWriter) collective(b []byte, first int, number []byte) []byte {
	n, err := strconv.Atoi(string(number))
	if err != nil || n < 1 || n > c.t.Collectives.Len() {
		return b
	}
	fields := c.fields["Collectives"]
	for i := range fields {
		if fields[i].Has(n - 1) {
			b = c.arg(b, first, "collective_", &fields[i], n-1)
		}
	}
	return b
}

// sample begins a counter's sample.
func (c *chromeWriter) sample(pid int64, name string, ns int64) []byte {
	b := c.begin("C", pid, 0)
	b = appendUs(append(b, `,"ts":`...), ns)
	b = unit.AppendQuoted(append(b, `,"name":`...), name)
	return append(b, `,"args":{`...)
}

func (c *chromeWriter) counterSample(pid int64, row int) bool {
	x := &c.t.Counters
	b := c.sample(pid, c.counterName(at(x.Track, row, 0)), x.TimeNs[row])
	b = append(b, `"value":`...)
	if v := at(x.Value, row, math.NaN()); math.IsNaN(v) || math.IsInf(v, 0) {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	c.end(append(b, '}'))
	return true
}

// counterName is the name of a track; of two that have one name, the later ones are numbered.
func (c *chromeWriter) counterName(track uint32) string {
	if c.counterNames == nil {
		seen := make(map[string]int)
		for _, t := range c.t.Tracks {
			name := t.Name
			if t.Unit != "" {
				name += " (" + t.Unit + ")"
			}
			id := fmt.Sprintf("%d %s", t.Device, name)
			if seen[id]++; seen[id] > 1 {
				name += fmt.Sprintf(" #%d", seen[id])
			}
			c.counterNames = append(c.counterNames, name)
		}
	}
	if int(track) < len(c.counterNames) {
		return c.counterNames[track]
	}
	return "counter"
}

// allocSample writes an allocation as what is in use after it, if the capture says that.
func (c *chromeWriter) allocSample(pid int64, row int) bool {
	a := &c.t.AllocEvents
	used, held := at(a.AllocatedBytes, row, -1), at(a.ReservedBytes, row, -1)
	if used < 0 && held < 0 {
		return false
	}
	name := "allocated on the host"
	if d := at(a.Device, row, model.NoDevice); d != model.NoDevice {
		name = fmt.Sprintf("allocated on GPU %d", d)
	}
	b := c.sample(pid, name, a.TimeNs[row])
	if used >= 0 {
		b = strconv.AppendInt(append(b, `"used":`...), used, 10)
	}
	if held >= 0 {
		if used >= 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, `"held":`...), held, 10)
	}
	c.end(append(b, '}'))
	return true
}

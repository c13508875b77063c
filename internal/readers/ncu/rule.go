package ncu

import (
	"google.golang.org/protobuf/encoding/protowire"

	"lacuna/internal/kernel/profile"
)

// rule reads what a rule of the profiler said.
func (f *filler) rule(msg []byte) (r profile.RuleResult) {
	f.each("rule result", msg, func(c *cursor) {
		switch c.num {
		case ruleID:
			r.ID = c.text()
		case ruleName:
			r.Name = c.text()
		case ruleBody:
			f.each("rule body", c.bytes, func(c *cursor) {
				if c.num == ruleItem {
					f.ruleItem(&r, c.bytes)
				} else {
					f.unknown("rule body", c.num)
				}
			})
		case ruleSection:
			r.Section = c.text()
		case ruleMarker:
			r.Markers = keep(f, r.Markers, f.marker(c.bytes))
		default:
			f.unknown("rule result", c.num)
		}
	})
	return r
}

// ruleItem reads a message with its speedup, the metrics that it looked at, or a table.
func (f *filler) ruleItem(r *profile.RuleResult, msg []byte) {
	var m profile.Message
	said := false
	f.each("rule item", msg, func(c *cursor) {
		switch n := c.num; {
		case n == ruleMessage:
			said = true
			f.message(&m, c.bytes)
		case n == ruleFocus:
			r.Focus = keep(f, r.Focus, f.focus(c.bytes))
		case n == ruleSpeedup:
			m.Speedup = f.speedup(c.bytes)
		case n == ruleTable:
			r.Tables = keep(f, r.Tables, f.ruleTable(c.bytes))
		case n == ruleMetrics, n >= ruleTable2 && n <= ruleProposal:
		default:
			f.unknown("rule item", n)
		}
	})
	switch n := len(r.Messages); {
	case said:
		r.Messages = keep(f, r.Messages, m)
	case m.Speedup.Kind != "" && n > 0 && r.Messages[n-1].Speedup.Kind == "": // an item of its own, after the message
		r.Messages[n-1].Speedup = m.Speedup
	}
}

func (f *filler) message(m *profile.Message, msg []byte) {
	f.each("rule message", msg, func(c *cursor) {
		switch c.num {
		case messageText:
			m.Text = c.text()
		case messageType:
			m.Type = int(int32(c.whole))
		case messageTitle:
			m.Title = c.text()
		case messageID:
		default:
			f.unknown("rule message", c.num)
		}
	})
}

func (f *filler) focus(msg []byte) (x profile.Focus) {
	f.each("focus metric", msg, func(c *cursor) {
		switch c.num {
		case focusName:
			x.Name = c.text()
		case focusValue:
			x.Value = c.double()
		case focusSeverity:
			x.Severity = int(int32(c.whole))
		case focusInfo:
			x.Info = c.text()
		case focusID:
		default:
			f.unknown("focus metric", c.num)
		}
	})
	return x
}

func (f *filler) speedup(msg []byte) (s profile.Speedup) {
	f.each("speedup", msg, func(c *cursor) {
		switch {
		case c.num == speedupKind && c.whole == speedupLocal:
			s.Kind = "local"
		case c.num == speedupKind && c.whole == speedupGlobal:
			s.Kind = "global"
		case c.num == speedupKind:
		case c.num == speedupPercent && c.kind == protowire.Fixed64Type:
			s.Percent = c.double()
		default:
			f.unknown("speedup", c.num)
		}
	})
	return s
}

func (f *filler) marker(msg []byte) (m profile.Marker) {
	f.each("marker", msg, func(c *cursor) {
		switch c.num {
		case markerLine:
			m.Line = uint32(c.whole)
		case markerAddress:
			m.Address = c.whole
		case markerText:
			m.Text = c.text()
		case markerFile:
			m.File = c.text()
		case markerKind, markerType:
		default:
			f.unknown("marker", c.num)
		}
	})
	return m
}

func (f *filler) ruleTable(msg []byte) (t profile.RuleTable) {
	f.each("rule table", msg, func(c *cursor) {
		switch c.num {
		case ruleTableHead:
			f.each("rule table's head", c.bytes, func(c *cursor) {
				switch c.num {
				case tableTitle:
					t.Title = c.text()
				case tableText:
					t.Text = c.text()
				}
			})
		case ruleTableColumn:
			t.Columns = keep(f, t.Columns, f.ruleColumn(c.bytes))
		default:
			f.unknown("rule table", c.num)
		}
	})
	return t
}

func (f *filler) ruleColumn(msg []byte) (x profile.RuleColumn) {
	f.each("rule table's column", msg, func(c *cursor) {
		switch c.num {
		case columnName:
			x.Name = c.text()
		case columnText:
			x.Cells = keep(f, x.Cells, profile.Value{Kind: profile.Text, String: c.text()})
		case columnNumber:
			x.Cells = keep(f, x.Cells, profile.Value{Kind: profile.Double, Float: c.double()})
		}
	})
	return x
}

package ncu

import (
	"lacuna/internal/kernel/profile"
)

// section reads the definition of a section.
func (f *filler) section(msg []byte) (s profile.Section) {
	f.each("section", msg, func(c *cursor) {
		switch c.num {
		case sectionID:
			s.ID = c.text()
		case sectionName:
			s.Name = c.text()
		case sectionOrder:
			s.Order = int64(c.whole)
		case sectionHeader:
			s.Header = f.sectionMetrics(s.Header, c.bytes, headerList)
		case sectionBody:
			s.Body = f.body(s.Body, c.bytes)
		case sectionExtra:
			s.Extra = f.sectionMetrics(s.Extra, c.bytes, listMetric)
		case sectionDescription:
			s.Description = c.text()
		case sectionSet:
			if p := f.pair("set", c.bytes); p.Name != "" {
				s.Sets = keep(f, s.Sets, p.Name)
			}
		case sectionExtends:
			s.Extends = c.text()
		case sectionDefinitions:
			f.each("metric definitions", c.bytes, func(c *cursor) {
				if c.num == definitionEntry {
					s.Definitions = keep(f, s.Definitions, f.definition(c.bytes))
				}
			})
		case sectionFilter:
			s.Filters = f.filters(s.Filters, c.bytes)
		case sectionSource:
			s.Source = f.sectionMetrics(s.Source, c.bytes, listMetric)
		case sectionGroups:
		default:
			f.unknown("section", c.num)
		}
	})
	return s
}

// definition reads the name and formula of a metric; one for several chips comes once per formula.
func (f *filler) definition(msg []byte) (p profile.Pair) {
	f.each("metric definition", msg, func(c *cursor) {
		switch c.num {
		case pairName:
			p.Name = c.text()
		case pairValue:
			p.Value = c.text()
		case definitionFilter:
		default:
			f.unknown("metric definition", c.num)
		}
	})
	return p
}

// sectionMetrics reads the metrics of a message that has them in field number list; its other fields say how they are
// laid out.
func (f *filler) sectionMetrics(metrics []profile.SectionMetric, msg []byte, list int) []profile.SectionMetric {
	f.each("section metrics", msg, func(c *cursor) {
		if int(c.num) == list {
			metrics = keep(f, metrics, f.sectionMetric(c.bytes))
		}
	})
	return metrics
}

func (f *filler) sectionMetric(msg []byte) (m profile.SectionMetric) {
	f.each("section metric", msg, func(c *cursor) {
		switch c.num {
		case metricSecID:
			m.Name = c.text()
		case metricLabel:
			m.Label = c.text()
		case metricShow:
			m.Instances = c.whole != 0
		case metricUnit:
			m.Unit = c.text()
		case metricFilter:
			m.Filters = f.filters(m.Filters, c.bytes)
		case metricOption:
			m.Options = keep(f, m.Options, f.option(c.bytes))
		case metricHW, metricLook, metricGroups:
		default:
			f.unknown("section metric", c.num)
		}
	})
	return m
}

// option reads a metric that stands in for another.
func (f *filler) option(msg []byte) (m profile.SectionMetric) {
	f.each("metric option", msg, func(c *cursor) {
		switch c.num {
		case optionName:
			m.Name = c.text()
		case optionLabel:
			m.Label = c.text()
		case optionFilter:
			m.Filters = f.filters(m.Filters, c.bytes)
		default:
			f.unknown("metric option", c.num)
		}
	})
	return m
}

// filters reads for which compute capabilities something is: one span, or a list of spans one level down.
func (f *filler) filters(list []profile.Filter, msg []byte) []profile.Filter {
	var span profile.Filter
	f.each("filter", msg, func(c *cursor) {
		switch c.num {
		case filterMin:
			span.Min = uint32(c.whole)
		case filterMax:
			span.Max = uint32(c.whole)
		case filterSpan:
			if one := f.filterSpan(c.bytes); one != (profile.Filter{}) {
				list = keep(f, list, one)
			}
		default:
			if c.num < filterScope || c.num > filterLast {
				f.unknown("filter", c.num)
			}
		}
	})
	if span != (profile.Filter{}) {
		list = keep(f, list, span)
	}
	return list
}

func (f *filler) filterSpan(msg []byte) (span profile.Filter) {
	f.each("filter span", msg, func(c *cursor) {
		switch c.num {
		case filterMin:
			span.Min = uint32(c.whole)
		case filterMax:
			span.Max = uint32(c.whole)
		default:
			f.unknown("filter span", c.num)
		}
	})
	return span
}

// body reads one entry of a section's body: items under a common title.
func (f *filler) body(parts []profile.BodyPart, msg []byte) []profile.BodyPart {
	title, first := "", len(parts)
	f.each("section body", msg, func(c *cursor) {
		switch c.num {
		case bodyItem:
			parts = f.bodyItem(parts, c.bytes, 0)
		case bodyName:
			title = c.text()
		case bodyStyle:
		default:
			f.unknown("section body", c.num)
		}
	})
	for i := range parts[first:] {
		parts[first+i].Title = title
	}
	return parts
}

// maxDepth bounds groups in groups of a section's body: two are in use.
const maxDepth = 8

// bodyItem reads a table, a chart, or a group of them.
func (f *filler) bodyItem(parts []profile.BodyPart, msg []byte, depth int) []profile.BodyPart {
	var filters []profile.Filter
	first := len(parts)
	f.each("body item", msg, func(c *cursor) {
		switch n := c.num; {
		case n == itemTable:
			parts = keep(f, parts, f.bodyPart(c.bytes, tableList, false))
		case n == itemBars:
			parts = keep(f, parts, f.bodyPart(c.bytes, barsList, true))
		case n == itemBins:
			parts = keep(f, parts, f.bodyPart(c.bytes, binsMetric, true))
		case n == itemLines:
			parts = keep(f, parts, f.bodyPart(c.bytes, linesList, true))
		case n == itemRoofline:
			parts = keep(f, parts, f.bodyPart(c.bytes, noList, true))
		case n == itemSamples:
			parts = keep(f, parts, f.bodyPart(c.bytes, samplesList, true))
		case n == itemGroup && depth < maxDepth:
			f.each("body group", c.bytes, func(c *cursor) {
				if c.num == groupItem {
					parts = f.bodyItem(parts, c.bytes, depth+1)
				}
			})
		case n == itemFilter:
			filters = f.filters(filters, c.bytes)
		case n == itemGrid, n > firstWidget && n <= lastWidget:
		default:
			f.unknown("body item", c.num)
		}
	})
	for i := range parts[first:] {
		if parts[first+i].Filters == nil {
			parts[first+i].Filters = filters
		}
	}
	return parts
}

// bodyPart reads a table or chart, whose label is field 1 and whose metrics are field number list.
func (f *filler) bodyPart(msg []byte, list int, chart bool) profile.BodyPart {
	p := profile.BodyPart{Chart: chart}
	f.each("body part", msg, func(c *cursor) {
		switch int(c.num) {
		case partLabel:
			p.Label = c.text()
		case list:
			p.Metrics = keep(f, p.Metrics, f.sectionMetric(c.bytes))
		}
	})
	return p
}

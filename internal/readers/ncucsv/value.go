package ncucsv

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"lacuna/internal/kernel/profile"
)

// firstColumns are those of a raw page that are no metrics.
func firstColumn(name string) bool {
	switch name {
	case "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream",
		"Block Size", "Grid Size", "Device", "CC":
		return true
	}
	return strings.Contains(name, "Domain:") // NVTX ranges, with --nvtx
}

// rawRow reads the metrics of a launch from a row of the raw page.
func (p *page) rawRow(l *profile.Launch, row []string) {
	for i, cell := range row[:min(len(row), len(p.header))] {
		if cell == "" || firstColumn(p.header[i]) {
			continue
		}
		unit := ""
		if i < len(p.units) {
			unit = p.units[i]
		}
		if v, ok := p.value(cell, unit); ok {
			if p.names[i] == 0 {
				p.names[i] = p.report.Names.ID(p.header[i]) + 1
			}
			p.addID(l, p.names[i]-1, v)
		}
	}
}

// value reads a cell in a unit that may have a prefix. ok: there is a metric.
func (p *page) value(cell, unit string) (v profile.Value, ok bool) {
	cell = strings.TrimSpace(cell)
	if at := strings.Index(cell, " ("); at > 0 && strings.HasSuffix(cell, ")") {
		if _, isNumber := p.number(cell[:at]); isNumber {
			p.report.Losses.Add(lossInstances, 1, cell[:min(len(cell), 60)])
			cell = cell[:at]
		}
	}
	switch cell {
	case "", "n/a":
		return v, false
	case "no data":
		return v, true
	}
	_, factor := profile.BaseUnit(unit)
	if n, err := strconv.ParseUint(cell, 10, 64); err == nil && factor == 1 {
		return profile.Value{Kind: profile.Unsigned, Uint: n}, true
	}
	if f, ok := p.number(cell); ok {
		return profile.Value{Kind: profile.Double, Float: f * factor}, true
	}
	return profile.Value{Kind: profile.Text, String: cell}, true
}

// number reads a number as this page writes them.
func (p *page) number(text string) (float64, bool) {
	if p.commaDecimal {
		text = strings.Map(swap, text)
	}
	return parseNumber(text)
}

func swap(r rune) rune {
	switch r {
	case ',':
		return '.'
	case '.':
		return ','
	}
	return r
}

// commaDecimal says whether a page is written in a language that has 1.234,50 for 1,234.50, from the quoted cells
// that can be read in one way only.
func commaDecimal(head []byte) bool {
	comma, point := 0, 0
	for part := range bytes.SplitSeq(head, []byte{'"'}) {
		if len(part) < 4 || len(part) > 30 {
			continue
		}
		text := string(part)
		if written(strings.Map(swap, text)) {
			comma++
		}
		if written(text) {
			point++
		}
	}
	return comma > point
}

// written says whether text is a number as 1,234.50 and cannot be one as 1.234,50: it has two or six decimals, as the
// profiler writes them, or several groups of thousands. Addresses and versions are none.
func written(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	whole, decimals, has := strings.Cut(digits, ".")
	if whole == "" || strings.Trim(decimals, "0123456789") != "" || has && len(decimals) != 2 && len(decimals) != 6 {
		return false
	}
	if commas := strings.Count(whole, ","); commas > 0 {
		return grouped(whole) && (has || commas > 1)
	}
	return has && strings.Trim(whole, "0123456789") == ""
}

// parseNumber reads "1,234.50", "-3", "nan". Thousands are separated in pages that are printed while profiling.
func parseNumber(text string) (float64, bool) {
	switch text {
	case "nan", "-nan":
		return math.NaN(), true
	case "inf":
		return math.Inf(1), true
	case "-inf":
		return math.Inf(-1), true
	}
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return 0, false // ParseFloat takes words and hexadecimal too
	}
	if strings.IndexByte(text, ',') >= 0 {
		if !grouped(digits) {
			return 0, false
		}
		text = strings.ReplaceAll(text, ",", "")
	}
	if strings.ContainsAny(text, "xX_pP") {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// grouped says whether commas stand before groups of three digits: "0,1,2" is a list.
func grouped(text string) bool {
	whole, _, _ := strings.Cut(text, ".")
	for i, part := range strings.Split(whole, ",") {
		if i == 0 && (part == "" || len(part) > 3) || i > 0 && len(part) != 3 {
			return false
		}
		if strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return true
}

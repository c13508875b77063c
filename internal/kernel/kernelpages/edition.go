package kernelpages

import (
	"strconv"
	"strings"

	"lacuna/internal/kernel/profile"
)

// An edition is the way in which some versions of ncu print. Two are known from printed pages: 2024.1.1, which printed
// reports of 2020.3 to 2025.1 and one of 2025.3, and 2025.3.1, which printed its own.
type edition struct {
	// since2025 is the newer: units are short (ns, byte/s, hz), and numbers that were counted keep no decimals.
	since2025 bool
	// unknownChip: the edition did not know the chip, hence no unit of its counters.
	unknownChip bool
	turing      bool // some units differ there
	// threads: metrics of executed threads were derived, and then ncu counts fused operations in threads too.
	threads bool
}

// editionOf is how the tool that made a report would print it, as far as is known: the older way up to 2025.2. Of
// Blackwell (10.0 and later) there is one page, by 2024.1.1, which did not know the chip.
func editionOf(r *profile.Report) edition {
	e := edition{since2025: atLeast(r.Producer, 2025, 3)}
	_, e.threads = r.Names.Find("derived__avg_thread_executed")
	for _, l := range r.Launches {
		major, _ := l.Number("device__attribute_compute_capability_major")
		minor, _ := l.Number("device__attribute_compute_capability_minor")
		e.turing = e.turing || major == 7 && minor == 5
		e.unknownChip = e.unknownChip || major >= 10
	}
	e.since2025 = e.since2025 && !e.unknownChip
	return e
}

// atLeast says whether a producer such as "Nsight Compute 2025.3.1" is of that version or a later one.
func atLeast(producer string, year, release int) bool {
	version := strings.Split(producer[strings.LastIndexByte(producer, ' ')+1:], ".")
	if len(version) < 2 {
		return false
	}
	y, err1 := strconv.Atoi(version[0])
	n, err2 := strconv.Atoi(version[1])
	return err1 == nil && err2 == nil && (y > year || y == year && n >= release)
}

// A step is a unit with a prefix and how many base units it is.
type step struct {
	unit   string
	factor float64
}

// steps are the units that ncu may choose in place of a base unit, the smaller factor first. Counts, percentages and
// ratios are never scaled; rates of anything but bytes scale what they are divided by.
func steps(unit string) []step {
	switch {
	case unit == "byte/sector":
		return nil
	case strings.HasPrefix(unit, "byte"):
		return []step{{"K" + unit, 1e3}, {"M" + unit, 1e6}, {"G" + unit, 1e9}, {"T" + unit, 1e12}}
	case unit == "nsecond":
		return []step{{"usecond", 1e3}, {"msecond", 1e6}, {"second", 1e9}}
	case unit == "ns":
		return []step{{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}
	case unit == "hz":
		return []step{{"Khz", 1e3}, {"Mhz", 1e6}, {"Ghz", 1e9}}
	case unit == "%/byte":
		return []step{{"%/Kbyte", 1e3}}
	case strings.HasSuffix(unit, "/second"):
		over := strings.TrimSuffix(unit, "second")
		return []step{{over + "msecond", 1e3}, {over + "usecond", 1e6}, {over + "nsecond", 1e9}}
	case strings.HasSuffix(unit, "/s"):
		over := strings.TrimSuffix(unit, "s")
		return []step{{over + "ms", 1e3}, {over + "us", 1e6}, {over + "ns", 1e9}}
	}
	return nil
}

// scaled is the unit for values of which the largest is given: the largest factor not above it.
func scaled(unit string, largest float64) step {
	best := step{unit, 1}
	for _, s := range steps(unit) {
		if largest >= s.factor {
			best = s
		}
	}
	return best
}

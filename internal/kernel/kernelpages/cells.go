package kernelpages

import (
	"fmt"
	"math"
	"path"
	"strconv"

	"lacuna/internal/kernel/profile"
)

// launchColumns are the first columns of a line about a launch.
var launchColumns = [...]string{"ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
	"Block Size", "Grid Size", "Device", "CC"}

// launchCells are the cells of those.
func launchCells(l *profile.Launch) [len(launchColumns)]string {
	u := func(n uint64) string { return strconv.FormatUint(n, 10) }
	return [...]string{
		strconv.Itoa(l.ID), u(l.PID), path.Base(l.Process), l.Host, l.Name, u(l.Context), u(l.Stream),
		size(l.Block), size(l.Grid), strconv.Itoa(l.Device), capability(l),
	}
}

func size(s [3]uint32) string { return fmt.Sprintf("(%d, %d, %d)", s[0], s[1], s[2]) }

// capability is the device's compute capability: "8.6".
func capability(l *profile.Launch) string {
	major, _ := l.Number("device__attribute_compute_capability_major")
	minor, _ := l.Number("device__attribute_compute_capability_minor")
	return fmt.Sprintf("%.0f.%.0f", major, minor)
}

// plain is a value without scaling: doubles as integers if they are, else with two decimals.
func plain(m *profile.Metric) string {
	switch v := m.Value; v.Kind {
	case profile.Text:
		return v.String
	case profile.Unsigned:
		return strconv.FormatUint(v.Uint, 10)
	case profile.Double:
		return round2(v.Float)
	}
	if m.HasInstances() {
		return ""
	}
	return "no data"
}

// round2 is a number as integer if it is one, else with two decimals; a NaN has no sign here.
func round2(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return six(v)
	case v == math.Trunc(v):
		return strconv.FormatFloat(v+0, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// six is a number as C's %.6f prints it.
func six(v float64) string {
	switch {
	case math.IsNaN(v) && math.Signbit(v):
		return "-nan"
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	return strconv.FormatFloat(v, 'f', 6, 64)
}

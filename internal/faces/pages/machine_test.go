package pages

import (
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/page/pagetest"
	"lacuna/internal/faces/pages/samples"
)

func TestMonitor(t *testing.T) {
	for name, l := range map[string]page.Layout{"100": {Width: 100}, "80": {Width: 80}, "40": {Width: 40},
		"40_ascii": {Width: 40, ASCII: true}} {
		golden.File(t, "testdata/monitor_"+name+".txt", textOf(t, Monitor(samples.Monitor(), l.Width), l))
	}
	pagetest.Check(t, Monitor(samples.Monitor(), 80))
}

func TestDoctorGoldens(t *testing.T) {
	golden.File(t, "testdata/doctor_40.txt", textOf(t, Doctor(samples.Doctor()), page.Layout{Width: 40}))
	pagetest.Goldens(t, "doctor", Doctor(samples.Doctor()))
}

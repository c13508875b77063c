package pages

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/page/pagetest"
	"lacuna/internal/faces/pages/samples"
	"lacuna/internal/kernel/kernelreport"
)

// evil is a name as strangers' files have them.
const evil = samples.Evil

func TestKernelGoldens(t *testing.T) {
	pagetest.Goldens(t, "kernel", Kernel(samples.Kernels(), sampleAdvice, KernelDetail{Top: 3}))
	pagetest.HTML(t, "kernel", Kernel(samples.Kernels(), sampleAdvice, KernelDetail{Top: 3}))
	pagetest.Goldens(t, "kernel_whole", Kernel(samples.Kernels(), sampleAdvice, KernelDetail{Top: 1, Whole: true}))
	for _, test := range []struct {
		file   string
		layout page.Layout
		detail KernelDetail
	}{
		{"kernel_40_ascii_top.txt", page.Layout{Width: 40, ASCII: true}, KernelDetail{Top: 1}},
		{"kernel_120_whole.txt", page.Layout{Width: 120}, KernelDetail{Top: 1, Whole: true}},
		{"kernel_80_short.txt", page.Layout{Width: 80}, KernelDetail{Top: 1, Short: true}},
	} {
		t.Run(test.file, func(t *testing.T) {
			var out bytes.Buffer
			if err := page.WriteText(&out, Kernel(samples.Kernels(), sampleAdvice, test.detail),
				test.layout); err != nil {
				t.Fatal(err)
			}
			golden.File(t, "testdata/"+test.file, out.String())
		})
	}
	var out bytes.Buffer
	if _, err := RooflineSVG(&out, samples.Kernels(), 0); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/roofline.svg", out.String())
}

// What every one of several kernels lacks is said once.
func TestKernelLacksOnce(t *testing.T) {
	r := samples.Kernels()
	lack := kernelreport.Missing{Part: "stall reasons", GetItWith: "--section WarpStateStats"}
	only := kernelreport.Missing{Part: "cache traffic", GetItWith: "--section MemoryWorkloadAnalysis"}
	r.Kernels = append(r.Kernels[:1:1], r.Kernels[0], r.Kernels[0])
	for i := range r.Kernels {
		r.Kernels[i].Missing, r.Kernels[i].Abstained = []kernelreport.Missing{lack}, nil
	}
	r.Kernels[1].Missing = append(r.Kernels[1].Missing, only)
	p := Kernel(r, nil, KernelDetail{Top: 3})
	pagetest.Check(t, p)
	text := textOf(t, p, page.Layout{Width: 100})
	for _, want := range []string{"Not in the report: stall reasons", "Not in the report: cache traffic",
		"Not judged of any of these kernels"} {
		if n := strings.Count(text, want); n != 1 {
			t.Errorf("%q stands %d times:\n%s", want, n, text)
		}
	}
	pagetest.Check(t, Kernel(r, nil, KernelDetail{Top: 3, Short: true}))
}

// Many short launches are one finding before the kernels, and launches of one size that did other work are told apart
// by number.
func TestKernelsOfManyShortLaunches(t *testing.T) {
	r := samples.Kernels()
	r.Kernels = append(r.Kernels[:1:1], r.Kernels[0])
	r.Kernels[1].Launch = 77
	r.Short = &kernelreport.ShortLaunches{Why: "50 launches take less than 10 µs each", Fix: "Do more\nin each launch."}
	p := Kernel(r, nil, KernelDetail{Top: 1})
	pagetest.Check(t, p)
	text := textOf(t, p, page.Layout{Width: 100})
	for _, want := range []string{"Many short launches", "Do more in each launch.", "launch 77 "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q:\n%s", want, text)
		}
	}
}

// A line of a kernel and other resources, with names of strangers.
func TestKernelAnswersGoldens(t *testing.T) {
	line := kernelreport.Listing{Name: evil, File: evil, Line: 3,
		Lines: []kernelreport.ListedLine{{Line: 2, Text: "{"}, {Line: 3, Text: evil, Waits: 1, Executed: 0.5}},
		Instructions: []kernelreport.ListedMachine{{Opcode: evil, Executed: 1e12, Lanes: 31.5, Sectors: 5, Excess: 1,
			Waits: 1, Reason: evil}}}
	long := line
	for range 60 {
		long.Instructions = append(long.Instructions,
			kernelreport.ListedMachine{Opcode: "MOV", Offset: 16, Executed: 8})
	}
	pagetest.Goldens(t, "kernel_listing", Listings(&kernelreport.Listings{Kernels: []kernelreport.Listing{line, long}}))
	now := kernelreport.Resources{Registers: 121, SharedBytes: 8320, Threads: 256, BlocksPerSM: 2, TheoreticalPct: 25,
		Blocks: 16384, Waves: 62.1}
	pagetest.Goldens(t, "kernel_calculations", Calculations(
		&kernelreport.Calculations{Kernels: []kernelreport.Calculation{
			{Name: evil, Asked: evil, Now: now, Limiting: []string{"warps"}, Notes: []string{evil}},
			{Name: evil, Asked: "regs=64", Error: evil}}}))
}

// A drawing is well-formed whatever names say, and none is made of what has no place on logarithmic axes.
func TestRooflineSVG(t *testing.T) {
	r := samples.Kernels()
	r.Kernels[0].Name, r.Device.Name = evil, "</svg><script>alert(1)</script>"
	var out bytes.Buffer
	if drawn, err := RooflineSVG(&out, r, 0); err != nil || !drawn {
		t.Fatalf("drawn %v, %v", drawn, err)
	}
	d := xml.NewDecoder(&out)
	circles := 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			if e.Name.Local == "script" {
				t.Error("a name became an element")
			}
			if e.Name.Local == "circle" {
				circles++
			}
		}
	}
	if circles != 4 { // three levels and the legend
		t.Errorf("%d circles, want 4", circles)
	}
	for name, v := range map[string]float64{"zero": 0, "infinite": math.Inf(1), "negative": -1, "none": math.NaN()} {
		r := &kernelreport.Report{Kernels: []kernelreport.Kernel{{Roofline: []kernelreport.Point{{Precision: "fp32",
			Level: "dram", Flops: v, Intensity: 1, Peak: 1, Bandwidth: 1}}}}}
		if drawn, err := RooflineSVG(io.Discard, r, 0); drawn || err != nil {
			t.Errorf("%s: drawn %v, %v", name, drawn, err)
		}
		if err := page.WriteText(io.Discard, Kernel(r, nil, KernelDetail{Top: 1}), page.Layout{}); err != nil {
			t.Error(err)
		}
	}
}

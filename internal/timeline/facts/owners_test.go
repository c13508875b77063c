package facts

import (
	"strings"
	"testing"
)

// TestWorkOwners tells which operator or range each piece of work belongs to.
func TestWorkOwners(t *testing.T) {
	for _, test := range []struct{ name, events, want string }{
		{"by external ID, though it runs much later", `
op x3 0+100 aten::mm
call c1 x3 50+10 cudaLaunchKernel
kernel c1 x3 900+50 gemm`, "aten::mm"},
		{"launched before the capture, so by external ID alone", `
op x3 0+100 aten::mm
op x4 200+100 aten::add
call c2 x4 250+10 cudaLaunchKernel
kernel x3 500+50 gemm
kernel c2 x4 550+50 add`, "aten::mm aten::add"},
		{"by time, where the IDs number something else", `
op x3 0us+100us aten::mm
op x4 200us+100us aten::add
call c1 x4 50us+10us cudaLaunchKernel
call c2 x3 250us+10us cudaLaunchKernel
kernel c1 x4 500us+50us gemm
kernel c2 x3 600us+50us add`, "aten::mm aten::add"},
		{"no operators: the innermost range, whose counter does not matter", `
range 0+300 train
range 10+50 part 7 of 9
range 80+50 part 8 of 9
range 150+50 part 9 of 9
call c1 20+10 cudaLaunchKernel
call c2 90+10 cudaLaunchKernel
call c3 220+10 cudaLaunchKernel
kernel c1 500+50 a
kernel c2 600+50 b
kernel c3 700+50 c`, "part * of * part * of * train"},
	} {
		f := of(t, strings.TrimSpace(test.events)+"\n")
		var got []string
		for _, id := range f.WorkOwners() {
			got = append(got, f.NameText(id))
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%s: owners are %q, want %q", test.name, s, test.want)
		}
	}
}

func TestDeviceName(t *testing.T) {
	for _, test := range []struct {
		name, events string
		ordinal      uint32
		want         string
	}{
		{"described", "device 0 A\ndevice 1 B\n", 1, "B"},
		{"numbered otherwise, all the same", "device 0 A\ndevice 1 A\n", 9, "A"},
		{"numbered otherwise, not the same", "device 0 A\ndevice 1 B\n", 9, ""},
		{"mentioned, not named", "device 0 A\ndevice 2\n", 2, "A"},
		{"none described", "kernel 0+1 a\n", 0, ""},
	} {
		if got := of(t, test.events).DeviceName(test.ordinal); got != test.want {
			t.Errorf("%s: name is %q, want %q", test.name, got, test.want)
		}
	}
}

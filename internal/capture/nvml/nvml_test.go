package nvml

import (
	"reflect"
	"strings"
	"testing"
)

func TestReasons(t *testing.T) {
	for _, test := range []struct {
		bits Reasons
		want string
	}{
		{0, ""},
		{Idle, ""},
		{PowerCap | ThermalSlowdown, "power cap, heat"},
		{DisplayClocks | ApplicationClocks, "clocks set by an application, display clocks"},
		{1 << 40, ""},
	} {
		if got := strings.Join(test.bits.Names(), ", "); got != test.want {
			t.Errorf("%#x: %q, want %q", uint64(test.bits), got, test.want)
		}
	}
}

func TestVisible(t *testing.T) {
	devices := []Device{{UUID: "GPU-aaaa-0"}, {UUID: "GPU-bbbb-1"}, {UUID: "GPU-bbcc-2"}}
	for _, test := range []struct {
		value string
		set   bool
		want  []int
	}{
		{"", false, []int{0, 1, 2}},
		{"", true, nil},
		{"1", true, []int{1}},
		{"2, 0", true, []int{2, 0}},
		{"GPU-bbcc", true, []int{2}},
		{"0,9,1", true, []int{0}}, // CUDA stops at the first that is none
		{"-1", true, nil},
		{"NoDevFiles", true, nil},
		{"99999999999999999999", true, nil},
	} {
		if got := Visible(devices, test.value, test.set); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q: %v, want %v", test.value, got, test.want)
		}
	}
}

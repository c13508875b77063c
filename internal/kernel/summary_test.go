package kernel

import (
	"fmt"
	"strings"
	"testing"

	"lacuna/internal/kernel/profile"
)

// Launches of one size that take many times as long as others did other work: they are apart, in the order of their
// first ones. Short ones differ by their start and end.
func TestLaunchesThatDifferAreApart(t *testing.T) {
	for _, c := range []struct{ us, want string }{
		{"105 4049", "0:105 1:4049"},
		{"2244 8943 2300", "0,2:2244 1:8943"},
		{"100 180 300 500", "0,1,2,3:180"}, // no gap
		{"2 9", "0,1:2"},
		{"50 - 900", "0,1:50 2:900"},
		{"- -", "0,1:0"},
	} {
		var text strings.Builder
		for us := range strings.FieldsSeq(c.us) {
			text.WriteString("kernel k grid=16,2,32 block=8,32,1\n")
			if us != "-" {
				text.WriteString("gpu__time_duration.sum " + us + "000\n")
			}
		}
		r, err := profile.Parse(text.String())
		if err != nil {
			t.Fatal(err)
		}
		var all []*Kernel
		for _, l := range r.Launches {
			all = append(all, Of(l))
		}
		var got []string
		for _, s := range Summarise(all) {
			var ids []string
			for _, k := range s.Launches {
				ids = append(ids, fmt.Sprint(k.Launch.ID))
			}
			got = append(got, fmt.Sprintf("%s:%.0f", strings.Join(ids, ","), s.MedianUs))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s us: %s, want %s", c.us, s, c.want)
		}
	}
}

package exporters

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/timeline/evtext"
)

// TestExporters converts small captures by each exporter: one without its cases fails.
func TestExporters(t *testing.T) {
	for _, e := range All {
		t.Run(e.Name, func(t *testing.T) {
			written := 0
			golden.Cases(t, "testdata/"+e.Name+".txtar", func(t *testing.T, events string) string {
				trace, err := evtext.Parse(events)
				if err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				if err := e.Write(&out, trace); err != nil {
					t.Fatal(err)
				}
				written += out.Len()
				return packed.ReplaceAllString(out.String(), "(packed)") // its bytes are the compressor's
			})
			if written == 0 {
				t.Errorf("testdata/%s.txtar: no case writes anything", e.Name)
			}
		})
	}
	golden.NoStrangers(t, "testdata", func(name string) bool { return Find(name) != nil })
}

// packed is a capture in a timeline; the test of its reader opens it.
var packed = regexp.MustCompile(`KLUv[A-Za-z0-9+/]{40,}=*`)

// Every exporter says what a person must know of it.
func TestExportersAreDocumented(t *testing.T) {
	for _, e := range All {
		if strings.TrimSpace(e.Title) == "" || strings.TrimSpace(e.Doc) == "" || e.Write == nil || Find(e.Name) != e {
			t.Errorf("%s: no Title, Doc or Write", e.Name)
		}
	}
	if Find("nothing") != nil {
		t.Error("nothing is found")
	}
}

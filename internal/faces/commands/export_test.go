package commands

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// A timeline for viewers is read again as the capture that it was made of: same steps, budget, findings and prices.
func TestTimelineComesBack(t *testing.T) {
	dir := t.TempDir()
	if err := captures(dir); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, path := range []string{"run.sqlite", "trace.json.gz", demoPath} {
		of := func(path string) map[string]any {
			var out bytes.Buffer
			if status := Main([]string{"report", path, "--format", "json"}, nil, &out, io.Discard); status != Done {
				t.Fatalf("report %s fails", path)
			}
			var r map[string]any
			if err := json.Unmarshal(out.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			return r
		}
		back := filepath.Join("back", path+".json.gz")
		if err := os.MkdirAll("back", 0o755); err != nil {
			t.Fatal(err)
		}
		if status := Main([]string{"export", path, "--to", "chrome", "-o", back}, nil, io.Discard,
			io.Discard); status != Done {
			t.Fatalf("export %s fails", path)
		}
		want, got := of(path), of(back)
		if len(want["findings"].([]any)) == 0 {
			t.Errorf("%s has no finding to compare", path)
		}
		for key := range want {
			if key != "inputs" && !reflect.DeepEqual(want[key], got[key]) {
				t.Errorf("%s: %s is\n%v, was\n%v", path, key, got[key], want[key])
			}
		}
		producer := func(r map[string]any) string {
			return r["inputs"].([]any)[0].(map[string]any)["producer"].(string)
		}
		if producer(want) != producer(got) || strings.Contains(producer(got), "lacuna export") {
			t.Errorf("made by %s, was %s", producer(got), producer(want))
		}
	}
}

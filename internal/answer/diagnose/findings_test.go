package diagnose

import "testing"

// TestBoundAfter: what bounds the step after all fixes is not said of a step that the replay did not make.
func TestBoundAfter(t *testing.T) {
	mixed := map[string]float64{"compute": 80, "launch": 20}
	for _, test := range []struct {
		path map[string]float64
		kept float64
		want string
	}{{mixed, 0, "compute"}, {mixed, 0.5, "compute"}, {mixed, 5, ""},
		{map[string]float64{"compute": 96, "launch": 4}, 5, "compute"}} {
		if got := boundAfter(test.path, 100, test.kept); got != test.want {
			t.Errorf("%v with %v kept: %q, want %q", test.path, test.kept, got, test.want)
		}
	}
}

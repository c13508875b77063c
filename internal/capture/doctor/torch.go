package doctor

import (
	"fmt"
	"path"
	"strings"
	"time"
)

var torch = Check{ID: "torch", Title: "PyTorch", For: []Purpose{Record}, Run: func(x *exam) []Result {
	for _, folder := range x.python.Folders {
		text := x.read(path.Join(folder, "torch/version.py"))
		if text == "" {
			continue
		}
		v, cuda := assigned(text, "__version__"), assigned(text, "cuda")
		if cuda == "" {
			return []Result{{State: Limited, Text: v + ", built without CUDA",
				Cost:     "its programs do not use an NVIDIA GPU: there is nothing to record",
				Fix:      "install a build with CUDA",
				Commands: []string{x.python.Path + " -m pip install --force-reinstall torch"}, Limits: nil}}
		}
		r := Result{State: OK, Text: fmt.Sprintf("%s, CUDA %s", v, cuda)}
		if least := leastDriver(version(cuda)); least != "" && x.cudaDriver() != "" && older(x.cudaDriver(), least) {
			r.State, r.Text = Broken, fmt.Sprintf("%s; the driver is %s", r.Text, x.cudaDriver())
			r.Cost = fmt.Sprintf("CUDA %s needs driver %s or newer: torch finds no GPU", cuda, least)
			r.Fix = "update the driver, or install a torch for the driver's CUDA"
		}
		if x.Deep {
			r = x.importTorch(r)
		}
		return []Result{r}
	}
	return nil // there is none, and none is needed
}}

// importLimit is how long importing torch may take: from a cold network disk it takes a minute.
const importLimit = 2 * time.Minute

// importTorch asks torch itself, which takes seconds.
func (x *exam) importTorch(r Result) Result {
	said, err := x.askFor(importLimit, x.python.Path, "-c",
		`import torch; print("LACUNA", torch.cuda.is_available(), torch.cuda.device_count())`)
	_, answer, found := strings.Cut(said, "LACUNA ")
	var there string
	var count int
	fmt.Sscanf(answer, "%s %d", &there, &count)
	switch {
	case err != nil || !found:
		lines := strings.Split(strings.TrimSpace(said), "\n")
		r.State, r.Cost = Broken, "torch cannot be imported: "+lines[len(lines)-1]
	case there != "True":
		r.State, r.Cost = Broken, "torch finds no GPU (torch.cuda.is_available() is False)"
	default:
		r.Text += fmt.Sprintf("; it sees %d of the GPUs", count)
	}
	return r
}

// assigned is the text that a line of Python gives to a name: cuda: Optional[str] = '13.0'.
func assigned(text, name string) string {
	for line := range strings.Lines(text) {
		left, right, ok := strings.Cut(line, "=")
		left, _, _ = strings.Cut(left, ":")
		right = strings.TrimSpace(right)
		if ok && strings.TrimSpace(left) == name && len(right) >= 2 && (right[0] == '\'' || right[0] == '"') {
			value, _, _ := strings.Cut(right[1:], right[:1])
			return value
		}
	}
	return ""
}

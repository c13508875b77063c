package chrome

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"lacuna/internal/reader"
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/model"
)

func open(data string, opt reader.Options) (*model.Trace, error) {
	opt.Data = []byte(data)
	return reader.Open(context.Background(), "x.json", []*reader.Format{&Format}, opt)
}

const events = `info format=kineto cores=16
tool call=2500 spread=0.35 torch.profiler
step 0+1000
call c5 90+8 cudaLaunchKernel
py 80+40 train
kernel s7 c5 100+200 gemm
`

// timeline is a file as the exporter writes it, with a capture in it.
func timeline(t testing.TB, text string) string {
	t.Helper()
	trace, err := evtext.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var word bytes.Buffer
	if err := evtext.Pack(&word, trace); err != nil {
		t.Fatal(err)
	}
	return `{"displayTimeUnit":"ns","otherData":{"producer":"lacuna","capture":"` + word.String() +
		`","time_0_unix_ns":"5"},"traceEvents":[` + "\n]}\n"
}

// The capture comes back whole; what nobody asked for is not there, and not said to be.
func TestRead(t *testing.T) {
	want, err := evtext.Parse(events)
	if err != nil {
		t.Fatal(err)
	}
	back, err := open(timeline(t, events), reader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Check(back); err != nil {
		t.Error(err)
	}
	if back.Info.Format != "chrome" || back.Info.Tool.Name != "torch.profiler" || back.Info.Cores != 16 {
		t.Errorf("of the file: %+v", back.Info)
	}
	back.Info = want.Info
	var got, all bytes.Buffer
	if err := evtext.Write(&got, back); err != nil {
		t.Fatal(err)
	}
	if err := evtext.Write(&all, want); err != nil {
		t.Fatal(err)
	}
	if got.String() != all.String() {
		t.Errorf("got\n%s\nwant\n%s", got.String(), all.String())
	}
	some, err := open(timeline(t, events), reader.Options{Need: model.PartKernels})
	if err != nil || some.PyCalls.Len() != 0 || some.Loaded&model.PartPython != 0 || some.Kernels.Len() != 1 {
		t.Errorf("only kernels: %v, %d Python calls", err, some.PyCalls.Len())
	}
}

// What holds no capture, or a damaged one, is refused with the reason; other timelines are not ours.
func TestErrors(t *testing.T) {
	whole := timeline(t, events)
	with := func(word string) string { return strings.Replace(whole, `"capture":"`, `"capture":"`+word, 1) }
	const damaged = "x.json: the capture in it is damaged"
	for name, test := range map[string]struct{ data, want string }{
		"of an earlier version": {`{"displayTimeUnit":"ns","otherData":{"producer":"lacuna"},"traceEvents":[]}`,
			"x.json: is a timeline that an earlier lacuna exported for viewers, without the capture"},
		"cut":          {whole[:len(whole)/2], damaged},
		"not base64":   {with("%%%%"), damaged},
		"empty":        {`{"otherData":{"producer":"lacuna","capture":""},"traceEvents":[]}`, damaged},
		"another tool": {`{"traceEvents":[],"otherData":{"producer":"lacuna"}}`, "is not a profile that lacuna reads"},
		"no text form": {with("KLUv/QQAGQAAYWJjeHhw"), damaged},
	} {
		if _, err := open(test.data, reader.Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// Whatever a file holds, what comes of it is sound.
func FuzzRead(f *testing.F) {
	f.Add(timeline(f, events))
	f.Add(timeline(f, "kernel s7 c5 100+200 gemm\n"))
	f.Add(`{"otherData":{"producer":"lacuna","capture":"AAAA"},"traceEvents":[]}`)
	f.Add(`{"otherData":{"producer":"lacuna"`)
	f.Fuzz(func(t *testing.T, data string) {
		trace, err := open(data, reader.Options{})
		if err != nil {
			return
		}
		if err := model.Check(trace); err != nil {
			t.Fatal(err)
		}
	})
}

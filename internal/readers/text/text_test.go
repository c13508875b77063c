package text

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"lacuna/internal/reader"
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/model"
)

func open(data string) (*model.Trace, error) {
	return reader.Open(context.Background(), "x.txt", []*reader.Format{&Format}, reader.Options{Data: []byte(data)})
}

// What evtext writes is recognised and comes back to the byte.
func TestRead(t *testing.T) {
	made, err := evtext.Parse("call c5 90+8 cudaLaunchKernel\nkernel s7 c5 100+200 gemm\n")
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := evtext.Write(&first, made); err != nil {
		t.Fatal(err)
	}
	back, err := open(first.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Check(back); err != nil {
		t.Error(err)
	}
	if back.Info.Format != "text" || back.Kernels.Len() != 1 || back.Calls.Len() != 1 {
		t.Errorf("format %q, %d kernels, %d calls", back.Info.Format, back.Kernels.Len(), back.Calls.Len())
	}
	back.Info = made.Info // of the file, not of what it holds
	if err := evtext.Write(&second, back); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Errorf("got\n%s\nwant\n%s", second.String(), first.String())
	}
}

func TestErrors(t *testing.T) {
	if _, err := open("kernel 100+200 gemm\n"); err == nil {
		t.Error("text without its first line is taken")
	}
	var empty bytes.Buffer
	if err := evtext.Write(&empty, &model.Trace{}); err != nil {
		t.Fatal(err)
	}
	_, err := open(empty.String() + "kernel nonsense\n")
	if err == nil || !strings.HasPrefix(err.Error(), "x.txt: line ") {
		t.Errorf("got %v", err)
	}
}

// Whatever a file holds, what comes of it is sound, and writing it gives what reads the same.
func FuzzRead(f *testing.F) {
	const first = "# lacuna trace, text form 1\n"
	for _, seed := range []string{
		"", "info rank=0 cores=16 graphs=node\ntool call=2500 spread=0.35 Nsight Systems\n",
		"step 0+1000\nkernel s7 c5 100+200 gemm\ncall c5 90+8 launch\n",
		"tool call=1e300 spread=nan x\n", "range 5+open forward\nthread 2 p1 tid=4711 loader\n",
	} {
		f.Add(first + seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		trace, err := open(data)
		if err != nil {
			return
		}
		if err := model.Check(trace); err != nil {
			t.Fatal(err)
		}
		var once, again bytes.Buffer
		if err := evtext.Write(&once, trace); err != nil {
			t.Fatal(err)
		}
		back, err := evtext.Parse(once.String())
		if err != nil {
			t.Fatalf("%v, of\n%s", err, once.String())
		}
		if err := evtext.Write(&again, back); err != nil || again.String() != once.String() {
			t.Fatalf("%v: got\n%s\nwant\n%s", err, again.String(), once.String())
		}
	})
}

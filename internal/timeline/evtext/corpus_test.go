package evtext_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/reader"
	"lacuna/internal/readers"
	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/model"
)

// corpusFiles is captures that between them have most tables; LACUNA_CORPUS=all takes every one.
var corpusFiles = []string{
	"system/tiny_kernels/fixed/torch.json.gz",
	"system/host_sync/fixed/nsys.sqlite.zst",
	"public/nsys/pipit-cloverleaf/capture.sqlite.zst",
	"public/nsys/darknet-cudnn-gtx1650/capture.sqlite.zst",
}

// What a real capture is written as is read back to the same text.
func TestCorpusRoundTrip(t *testing.T) {
	root := golden.Corpus(t)
	var paths []string
	for _, f := range corpusFiles {
		paths = append(paths, filepath.Join(root, f))
	}
	if os.Getenv("LACUNA_CORPUS") == "all" {
		paths = append(golden.CorpusFiles(t, "system", "torch.json.gz", ".sqlite.zst"),
			append(golden.CorpusFiles(t, "public/kineto", ".json.gz", ".json"),
				golden.CorpusFiles(t, "public/nsys", ".sqlite.zst")...)...)
	}
	for _, path := range paths {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			trace, err := reader.Open(t.Context(), path, readers.All, reader.Options{})
			if err != nil {
				t.Fatal(err)
			}
			first := text(t, trace)
			again, err := evtext.Parse(string(first))
			if err != nil {
				t.Fatal(err)
			}
			if err := model.Check(again); err != nil {
				t.Error(err)
			}
			if second := text(t, again); !bytes.Equal(first, second) {
				n := 0
				for n < len(first) && n < len(second) && first[n] == second[n] {
					n++
				}
				t.Errorf("texts differ at byte %d: %.200q, then %.200q", n, first[max(0, n-80):], second[max(0, n-80):])
			}
			t.Logf("%d bytes", len(first))
		})
	}
}

func text(t *testing.T, trace *model.Trace) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := evtext.Write(&b, trace); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

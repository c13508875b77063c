package reader

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestAt reads plain and packed files at random, small ones from memory and large ones from a file without a name.
func TestAt(t *testing.T) {
	small := bytes.Repeat([]byte("lacuna "), 20_000)
	large := bytes.Repeat([]byte("lacuna "), spoolBytes/7+1000)
	for _, tt := range []struct {
		name   string
		data   []byte
		packed bool
		short  int // bytes to cut off
	}{
		{"plain", small, false, 0}, {"packed", small, true, 0}, {"packed and large", large, true, 0},
		{"cut", large, true, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file, temp := tt.data, t.TempDir()
			if tt.packed {
				z, err := zstd.NewWriter(nil)
				if err != nil {
					t.Fatal(err)
				}
				file = z.EncodeAll(tt.data, nil)
			}
			path := filepath.Join(t.TempDir(), "x")
			if err := os.WriteFile(path, file[:len(file)-tt.short], 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := open(context.Background(), path, Options{TempDir: temp})
			if err != nil {
				t.Fatal(err)
			}
			r, size, cut, err := s.At(context.Background())
			if err != nil || cut != (tt.short > 0) || tt.short == 0 && size != int64(len(tt.data)) {
				t.Fatalf("%d bytes of %d, cut %v, %v", size, len(tt.data), cut, err)
			}
			got := make([]byte, size-3)
			if _, err := r.ReadAt(got, 3); err != nil || !bytes.Equal(got, tt.data[3:size]) {
				t.Errorf("other bytes than were packed (%v)", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if left, _ := os.ReadDir(temp); len(left) > 0 {
				t.Errorf("%s is left behind", left[0].Name())
			}
		})
	}
}

package model

import "testing"

// Every part has words.
func TestPartWords(t *testing.T) {
	if got := len(PartsAll.Words()); 1<<got != int(partEnd) {
		t.Errorf("words for %d parts, of which there are others", got)
	}
	for _, w := range PartsAll.Words() {
		if w == "" {
			t.Error("a part without words")
		}
	}
}

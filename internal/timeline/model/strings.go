package model

import (
	"bytes"
	"hash/maphash"
)

// A StringID indexes Strings; 0 is the empty string.
type StringID uint32

// Strings is the interned texts of a Trace. The zero value is ready to use.
// It is not safe for concurrent use: parallel readers intern into their own and
// merge with Adopt.
type Strings struct {
	text  []string
	index map[string]StringID
	// recent is a direct-mapped cache in front of index: traces repeat a few thousand texts millions of times.
	recent [1 << 12]StringID
	seed   maphash.Seed
}

// Intern is the ID of s.
func (t *Strings) Intern(s string) StringID {
	if s == "" {
		return 0
	}
	t.init()
	if id, ok := t.index[s]; ok {
		return id
	}
	return t.add(s)
}

// InternBytes is Intern of bytes that may change afterwards; it copies only a text that is new.
func (t *Strings) InternBytes(b []byte) StringID {
	if len(b) == 0 {
		return 0
	}
	t.init()
	slot := maphash.Bytes(t.seed, b) & uint64(len(t.recent)-1)
	if id := t.recent[slot]; id != 0 && t.text[id] == string(b) {
		return id
	}
	id, ok := t.index[string(b)]
	if !ok {
		id = t.add(string(bytes.Clone(b)))
	}
	t.recent[slot] = id
	return id
}

// Lookup is the ID of s if it is interned.
func (t *Strings) Lookup(s string) (StringID, bool) {
	if s == "" {
		return 0, true
	}
	id, ok := t.index[s]
	return id, ok
}

// Text is the text of id. An ID that was never given out is the empty string.
func (t *Strings) Text(id StringID) string {
	if int(id) >= len(t.text) {
		return ""
	}
	return t.text[id]
}

// Len is one more than the largest ID.
func (t *Strings) Len() int { return max(1, len(t.text)) }

// Adopt interns every text of o and returns t's IDs by o's.
func (t *Strings) Adopt(o *Strings) []StringID {
	ids := make([]StringID, o.Len())
	for i := 1; i < len(o.text); i++ {
		ids[i] = t.Intern(o.text[i])
	}
	return ids
}

func (t *Strings) init() {
	if t.index == nil {
		t.text = []string{""}
		t.index = make(map[string]StringID)
		t.seed = maphash.MakeSeed()
	}
}

func (t *Strings) add(s string) StringID {
	id := StringID(len(t.text))
	t.text = append(t.text, s)
	t.index[s] = id
	return id
}

package unit

import (
	"encoding/json"
	"strings"
)

// AppendQuoted writes a JSON string; bytes that are no UTF-8 become U+FFFD.
func AppendQuoted(b []byte, s string) []byte {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] >= ' ' && s[i] < 0x7f && s[i] != '"' && s[i] != '\\'
	}
	if plain {
		return append(append(append(b, '"'), s...), '"')
	}
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string cannot fail
	return append(b, strings.TrimSuffix(text.String(), "\n")...)
}

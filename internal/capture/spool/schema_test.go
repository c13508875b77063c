package spool

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSchema holds the tables here against spool.h, as a C compiler reads it.
func TestSchema(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: the tables are not held against agent/spool.h")
	}
	header, err := filepath.Abs("../../../agent/spool.h")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "schema.c"), filepath.Join(dir, "schema")
	code := "#include <stdio.h>\n#include \"" + header + "\"\nint main(void) { fputs(SPOOL_SCHEMA_TEXT, stdout);\n" +
		"#define SIZE(number, table, fields) printf(\"%d %zu\\n\", number, " +
		"sizeof(spool_##table));\nSPOOL_TABLES(SIZE)\n return 0; }\n"
	if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := SchemaText()
	parsed, err := ParseSchema(want)
	if err != nil {
		t.Fatal(err)
	}
	want += sizes(parsed)
	if string(out) != want {
		t.Errorf("agent/spool.h says\n%s\nhere it is\n%s", out, want)
	}
}

// sizes is a line for each table: its number, and the bytes of a row.
func sizes(s Schema) (lines string) {
	for _, row := range ours() {
		lines += fmt.Sprintf("%d %d\n", row.table(), s[row.table()].Size)
	}
	return lines
}

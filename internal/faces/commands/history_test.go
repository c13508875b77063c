package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"lacuna/internal/base/golden"
)

// The commands of docs/history.md print what the page says. With -update the page is rewritten.
func TestHistoryPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/history.md")
	if err != nil {
		t.Fatal(err)
	}
	before, after := scriptOfPage(t, string(page), "### ")
	dir := t.TempDir()
	script := "exec bash walk.sh\ncmp stdout want\n-- walk.sh --\n" + before + "-- want --\n" + after
	file := filepath.Join(dir, "page.txtar")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	if golden.Updating() {
		// the script runs beside other tests: it is done only then
		t.Cleanup(func() { updatePage(t, string(page), file) })
	}
	testscript.Run(t, testscript.Params{
		Files:         []string{file},
		UpdateScripts: golden.Updating(),
		Setup: func(env *testscript.Env) error {
			for name, value := range gitAuthor(env.WorkDir) {
				env.Setenv(name, value)
			}
			return nil
		},
	})
}

// gitAuthor is an environment in which git makes the same commits everywhere.
func gitAuthor(dir string) map[string]string {
	return map[string]string{
		"COLUMNS": "100", "LC_ALL": "C.UTF-8", "HOME": dir, "GIT_CONFIG_NOSYSTEM": "1",
		"XDG_DATA_HOME":   filepath.Join(dir, "data"),
		"GIT_AUTHOR_NAME": "you", "GIT_AUTHOR_EMAIL": "you@example.com", "GIT_COMMITTER_NAME": "you",
		"GIT_COMMITTER_EMAIL": "you@example.com",
	}
}

// scriptOfPage is the page's sh blocks as one script, and the text blocks after them as what it prints; mark stands
// between.
func scriptOfPage(t *testing.T, page, mark string) (script, want string) {
	script = "set -e\n"
	for _, part := range strings.Split(page, "```sh\n")[1:] {
		code, rest, _ := strings.Cut(part, "```\n")
		script += code
		if text, ok := strings.CutPrefix(rest, "```text\n"); ok {
			text, _, _ = strings.Cut(text, "```")
			script += "echo '" + mark + "'\n"
			want += text + mark + "\n"
		}
	}
	return script, want
}

// updatePage puts what the script printed, by its updated want, into the page's text blocks.
func updatePage(t *testing.T, page, file string) {
	updated, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, want, _ := strings.Cut(string(updated), "-- want --\n")
	texts := strings.Split(want, "### \n")
	var out strings.Builder
	for i, part := range strings.Split(page, "```text\n") {
		if i > 0 {
			_, part, _ = strings.Cut(part, "```")
			out.WriteString("```text\n" + texts[i-1] + "```")
		}
		out.WriteString(part)
	}
	if err := os.WriteFile("../../../docs/history.md", []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

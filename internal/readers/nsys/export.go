package nsys

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"lacuna/internal/base/sqlite"
	"lacuna/internal/reader"
)

// exported is an export in the cache.
type exported struct {
	*os.File
	size int64
}

// openExported opens an export if it is there and whole.
func openExported(path string) (*exported, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil {
		var db *sqlite.DB
		if db, err = sqlite.Open(f, st.Size()); err == nil && db.Cut {
			err = errors.New("it is cut off")
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &exported{f, st.Size()}, nil
}

// export has nsys export a .nsys-rep or .qdrep into a SQLite file, which is kept in the user's
// cache folder under a name made of the report's path, size and time.
func export(ctx context.Context, src *reader.Source, opt reader.Options) (*exported, error) {
	command := "nsys export -t sqlite -o report.sqlite " + src.Path
	nsys, err := exec.LookPath("nsys")
	if err != nil {
		return nil, fmt.Errorf("%s: is an Nsight Systems report, and nsys, which must export it, is not on the "+
			"PATH; where it is installed, run: %s", src.Path, command)
	}
	report, _, err := src.File(ctx)
	if err != nil {
		return nil, err
	}
	out, err := cachePath(src, report)
	if err != nil {
		return nil, fmt.Errorf("%s: export with nsys: %w; export it yourself: %s", src.Path, err, command)
	}
	if f, err := openExported(out); err == nil {
		return f, nil
	}
	if opt.Notice != nil {
		opt.Notice(fmt.Sprintf("%s: exporting with %s into %s", src.Path, nsys, out))
	}
	part := strings.TrimSuffix(out, ".sqlite") + fmt.Sprintf(".%d.part.sqlite", os.Getpid())
	defer os.Remove(part)
	var said bytes.Buffer
	run := exec.CommandContext(ctx, nsys, "export", "-t", "sqlite", "--force-overwrite=true", "-o", part, report)
	run.Stdout, run.Stderr = &said, &said
	err = run.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: nsys cannot export it (%w: %s); it is damaged, or needs an nsys as new as "+
			"itself: %s", src.Path, err, firstLine(said.String()), command)
	}
	if err := os.Rename(part, out); err != nil {
		return nil, fmt.Errorf("%s: nsys wrote no export (%s); export it yourself: %s", src.Path,
			firstLine(said.String()), command)
	}
	f, err := openExported(out)
	if err != nil {
		return nil, fmt.Errorf("%s: the file that nsys exported is not SQLite: %w", src.Path, err)
	}
	return f, nil
}

// cachePath is where the export of a report is kept.
func cachePath(src *reader.Source, report string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "lacuna", "nsys")
	if err := os.MkdirAll(folder, 0o700); err != nil { // reports hold environments
		return "", err
	}
	path, err := filepath.Abs(src.Path)
	if err != nil {
		return "", err
	}
	st, err := os.Stat(src.Path)
	if err != nil { // standard input
		if st, err = os.Stat(report); err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%d", path, st.Size(), st.ModTime().UnixNano()))
	return filepath.Join(folder, fmt.Sprintf("%x.sqlite", sum[:12])), nil
}

// firstLine is the first line that says something, for a message.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return fmt.Sprintf("%.200s", line)
		}
	}
	return "it says nothing"
}

package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"lacuna/internal/capture/spool"
)

// A Packed is a recording in one file.
type Packed struct {
	Path     string
	Bytes    int64
	Contents Contents
}

// Pack packs spools into one file. paths are spools, or folders of them. The file comes to be when all is in it; what
// is there already stays, unless overwrite.
func Pack(ctx context.Context, paths []string, output string, overwrite bool) (*Packed, error) {
	spools, err := Spools(paths)
	if err != nil {
		return nil, err
	}
	if err := CheckOutput(output, overwrite); err != nil {
		return nil, err
	}
	contents, err := Inspect(ctx, spools)
	if err != nil {
		return nil, err
	}
	temp, err := os.CreateTemp(filepath.Dir(output), "."+filepath.Base(output)+".*")
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be written: %w", output, pathless(err))
	}
	defer os.Remove(temp.Name())
	sum, err := spool.Pack(ctx, temp, spools)
	if err == nil {
		err = temp.Chmod(0o644)
	}
	size, serr := temp.Seek(0, 2)
	if err = errors.Join(err, serr, temp.Close()); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%s: cannot be written: %w", output, pathless(err))
	}
	if len(sum.Empty) == sum.Files { // a file of nothing would be called a recording
		return nil, fmt.Errorf("%s: no spool, or nothing whole in it; want what lacuna record wrote, NAME.spools",
			few(sum.Empty))
	}
	if err := place(temp.Name(), output, overwrite); err != nil {
		return nil, fmt.Errorf("%s: cannot be written: %w", output, pathless(err))
	}
	contents.Lost = sum.Lost
	return &Packed{Path: output, Bytes: size, Contents: contents}, nil
}

// place gives a finished file its name. A link never replaces what came to be there meanwhile, as a rename would.
func place(temp, output string, overwrite bool) error {
	if !overwrite {
		err := os.Link(temp, output)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		if _, serr := os.Lstat(output); serr == nil { // a file system without links
			return fs.ErrExist
		}
	}
	return os.Rename(temp, output)
}

// Spools is the spools that paths name: files as they are, and of folders every *.spool in them.
func Spools(paths []string) ([]string, error) {
	var all []string
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, pathless(err))
		}
		if !st.IsDir() {
			all = append(all, path)
			continue
		}
		found, err := filepath.Glob(filepath.Join(globEscape(path), "*.spool"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: no spools in it (want *.spool); name the folder that lacuna record wrote, "+
				"NAME.spools", path)
		}
		all = append(all, found...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// globEscape is a path as a pattern that matches it alone.
func globEscape(path string) string {
	var out []byte
	for i := range len(path) {
		if c := path[i]; c == '*' || c == '?' || c == '[' || c == '\\' {
			out = append(out, '\\')
		}
		out = append(out, path[i])
	}
	return string(out)
}

// CheckOutput refuses to write over what is there, names that cannot be a file's, and folders that cannot be written.
func CheckOutput(output string, overwrite bool) error {
	st, err := os.Stat(output)
	switch {
	case err == nil && st.IsDir():
		return fmt.Errorf("%s: is a folder; name a file in it", output)
	case err == nil && !overwrite:
		return fmt.Errorf("%s: already exists; give -f to overwrite it, or another name with -o", output)
	case err == nil && !st.Mode().IsRegular():
		return fmt.Errorf("%s: is not a regular file; a recording cannot be written to it", output)
	}
	dir := filepath.Dir(output)
	if st, err := os.Stat(dir); err != nil {
		return fmt.Errorf("%s: cannot be written: %s: %w", output, dir, pathless(err))
	} else if !st.IsDir() {
		return fmt.Errorf("%s: cannot be written: %s is not a folder", output, dir)
	}
	if err := mayWrite(dir); err != nil { // a run of hours must not end with it
		return fmt.Errorf("%s: cannot be written: %s: %w; give -o a file elsewhere", output, dir, err)
	}
	return nil
}

// pathless is what is wrong, without the path of a file that the user did not name.
func pathless(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}

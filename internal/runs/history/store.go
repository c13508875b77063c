// Package history keeps what was measured of runs, over commits: in an SQLite file of one's own, or in a
// PostgreSQL database of a team. It says when a measure moved, and what its baseline is.
package history

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// A Store is a history. Several processes may use one at a time.
type Store struct {
	// Name is what the user calls it, without a password.
	Name string
	db   *sql.DB
	kind dialect
}

// A dialect is what differs between the two databases.
type dialect struct {
	goose      goose.Dialect
	migrations string
	numbered   bool // parameters are $1, $2, not ?
	tables     string
}

var (
	sqliteDialect = dialect{goose.DialectSQLite3, "migrations/sqlite", false,
		`SELECT count(*) FROM sqlite_master WHERE type = 'table'`}
	postgresDialect = dialect{goose.DialectPostgres, "migrations/postgres", true,
		`SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema()`}
)

//go:embed migrations
var migrations embed.FS

// ErrNone says that there is no history at a place.
var ErrNone = errors.New("there is no history yet; lacuna history add INPUT... starts one")

// busy is how long a writer of SQLite waits for another.
const busy = 10 * time.Second

// IsPostgres says whether a store's name is a PostgreSQL DSN rather than a path.
func IsPostgres(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}

// DefaultPath is the file of the user's own history.
func DefaultPath() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "lacuna", "lacuna.db"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no folder for the history: %w; name a file with --store", err)
	}
	return filepath.Join(home, ".local", "share", "lacuna", "lacuna.db"), nil
}

// Open opens a history: a file's path or a PostgreSQL DSN. Its schema is brought up to date. Where there is
// none the error is ErrNone.
func Open(ctx context.Context, dsn string) (*Store, error) { return open(ctx, dsn, false) }

// Create opens a history, and begins it where there is none.
func Create(ctx context.Context, dsn string) (*Store, error) { return open(ctx, dsn, true) }

func open(ctx context.Context, dsn string, create bool) (*Store, error) {
	s, err := connect(ctx, dsn, create)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown(dsn), err)
	}
	if err := s.migrate(ctx, create); err != nil {
		s.db.Close()
		return nil, fmt.Errorf("%s: %w", s.Name, explain(err))
	}
	return s, nil
}

// shown is a DSN without its password.
func shown(dsn string) string {
	if u, err := url.Parse(dsn); err == nil && IsPostgres(dsn) {
		return u.Redacted()
	}
	if IsPostgres(dsn) {
		return "postgres://..."
	}
	return dsn
}

func connect(ctx context.Context, dsn string, create bool) (*Store, error) {
	if IsPostgres(dsn) {
		db, err := sql.Open("pgx", dsn)
		if err == nil {
			err = db.PingContext(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot be reached: %w; a DSN is postgres://USER:PASSWORD@HOST:PORT/DATABASE", err)
		}
		return &Store{shown(dsn), db, postgresDialect}, nil
	}
	st, err := os.Stat(dsn)
	switch {
	case err == nil && st.IsDir():
		return nil, errors.New("is a folder; name a file in it")
	case errors.Is(err, fs.ErrNotExist) && !create:
		return nil, ErrNone
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(dsn), 0o755); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	// Write-ahead log: readers and one writer at a time do not wait for each other. A transaction takes the write
	// lock when it begins, since one that reads first cannot wait for it later.
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()),
		"journal_mode(WAL)", "foreign_keys(1)"}}
	path, err := filepath.Abs(dsn)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(path),
		RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, err
	}
	return &Store{dsn, db, sqliteDialect}, nil
}

// migrate brings the schema up to date, if this is a history at all.
func (s *Store) migrate(ctx context.Context, create bool) error {
	files, err := fs.Sub(migrations, s.kind.migrations)
	if err != nil {
		return err
	}
	opt := []goose.ProviderOption{goose.WithVerbose(false), goose.WithTableName("lacuna_schema")}
	if s.kind.numbered {
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return err
		}
		opt = append(opt, goose.WithSessionLocker(locker))
	}
	p, err := goose.NewProvider(s.kind.goose, s.db, files, opt...)
	if err != nil {
		return err
	}
	newest := p.ListSources()[len(p.ListSources())-1].Version
	for try := 0; ; try++ {
		have, err := s.version(ctx)
		switch {
		case err != nil:
			return err
		case have == newest:
			return nil
		case have > newest:
			return fmt.Errorf("was written by a newer lacuna (schema %d, this one knows %d); update lacuna", have,
				newest)
		case have == 0 && !create:
			return ErrNone
		}
		// Of two that find an empty SQLite file, one comes second: it looks again.
		if _, err = p.Up(ctx); err != nil && (try == 10 || ctx.Err() != nil) {
			return err
		} else if err != nil {
			time.Sleep(time.Duration(20*(try+1)) * time.Millisecond)
		}
	}
}

// version is the schema of the database; 0: it is empty. Any other database is an error.
func (s *Store) version(ctx context.Context) (have int64, err error) {
	var tables int
	if err := s.db.QueryRowContext(ctx, s.kind.tables).Scan(&tables); err != nil {
		return 0, err
	}
	if tables == 0 {
		return 0, nil
	}
	err = s.db.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM lacuna_schema`).Scan(&have)
	if err != nil && !s.kind.numbered {
		if explained := explain(err); explained != err {
			return 0, explained
		}
		return 0, errors.New("is another program's database, not a lacuna history; name another file with --store")
	}
	if err != nil { // a schema of PostgreSQL may be shared
		return 0, nil
	}
	return have, nil
}

// explain says in our words what SQLite says in its own.
func explain(err error) error {
	if err == nil {
		return nil
	}
	switch text := err.Error(); {
	case strings.Contains(text, "SQLITE_BUSY"), strings.Contains(text, "database is locked"):
		return fmt.Errorf("is locked: another program has been writing for %v; try again when it is done", busy)
	case strings.Contains(text, "SQLITE_NOTADB"), strings.Contains(text, "file is not a database"):
		return errors.New("is not a SQLite file, so not a lacuna history; name another file with --store")
	case strings.Contains(text, "SQLITE_READONLY"), strings.Contains(text, "SQLITE_CANTOPEN"),
		strings.Contains(text, "SQLITE_PERM"):
		return fmt.Errorf("cannot be written: %w", err)
	}
	return err
}

// Close closes the store.
func (s *Store) Close() error { return s.db.Close() }

// bind makes the parameters of a query those of the database. No query has a ? in a text.
func (s *Store) bind(query string) string {
	if !s.kind.numbered {
		return query
	}
	var b strings.Builder
	n := 0
	for _, c := range query {
		if c == '?' {
			n++
			b.WriteString("$" + strconv.Itoa(n))
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// each runs a query and calls fn for every row.
func (s *Store) each(ctx context.Context, fn func(rows *sql.Rows) error, query string, args ...any) error {
	rows, err := s.db.QueryContext(ctx, s.bind(query), args...)
	if err != nil {
		return s.wrap(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return s.wrap(err)
		}
	}
	return s.wrap(rows.Err())
}

func (s *Store) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.Name, explain(err))
}

// change runs fn in a transaction: all of it is done, or nothing.
func (s *Store) change(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.wrap(err)
	}
	if err := fn(tx); err != nil {
		return errors.Join(s.wrap(err), tx.Rollback())
	}
	return s.wrap(tx.Commit())
}

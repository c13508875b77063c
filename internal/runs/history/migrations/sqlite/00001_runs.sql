-- +goose Up
CREATE TABLE series (
  id      INTEGER PRIMARY KEY,
  program TEXT NOT NULL,
  machine TEXT NOT NULL,
  branch  TEXT NOT NULL,
  tool    TEXT NOT NULL,
  UNIQUE (program, machine, branch, tool)
);
CREATE TABLE measure (
  id     INTEGER PRIMARY KEY,
  name   TEXT NOT NULL,
  unit   TEXT NOT NULL,
  better INTEGER NOT NULL,
  UNIQUE (name, unit, better)
);
CREATE TABLE run (
  id        INTEGER PRIMARY KEY,
  key       TEXT NOT NULL UNIQUE,
  series    INTEGER NOT NULL REFERENCES series (id),
  at        INTEGER NOT NULL,
  started   INTEGER NOT NULL,
  added     INTEGER NOT NULL,
  commit_id TEXT NOT NULL,
  name      TEXT NOT NULL,
  profile   TEXT NOT NULL,
  machine   TEXT NOT NULL,
  details   TEXT NOT NULL,
  rejected  INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX run_of_series ON run (series, at, id);
CREATE INDEX run_by_time ON run (at, id);
CREATE INDEX run_of_commit ON run (commit_id);
CREATE TABLE point (
  series  INTEGER NOT NULL,
  measure INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  run     INTEGER NOT NULL,
  n       INTEGER NOT NULL,
  median  REAL NOT NULL,
  p10     REAL NOT NULL,
  p90     REAL NOT NULL,
  mad     REAL NOT NULL,
  PRIMARY KEY (series, measure, at, run)
) WITHOUT ROWID;
CREATE TABLE sample (
  run     INTEGER NOT NULL REFERENCES run (id),
  measure INTEGER NOT NULL REFERENCES measure (id),
  data    BLOB NOT NULL,
  PRIMARY KEY (run, measure)
) WITHOUT ROWID;
CREATE TABLE acknowledged (
  id      INTEGER PRIMARY KEY,
  series  INTEGER NOT NULL REFERENCES series (id),
  measure TEXT NOT NULL,
  run     INTEGER NOT NULL REFERENCES run (id),
  note    TEXT NOT NULL,
  said    INTEGER NOT NULL
);
CREATE INDEX acknowledged_of_series ON acknowledged (series);

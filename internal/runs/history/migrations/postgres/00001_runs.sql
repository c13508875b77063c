-- +goose Up
CREATE TABLE series (
  id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  program TEXT NOT NULL,
  machine TEXT NOT NULL,
  branch  TEXT NOT NULL,
  tool    TEXT NOT NULL,
  UNIQUE (program, machine, branch, tool)
);
CREATE TABLE measure (
  id     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name   TEXT NOT NULL,
  unit   TEXT NOT NULL,
  better BIGINT NOT NULL,
  UNIQUE (name, unit, better)
);
CREATE TABLE run (
  id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key       TEXT NOT NULL UNIQUE,
  series    BIGINT NOT NULL REFERENCES series (id),
  at        BIGINT NOT NULL,
  started   BIGINT NOT NULL,
  added     BIGINT NOT NULL,
  commit_id TEXT NOT NULL,
  name      TEXT NOT NULL,
  profile   TEXT NOT NULL,
  machine   TEXT NOT NULL,
  details   TEXT NOT NULL,
  rejected  BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX run_of_series ON run (series, at, id);
CREATE INDEX run_by_time ON run (at, id);
CREATE INDEX run_of_commit ON run (commit_id);
CREATE TABLE point (
  series  BIGINT NOT NULL,
  measure BIGINT NOT NULL,
  at      BIGINT NOT NULL,
  run     BIGINT NOT NULL,
  n       BIGINT NOT NULL,
  median  DOUBLE PRECISION NOT NULL,
  p10     DOUBLE PRECISION NOT NULL,
  p90     DOUBLE PRECISION NOT NULL,
  mad     DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (series, measure, at, run)
);
CREATE TABLE sample (
  run     BIGINT NOT NULL REFERENCES run (id),
  measure BIGINT NOT NULL REFERENCES measure (id),
  data    BYTEA NOT NULL,
  PRIMARY KEY (run, measure)
);
CREATE TABLE acknowledged (
  id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  series  BIGINT NOT NULL REFERENCES series (id),
  measure TEXT NOT NULL,
  run     BIGINT NOT NULL REFERENCES run (id),
  note    TEXT NOT NULL,
  said    BIGINT NOT NULL
);
CREATE INDEX acknowledged_of_series ON acknowledged (series);

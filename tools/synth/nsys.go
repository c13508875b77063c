// Package synth makes large captures for benchmarks and tests. What it makes has the shape of
// a training run and is the same every time.
package synth

import (
	"fmt"
	"os"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Nsys writes an Nsight Systems export (schema 3.20) with so many kernels to path, replacing what is there.
//
// A step is 50 kernels on two streams, launched one after the other by one thread, with a copy
// at its begin, a synchronisation at its end, and NVTX ranges for itself and each half. Every
// activity has its call; a kernel starts 5 us after its call and lasts 2 to 22 us.
func Nsys(path string, kernels int) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return fmt.Errorf("%s: create: %w", path, err)
	}
	for _, pragma := range []string{"journal_mode=off", "synchronous=off", "locking_mode=exclusive"} {
		if err == nil {
			err = sqlitex.ExecuteTransient(db, "PRAGMA "+pragma, nil)
		}
	}
	if err == nil {
		err = sqlitex.ExecuteScript(db, nsysTables, nil)
	}
	for _, insert := range nsysRows {
		if err == nil {
			err = sqlitex.Execute(db, insert, &sqlitex.ExecOptions{Named: map[string]any{":kernels": kernels}})
		}
	}
	if closed := db.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("%s: fill: %w", path, err)
	}
	return nil
}

// nsysTables is a part of what nsys 2025.3 writes, with its columns.
const nsysTables = `
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT, memoryBandwidth INTEGER, totalMemory INTEGER, smCount INTEGER, cuDevice INTEGER,
  threadsPerWarp INTEGER, maxWarpsPerSm INTEGER, computeMajor INTEGER, computeMinor INTEGER);
CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, processId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, priority INTEGER NOT NULL, flag INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL,
  mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL,
  gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,
  dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL,
  sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL,
  deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER,
  migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER, copyCount INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, deprecatedSyncType INTEGER, syncType INTEGER NOT NULL,
  eventId INTEGER NOT NULL, eventSyncId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT,
  globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER,
  int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.20.2'), ('EXPORT_PRODUCT_VERSION', '2025.3.1.90');
INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device'), (2, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host');
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1750000000000000000, '2025-06-15T15:06:40', '2025-06-15T15:06:40');
INSERT INTO TARGET_INFO_GPU VALUES (0, 'Synthetic GPU', 2000000000000, 80000000000, 100, 0, 32, 64, 9, 0);
INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (7, 0, 1, 1000, 1, 0, 0), (13, 0, 1, 1000, 1, 0, 1);
INSERT INTO PROCESSES VALUES (1<<48 | 1000<<24, 1000, 'python');
INSERT INTO StringIds VALUES (0, '[Unknown]'), (1, 'cudaLaunchKernel_v7000'), (2, 'cudaMemcpyAsync_v3020'), (3, 'cudaStreamSynchronize_v3020'),
  (4, 'step'), (5, 'forward'), (6, 'backward'), (7, 'main');
INSERT INTO ThreadNames VALUES (7, 0, 1<<48 | 1000<<24 | 1001);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 39)
  INSERT INTO StringIds SELECT 100 + 2 * i, 'kernel_' || i FROM n UNION ALL SELECT 101 + 2 * i, 'void kernel_' || i || '<float, ' || i || '>(float*, int)' FROM n;
`

// nsysRows fills the tables that grow. Call i is at 10 us * i; the step's copy and synchronisation fit in
// before and after it. Correlation IDs are 3i+1 for launches, 3i+2 for copies and 3i+3 for synchronisations.
var nsysRows = [...]string{
	`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < :kernels - 1)
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 10000 * i + 5000, 10000 * i + 7000 + i * 7919 % 20000, 0, 1, NULL, CASE i % 5 WHEN 0 THEN 13 ELSE 7 END, 3 * i + 1,
  1<<48 | 1000<<24, 101 + 2 * (i * i % 40), 100 + 2 * (i * i % 40), NULL, 1, 0, 32 + i % 4 * 32, 1 + i % 1000, 1, 1, 128 << i % 3, 1, 1, 0, 1024 * (i % 8), 0, 0, i, NULL, NULL, NULL FROM n`,
	`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < :kernels - 1)
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start, end, 0, 1<<48 | 1000<<24 | 1001, corr, name, 0, NULL FROM (
  SELECT 10000 * i AS start, 10000 * i + 3000 + i * 104729 % 2000 AS end, 3 * i + 1 AS corr, 1 AS name FROM n
  UNION ALL SELECT 10000 * i - 1500, 10000 * i - 500, 3 * i + 2, 2 FROM n WHERE i % 50 = 0
  UNION ALL SELECT 10000 * i + 6000, 10000 * i + 8000, 3 * i + 3, 3 FROM n WHERE i % 50 = 49) ORDER BY start`,
	`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 50 FROM n WHERE i < :kernels - 50)
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY SELECT 10000 * i - 400, 10000 * i + 4000, 0, 1, NULL, 7, 3 * i + 2, 1<<48 | 1000<<24, 1 << 20, 1, NULL, 1, 2,
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1 FROM n`,
	`WITH RECURSIVE n(i) AS (SELECT 49 UNION ALL SELECT i + 50 FROM n WHERE i < :kernels - 50)
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION SELECT 10000 * i + 6100, 10000 * i + 7900, 0, 1, NULL, 7, 3 * i + 3, 1<<48 | 1000<<24, NULL, 2, 4294967295, NULL FROM n`,
	`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 50 FROM n WHERE i < :kernels - 50)
INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, textId, domainId, int64Value) SELECT start, end, 59, 1<<48 | 1000<<24 | 1001, name, 0, value FROM (
  SELECT 10000 * i - 2000 AS start, 10000 * i + 497000 AS end, 4 AS name, i / 50 AS value FROM n
  UNION ALL SELECT 10000 * i - 1000, 10000 * i + 245000, 5, NULL FROM n
  UNION ALL SELECT 10000 * i + 245000, 10000 * i + 495500, 6, NULL FROM n) ORDER BY start`,
}

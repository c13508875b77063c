package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"lacuna/internal/capture/monitor"
	"lacuna/internal/faces/writers"
)

// prometheusType is the media type of Prometheus' text format.
const prometheusType = "text/plain; version=0.0.4; charset=utf-8"

// serveGPUs answers Prometheus until ctx ends.
func (e *Env) serveGPUs(ctx context.Context, m *monitor.Monitor, addr string, interval time.Duration) error {
	at, err := listenAddress(addr)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		var op *net.OpError
		var call *os.SyscallError
		switch {
		case errors.As(err, &call):
			err = call.Err
		case errors.As(err, &op):
			err = op.Err
		}
		return fmt.Errorf("--listen %s: cannot listen at %s: %w", addr, at, err)
	}
	e.remark("serving http://%s/metrics; Ctrl-C stops it", l.Addr())
	server := &http.Server{Handler: metricsHandler(m, interval), ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 14}
	stop := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(last)
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("--listen %s: %w", addr, err)
	}
	return nil
}

// listenAddress is a port or an address to listen at; without a host it is this machine only.
func listenAddress(addr string) (string, error) {
	at := addr
	if !strings.Contains(at, ":") {
		at = ":" + at
	}
	host, port, err := net.SplitHostPort(at)
	if n, nerr := strconv.Atoi(port); err != nil || nerr != nil || n < 0 || n > 65535 {
		return "", errCall("--listen %s: want a port, or HOST:PORT such as 0.0.0.0:9836", addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// metricsHandler answers /metrics; questions within interval of a reading are answered with it.
func metricsHandler(m *monitor.Monitor, interval time.Duration) http.Handler {
	var one sync.Mutex // a reading at a time
	var read time.Time
	var text []byte
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		one.Lock()
		defer one.Unlock()
		if text == nil || time.Since(read) >= interval {
			var b bytes.Buffer
			if err := writers.MonitorPrometheus(&b, m.Read()); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			read, text = time.Now(), b.Bytes()
		}
		w.Header().Set("Content-Type", prometheusType)
		_, _ = w.Write(text)
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "lacuna monitor: /metrics has the GPUs in Prometheus' text format\n")
	})
	return mux
}

package commands

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"lacuna/internal/capture/monitor"
	"lacuna/internal/capture/nvml"
	"lacuna/internal/faces/page"
	"lacuna/internal/faces/pages"
	"lacuna/internal/faces/writers"
)

var monitorCommand = Command{
	Name:  "monitor",
	Title: "Watch all GPUs: utilization, clocks, power, throttling, processes",
	Doc: `
A live view of all GPUs of this machine, read from the driver's management
library (NVML); q or Ctrl-C ends it. Nothing is loaded into programs, and no
permission is needed. Into a pipe or a file it writes one view after the other;
--format json writes one object per line, --format csv one row per GPU.

  util %        share of the driver's last period (1/6 to 1 s) in which a kernel
                ran, as nvidia-smi's GPU-Util: not how many SMs were busy
  mem %         share of it in which device memory was read or written
  memory GiB    in use, and total
  SM MHz        SM clock now, and its maximum
  power W       drawn, and the enforced limit
  PCIe GB/s     sent and received by the GPU, measured for 20 ms
  NVLink GB/s   sent and received over all links since the last reading: payload
                without protocol

Below are the throttling reasons and the processes that compute on each GPU.
"-" means that a device does not report a value. Containers often do not show
processes. --listen serves the same to Prometheus, only on this machine unless
another address is given.`,
	Examples: []string{
		"lacuna monitor --once",
		"lacuna monitor --interval 500ms --count 3 --format csv",
		"lacuna monitor --prometheus",
	},
	Complete: map[string]func() []string{"format": monitorFormats},
	Setup: func(flags *pflag.FlagSet) Run {
		call := monitorCall{
			interval:   flags.Duration("interval", time.Second, "read every `TIME`"),
			once:       flags.Bool("once", false, "read once and exit"),
			count:      flags.Int("count", 0, "exit after `N` readings (default: at q or Ctrl-C)"),
			format:     flags.String("format", "text", "output `FORMAT`: text, json (one object per line) or csv"),
			prometheus: flags.Bool("prometheus", false, "read once and print in Prometheus' text format"),
			listen:     flags.String("listen", "", "serve /metrics to Prometheus at `ADDR`: a port, or HOST:PORT"),
		}
		return call.run
	},
}

func monitorFormats() []string { return []string{"text", "json", "csv"} }

// leastInterval is what reading all GPUs takes: 20 ms for each direction of PCIe.
const leastInterval = 50 * time.Millisecond

type monitorCall struct {
	interval         *time.Duration
	once, prometheus *bool
	count            *int
	format, listen   *string
}

func (c monitorCall) check() error {
	switch {
	case *c.interval < leastInterval || *c.interval > 24*time.Hour:
		return errCall("--interval %v: want %v to 24h", *c.interval, leastInterval)
	case *c.count < 0:
		return errCall("--count %d: want 1 or more", *c.count)
	case *c.count > 0 && (*c.once || *c.prometheus):
		return errCall("--count %d: --once and --prometheus read once; leave one of them out", *c.count)
	case *c.prometheus && *c.format != "text":
		return errCall("--prometheus and --format %s exclude each other; give one", *c.format)
	case *c.listen != "" && (*c.once || *c.count > 0 || *c.prometheus || *c.format != "text"):
		return errCall("--listen %s: serves until it is stopped; leave out --once, --count, --prometheus and --format",
			*c.listen)
	}
	return oneOf("--format", *c.format, monitorFormats())
}

func (c monitorCall) run(ctx context.Context, env *Env, _ []string) error {
	if err := c.check(); err != nil {
		return err
	}
	library, err := nvml.Open()
	if err != nil {
		return c.refuse(env, fmt.Errorf("%w; lacuna doctor shows what is missing", err))
	}
	defer library.Close()
	m, err := monitor.New(library)
	if err != nil {
		return c.refuse(env, err)
	}
	if *c.listen != "" {
		return env.serveGPUs(ctx, m, *c.listen, *c.interval)
	}
	return c.watch(ctx, env, m)
}

// refuse ends without a reading. Who reads JSON is told there too.
func (c monitorCall) refuse(env *Env, why error) error {
	if *c.format == "json" {
		if err := env.write(func(w io.Writer) error {
			return writers.MonitorJSON(w,
				monitor.Nothing(time.Now(), why))
		}); err != nil {
			return err
		}
	}
	return fmt.Errorf("monitor: %w", why)
}

// watch reads and shows until it is enough.
func (c monitorCall) watch(ctx context.Context, env *Env, m *monitor.Monitor) error {
	count := *c.count
	if *c.once || *c.prometheus {
		count = 1
	}
	f, isTerminal := terminal(env.Out)
	switch {
	case env.output != "" && env.output != "-" && count != 1:
		return env.writeLog(func(w io.Writer) error { return c.loop(ctx, env, m, count, w) })
	case env.output != "":
		return env.write(func(w io.Writer) error { return c.loop(ctx, env, m, count, w) })
	case isTerminal && *c.format == "text" && count != 1 && !dumbTerminal():
		return env.watchScreen(ctx, m, f, *c.interval, count)
	}
	return c.loop(ctx, env, m, count, env.Out)
}

// loop writes one reading after the other, each in one piece.
func (c monitorCall) loop(ctx context.Context, env *Env, m *monitor.Monitor, count int, w io.Writer) error {
	tick := time.NewTicker(*c.interval)
	defer tick.Stop()
	for n := 0; count == 0 || n < count; n++ {
		if n > 0 {
			select {
			case <-ctx.Done():
				return nil // being ended is how a watch ends
			case <-tick.C:
			}
		}
		var b bytes.Buffer
		if err := c.show(&b, m.Read(), env.layout(), n); err != nil {
			return err
		}
		if _, err := w.Write(b.Bytes()); err != nil {
			return err
		}
		if n == 0 {
			tick.Reset(*c.interval) // the first reading takes longer
		}
	}
	return nil
}

// show writes the n-th reading.
func (c monitorCall) show(w io.Writer, s *monitor.Snapshot, layout page.Layout, n int) error {
	switch {
	case *c.prometheus:
		return writers.MonitorPrometheus(w, s)
	case *c.format == "json":
		return writers.MonitorJSON(w, s)
	case *c.format == "csv":
		return writers.MonitorCSV(w, s, n == 0)
	}
	if n > 0 {
		fmt.Fprintln(w)
	}
	return page.WriteText(w, pages.Monitor(s, layout.Columns()), layout)
}

//go:build linux && !static && (amd64 || arm64)

package nvml

import (
	"fmt"

	"github.com/ebitengine/purego"
)

// names is what the driver calls its library; the second is there only with development packages.
var names = [...]string{"libnvidia-ml.so.1", "libnvidia-ml.so"}

// Open loads the library from where the system looks for libraries and begins a session.
func Open() (Library, error) {
	var handle uintptr
	var err error
	for _, name := range names {
		if handle, err = purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL); err == nil {
			break
		}
	}
	if handle == 0 {
		return nil, fmt.Errorf("no NVIDIA driver here: %s is not found", names[0])
	}
	l := &loaded{}
	if err := l.bind(handle); err != nil {
		return nil, fmt.Errorf("the NVIDIA driver is too old or broken: %s: %w", names[0], err)
	}
	if code := l.init(); code != 0 {
		return nil, fmt.Errorf("the NVIDIA driver does not answer: %s", l.text(code))
	}
	l.describe()
	return l, nil
}

// bind finds the library's functions. Those that every driver since 2020 has must be there.
func (l *loaded) bind(handle uintptr) error {
	for _, f := range []struct {
		to       any
		optional bool
		names    []string // the first that is there is taken
	}{
		{&l.init, false, []string{"nvmlInit_v2"}},
		{&l.shutdown, false, []string{"nvmlShutdown"}},
		{&l.errorString, false, []string{"nvmlErrorString"}},
		{&l.driverVersion, false, []string{"nvmlSystemGetDriverVersion"}},
		{&l.count, false, []string{"nvmlDeviceGetCount_v2"}},
		{&l.handleOf, false, []string{"nvmlDeviceGetHandleByIndex_v2"}},
		{&l.name, false, []string{"nvmlDeviceGetName"}},
		{&l.uuid, false, []string{"nvmlDeviceGetUUID"}},
		{&l.pci, true, []string{"nvmlDeviceGetPciInfo_v3"}},
		{&l.clock, false, []string{"nvmlDeviceGetClockInfo"}},
		{&l.maxClock, true, []string{"nvmlDeviceGetMaxClockInfo"}},
		{&l.power, true, []string{"nvmlDeviceGetPowerUsage"}},
		{&l.temperature, true, []string{"nvmlDeviceGetTemperature"}},
		{&l.reasons, true, []string{"nvmlDeviceGetCurrentClocksEventReasons",
			"nvmlDeviceGetCurrentClocksThrottleReasons"}},
		{&l.utilization, true, []string{"nvmlDeviceGetUtilizationRates"}},
		{&l.memory, true, []string{"nvmlDeviceGetMemoryInfo"}},
		{&l.processes, true, []string{"nvmlDeviceGetComputeRunningProcesses_v3",
			"nvmlDeviceGetComputeRunningProcesses_v2"}},
		{&l.mpsProcesses, true, []string{"nvmlDeviceGetMPSComputeRunningProcesses_v3",
			"nvmlDeviceGetMPSComputeRunningProcesses_v2"}},
		{&l.powerLimit, true, []string{"nvmlDeviceGetEnforcedPowerLimit"}},
		{&l.pcie, true, []string{"nvmlDeviceGetPcieThroughput"}},
		{&l.fields, true, []string{"nvmlDeviceGetFieldValues"}},
		{&l.capability, true, []string{"nvmlDeviceGetCudaComputeCapability"}},
		{&l.mig, true, []string{"nvmlDeviceGetMigMode"}},
		{&l.cudaVersion, true, []string{"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"}},
		{&l.confidential, true, []string{"nvmlSystemGetConfComputeState"}},
	} {
		at := uintptr(0)
		for _, name := range f.names {
			if p, err := purego.Dlsym(handle, name); err == nil && p != 0 {
				at = p
				break
			}
		}
		switch {
		case at != 0:
			purego.RegisterFunc(f.to, at)
		case !f.optional:
			return fmt.Errorf("it has no %s", f.names[0])
		}
	}
	return nil
}

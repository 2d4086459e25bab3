package measure

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"runtime"
	"strings"

	"github.com/tachobench/tacho/events"
)

// machine is what this program finds out about its machine on one platform.
type machine struct {
	// identity names this machine and no other, until its system is installed anew.
	identity string
	kernel   string
	cpu      string
	cpus     int
	memory   int64
	// settings are the knobs that change what is measured; all of them are part of the fingerprint.
	settings map[string]string
}

// Environment describes this machine. The fingerprint covers the identity of the machine, its processor, memory,
// kernel and the settings that change what is measured. It does not cover the host name, which may change, nor
// anything of this process: all collectors of one machine share it. Facts that cannot be found out are empty.
func Environment(ctx context.Context) events.Environment { return EnvironmentWith(ctx, nil) }

// EnvironmentWith describes this machine with further settings that change what is measured. Without any it is that of
// Environment.
func EnvironmentWith(ctx context.Context, further map[string]string) events.Environment {
	m := readMachine()
	if m.settings == nil && len(further) > 0 {
		m.settings = map[string]string{}
	}
	maps.Copy(m.settings, further)
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	if m.identity == "" {
		m.identity = "host " + host
	}
	_, missing := Probe(ctx)
	return events.Environment{
		Fingerprint: m.fingerprint(),
		Host:        host,
		OS:          runtime.GOOS + "/" + runtime.GOARCH,
		Kernel:      m.kernel,
		CPU:         m.cpu,
		CPUs:        m.cpus,
		MemoryBytes: m.memory,
		Settings:    m.settings,
		Missing:     missing,
	}
}

// memoryGrain is the precision of memory in the fingerprint: the total that a kernel reports differs a little from
// one boot to the next.
const memoryGrain = 256 << 20

// fingerprint hashes what makes results comparable. It hashes the identity with the rest, so it does not reveal it.
func (m machine) fingerprint() events.Digest {
	h := sha256.New()
	fmt.Fprintf(h, "tacho environment 1\n%q %q %q %q %q %d %d %q",
		m.identity, runtime.GOOS, runtime.GOARCH, m.kernel, m.cpu, m.cpus, (m.memory+memoryGrain/2)/memoryGrain,
		fmt.Sprint(m.settings)) // Sprint prints maps in the order of their keys
	return events.Digest(hex.EncodeToString(h.Sum(nil)))
}

// parseCPUModel reads the name of the processor from /proc/cpuinfo. Without one, as on ARM, it makes a name of the
// codes of implementer, part and variant.
func parseCPUModel(data []byte) string {
	values := map[string]string{}
	for line := range strings.Lines(string(data)) {
		key, value, found := strings.Cut(line, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if _, seen := values[key]; found && !seen && value != "" {
			values[key] = value
		}
	}
	for _, key := range []string{"model name", "cpu model", "uarch", "cpu"} {
		if name := values[key]; name != "" {
			return name
		}
	}
	if part := values["CPU part"]; part != "" {
		return strings.TrimSpace(fmt.Sprintf("implementer %s part %s variant %s", values["CPU implementer"], part, values["CPU variant"]))
	}
	return ""
}

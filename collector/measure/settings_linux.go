package measure

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// addrNoRandomize is ADDR_NO_RANDOMIZE of personality(2).
const addrNoRandomize = 0x0040000

// applySettings sets, on the calling thread, which must be locked, the settings that forked processes inherit. It
// returns what took effect.
func applySettings(c Cmd) map[string]string {
	took := map[string]string{}
	if len(c.CPUs) > 0 {
		took[SettingCPUs] = effect(joinInts(c.CPUs), setAffinity(c.CPUs))
	}
	if c.Nice != 0 {
		took[SettingNice] = effect(strconv.Itoa(c.Nice), unix.Setpriority(unix.PRIO_PROCESS, 0, c.Nice))
	}
	if c.DisableASLR {
		took[SettingASLR] = effect("off", disableASLR())
	}
	// The command gains no rights by exec, so that all its processes can be killed.
	took[SettingPrivileges] = effect("no new ones", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	return took
}

func effect(value string, err error) string {
	if err != nil {
		return "refused: " + err.Error()
	}
	return value
}

func setAffinity(cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
		if !set.IsSet(cpu) {
			return fmt.Errorf("there is no CPU %d", cpu)
		}
	}
	return unix.SchedSetaffinity(0, &set)
}

func disableASLR() error {
	const query = 0xffffffff
	old, _, errno := unix.Syscall(unix.SYS_PERSONALITY, query, 0, 0)
	if errno != 0 {
		return errno
	}
	if _, _, errno = unix.Syscall(unix.SYS_PERSONALITY, old|addrNoRandomize, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// raiseLoopback switches on the loopback of this process's network namespace. It then gives up the right to do so,
// which the command would inherit.
func raiseLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer func() { _ = unix.Close(socket) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("name the loopback: %w", err)
	}
	request.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("switch on the loopback: %w", err)
	}
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
}

func joinInts(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

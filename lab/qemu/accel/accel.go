// SPDX-License-Identifier: Apache-2.0

// Package accel finds the best accelerator for virtual machines on this computer.
//
// An open /dev/kvm is not enough: on nested and emulated hosts guests may still hang or crash. So hardware
// virtualization is used only after a guest of a few instructions has run with it, to its end, in time.
package accel

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	// probeTime is how long the probe's guest may take. It takes a tenth of that.
	probeTime = 2 * time.Second
	// probeExit is QEMU's exit code when the guest writes 0x10 to its isa-debug-exit device: 0x10<<1 | 1.
	probeExit = 33
	// firmwareLen is the shortest firmware that QEMU takes.
	firmwareLen = 64 << 10
)

// probe is the guest, see probe.S.
//
//go:embed probe.bin
var probe []byte

// Accel is a way to run virtual machines.
type Accel struct {
	// KVM is set if hardware virtualization works.
	KVM bool
	// Why is the reason.
	Why string
}

// Name returns the short name.
func (a Accel) Name() string {
	if a.KVM {
		return "kvm"
	}

	return "tcg"
}

// Args returns QEMU's arguments for a machine with a number of CPUs.
func (a Accel) Args(cpus int) []string {
	if a.KVM {
		return []string{"-accel", "kvm", "-cpu", "host"}
	}

	// Page tables of five levels cost one more level at each miss of the emulated TLB, a twentieth of the time to the
	// API. No machine of the lab has so much memory that it needs them.
	//
	// With ERMS, Linux and Go copy and clear memory by rep movsb and rep stosb, which QEMU 7.2 does byte by byte. A boot without it
	// takes about an eighth less processor time.
	cpu := "max,-la57,-erms"
	if cpus == 1 {
		// With a single CPU, Linux uses the TSC as its clock, at a rate that it measures at boot. On a busy computer
		// that rate is wrong by several times. With more CPUs Linux finds that their TSCs differ, and uses the HPET.
		cpu += ",-tsc"
	}

	return []string{"-accel", "tcg,thread=multi", "-cpu", cpu}
}

var virtualizationFlag = regexp.MustCompile(`(?m)^flags\s*:.*\b(vmx|svm)\b`)

// Choose returns the best accelerator for a QEMU. The probe's result is cached until this computer is booted again.
func Choose(ctx context.Context, qemu string) Accel {
	cpuinfo, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return Accel{Why: fmt.Sprintf("no hardware virtualization: %v", err)}
	}

	if !virtualizationFlag.Match(cpuinfo) {
		return Accel{Why: "no hardware virtualization: the CPU offers neither vmx nor svm"}
	}

	if kvm, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0); err != nil {
		return Accel{Why: fmt.Sprintf("no hardware virtualization: %v", err)}
	} else {
		_ = kvm.Close()
	}

	path := cachePath(qemu)
	if why, err := os.ReadFile(path); err == nil {
		return fromCache(string(why))
	}

	a := Probe(ctx, qemu, Accel{KVM: true}.Args(1))
	if ctx.Err() == nil {
		_ = os.WriteFile(path, []byte(toCache(a)), 0o600) // without the cache the next call probes again
	}

	return a
}

// Probe runs the probe's guest with the given QEMU arguments.
func Probe(ctx context.Context, qemu string, args []string) Accel {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()

	dir, err := os.MkdirTemp("", "talos-probe-")
	if err != nil {
		return Accel{Why: fmt.Sprintf("hardware virtualization not probed: %v", err)}
	}
	defer os.RemoveAll(dir)

	firmware := filepath.Join(dir, "probe")
	if err := os.WriteFile(firmware, append(make([]byte, firmwareLen-len(probe)), probe...), 0o600); err != nil {
		return Accel{Why: fmt.Sprintf("hardware virtualization not probed: %v", err)}
	}

	//program:qemu-system-x86_64 as package lab found it
	cmd := exec.CommandContext(ctx, qemu, append([]string{
		"-machine", "q35", "-m", "16", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-bios", firmware,
	}, args...)...)

	var stderr bytes.Buffer

	cmd.Stderr = &stderr
	// A QEMU that cannot end its guest keeps the pipes open.
	cmd.WaitDelay = 500 * time.Millisecond

	return judge(ctx.Err, cmd.Run(), stderr.String())
}

func judge(ctxErr func() error, err error, stderr string) Accel {
	var exit *exec.ExitError

	switch {
	case errors.As(err, &exit) && exit.ExitCode() == probeExit:
		return Accel{KVM: true, Why: "a probe guest ran with hardware virtualization"}
	case ctxErr() != nil:
		return Accel{Why: fmt.Sprintf("no hardware virtualization: a probe guest did not end in %v", probeTime)}
	case err == nil:
		return Accel{Why: "no hardware virtualization: a probe guest ended without its answer"}
	}

	line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")

	return Accel{Why: strings.TrimSpace(fmt.Sprintf("no hardware virtualization: a probe guest ended with %v: %s", err, line))}
}

// cachePath returns the cache file of a user, boot and program.
func cachePath(qemu string) string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		boot = []byte("unknown")
	}

	name := strings.Map(func(r rune) rune {
		if r == '/' {
			return '-'
		}

		return r
	}, fmt.Sprintf("talos-kvm-%d-%s%s", os.Getuid(), strings.TrimSpace(string(boot)), qemu))

	return filepath.Join(os.TempDir(), name)
}

func toCache(a Accel) string { return a.Name() + "\n" + a.Why }

func fromCache(s string) Accel {
	name, why, _ := strings.Cut(s, "\n")

	return Accel{KVM: name == "kvm", Why: why}
}

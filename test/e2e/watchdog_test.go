// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/test/cluster"
)

// Debian's kernel for virtual machines has no driver for QEMU's watchdog, so the watchdog is the kernel's own. It causes a panic, so that
// the firmware keeps the cause.
const (
	watchdogDocuments = `apiVersion: v1alpha1
kind: KernelModuleConfig
name: softdog
parameters: [soft_panic=1]
---
apiVersion: v1alpha1
kind: WatchdogTimerConfig
device: /dev/watchdog0
timeout: 20s
`

	watchdogTimeout = 20 * time.Second
	watchdogCause   = "Software Watchdog Timer expired"
	// panicTime is how long the kernel waits between a panic and the reset, and pstoreTime how long an emulated machine may take to
	// write its log into the firmware's memory.
	panicTime  = 10 * time.Second
	pstoreTime = 30 * time.Second
)

// freeze stops all threads of process 1. A signal could not: the kernel discards SIGSTOP for it.
const freeze = "echo 1 > /proc/1/root/sys/fs/cgroup$(cut -d: -f3- /proc/1/cgroup)/cgroup.freeze"

// hung stops process 1. The watchdog must reset the machine, and after that the machine must know why.
func hung(t *testing.T, c *cluster.Cluster) {
	c.Apply(patched(t, c, watchdogDocuments))
	c.Until("the watchdog runs", time.Minute, func(ctx context.Context) error {
		var status struct {
			Timeout time.Duration `yaml:"timeout"`
		}

		_, err := c.Resource(ctx, "runtime", "WatchdogTimerStatuses.runtime.talos.dev", "timer", &status)
		if err == nil && status.Timeout != watchdogTimeout {
			err = fmt.Errorf("its timeout is %s", status.Timeout)
		}

		return err
	})
	c.Until("a command can run in a pod", 5*time.Minute, func(ctx context.Context) error {
		_, err := c.Shell(ctx, "true")

		return err
	})

	boots := machineStatus(t, c).Boots

	c.Causes("Kernel panic - not syncing: " + watchdogCause)

	ctx, cancel := context.WithTimeout(t.Context(), watchdogTimeout)
	defer cancel()

	// The answer may be lost with the machine.
	if out, err := c.Shell(ctx, freeze); err != nil && ctx.Err() == nil {
		c.Fail("stop process 1: %v: %s", err, out)
	}

	took := c.Until("the watchdog resets the machine", watchdogTimeout+panicTime+pstoreTime, func(context.Context) error {
		if s := machineStatus(t, c); s.Boots == boots {
			return errors.New("it has not yet")
		}

		return nil
	})
	c.Measured("  reset after process 1 hung", took)

	last := regexp.MustCompile(`(?m)^\S+ +runtime +Boot +\S+ +\d+ +-1 +.*` + watchdogCause)

	for command, known := range map[string]func(string) bool{
		"get boots":             last.MatchString,
		"logs pstore --boot -1": func(text string) bool { return strings.Contains(text, watchdogCause) },
	} {
		c.Until(command+" shows the cause", 3*time.Minute, func(ctx context.Context) error {
			out, err := c.TalosctlCommand(ctx, strings.Fields(command)...).CombinedOutput()
			if err == nil && !known(string(out)) {
				err = errors.New("it does not yet")
			}

			if err != nil {
				return fmt.Errorf("%w: %.1000s", err, out)
			}

			return nil
		})
	}

	c.Apply(c.Generated.ControlPlane)
}

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/test/cluster"
)

const (
	// points are how many times in a boot a service is killed or stopped, and the time between them.
	points   = 20
	distance = 500 * time.Millisecond
)

// sabotaged are the services that are killed or stopped, in turn.
var sabotaged = []string{"containerd", "apid", "etcd", "trustd", "discoveryd", "kubelet"}

// TestSabotage kills or stops a service of a container at each of twenty points of a boot. The service must be back within
// ten seconds, and the node must become Ready. Below the level All, each service is killed once, while static pods start.
func TestSabotage(t *testing.T) {
	cluster.Above(t, cluster.Landing, "boots a machine seven times")

	from, to := len(sabotaged), 2*len(sabotaged)
	if cluster.Asked(cluster.All) {
		from, to = 0, points
	}

	c := cluster.StartContainer(t)
	boot := ""

	c.Run("is Ready", func(t *testing.T) {
		c.Maintenance()
		takesConfiguration(t, c)
		c.Bootstrap()
		c.Kubeconfig()

		boot, _ = c.Ready("")
	})

	var worst time.Duration

	for i := from; i < to; i++ {
		program, signal := sabotaged[i%len(sabotaged)], syscall.SIGKILL
		if i/len(sabotaged)%2 == 0 {
			signal = syscall.SIGSTOP
		}

		at := time.Duration(i+1) * distance

		c.Run(fmt.Sprintf("%s of %s after %s", signal, program, at), func(t *testing.T) {
			powerCycle(t, c)
			time.Sleep(at)

			took := sabotage(t, c, program, signal)
			worst = max(worst, took)
			boot, _ = c.Ready(boot)
		})
	}

	c.Measured(fmt.Sprintf("worst of %d restarts", to-from), worst)
}

// sabotage sends a signal to a service as soon as it runs, and waits until a new process has replaced it.
func sabotage(t *testing.T, c *cluster.Cluster, program string, signal syscall.Signal) time.Duration {
	first := machineStatus(t, c).PID

	var before []int

	c.Until(program+" runs", time.Minute, func(context.Context) error {
		if before = processesOf(t, first, program); len(before) != 1 {
			return fmt.Errorf("its processes are %v", before)
		}

		return nil
	})

	process, err := os.FindProcess(before[0])
	if err == nil {
		err = process.Signal(signal)
	}

	if err != nil {
		t.Fatalf("%s of %s: %v", signal, program, err)
	}

	took := c.Until("another "+program+" runs", time.Minute, func(context.Context) error {
		if after := processesOf(t, first, program); len(after) != 1 || after[0] == before[0] {
			return fmt.Errorf("its processes are %v", after)
		}

		return nil
	})

	if took > mostStopped {
		t.Errorf("%s runs again after %s, want at most %s", program, took, mostStopped)
	}

	return took
}

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/test/cluster"
)

// nodeAt returns the name of the Node with an address.
func nodeAt(t *testing.T, l *cluster.UserLab, address string) string {
	t.Helper()

	nodes, err := kubectl(t.Context(), l, "", "get", "nodes", "-o",
		`jsonpath={range .items[*]}{.status.addresses[?(@.type=="InternalIP")].address} {.metadata.name}{"\n"}{end}`)
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(nodes) {
		if at, name, _ := strings.Cut(strings.TrimSpace(line), " "); at == address {
			return name
		}
	}

	t.Fatalf("no Node has the address %s:\n%s", address, nodes)

	return ""
}

// podOn returns a pod of the namespace default that runs one command on a node, whatever its taints.
func podOn(node, name, image string, command ...string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %[2]s, namespace: default}
spec:
  nodeName: %[1]s
  restartPolicy: OnFailure
  terminationGracePeriodSeconds: 1
  containers: [{name: %[2]s, image: '%[3]s', command: ['%[4]s']}]
`, node, name, image, strings.Join(command, "', '"))
}

// apply applies objects, again and again until Kubernetes accepts them.
func apply(t *testing.T, l *cluster.UserLab, objects string) {
	t.Helper()
	until(t, time.Minute, "the objects are applied", func() error {
		_, err := kubectl(t.Context(), l, objects, "apply", "-f", "-")

		return err
	})
}

// finished waits until the command of a pod of the namespace default has succeeded, and returns its output.
func finished(t *testing.T, l *cluster.UserLab, name string) string {
	t.Helper()
	until(t, 2*time.Minute, "the pod "+name+" has succeeded", func() error {
		got, err := kubectl(t.Context(), l, "", "get", "pod", "-n", "default", name, "-o",
			`jsonpath={.status.phase} {.status.containerStatuses[*].state} {.status.containerStatuses[*].lastState}`)
		if err == nil && !strings.HasPrefix(got, "Succeeded ") {
			err = fmt.Errorf("it is %s", got)
		}

		return err
	})

	out, err := kubectl(t.Context(), l, "", "logs", "-n", "default", name)
	if err != nil {
		t.Error(err)
	}

	return out
}

// remove deletes a pod of the namespace default, and does not wait for its end.
func remove(t *testing.T, l *cluster.UserLab, name string) {
	t.Helper()

	if _, err := kubectl(t.Context(), l, "", "delete", "pod", "-n", "default", name, "--now", "--wait=false"); err != nil {
		t.Error(err)
	}
}

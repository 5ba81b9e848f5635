// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/sys/stranger"
	"github.com/seed-59268b81/talos/test/cluster"
)

func init() { stranger.Main() }

// strangers checks what a process of user 65534 on the machine's network can do, such as a pod on the host's network. It
// gets no secret at any port, also not in the place of services that are down, and cannot change images or pods.
func strangers(t *testing.T, c *cluster.Cluster) {
	if os.Geteuid() != 0 {
		t.Skip("entering the network of another process needs root")
	}

	netns := fmt.Sprintf("/proc/%d/ns/net", machineStatus(t, c).PID)
	secrets := secretsOf(t, c.Generated.Secrets)
	before := imagesAndPods(t, c)

	got := stranger.Run(t, netns, stranger.Task{Read: true, Take: true})
	t.Logf("while all services run: %s", got)

	if found := got.Found(secrets); len(found) > 0 {
		t.Errorf("secrets read: %d %q, want 0", len(found), found)
	}

	if len(got.Taken) > 0 {
		t.Errorf("ports taken: %d %q, want 0", len(got.Taken), got.Taken)
	}

	for _, port := range []int{2379, 3172, 6443, 7445, 10248, 10250, 10257, 10259, 50000, 50001, 50002} {
		if !slices.Contains(got.Ports, port) {
			t.Errorf("port %d: nothing listens there, so nothing was tested; got %v", port, got.Ports)
		}
	}

	// While services are down, anyone may listen at their ports, except those that process 1 holds.
	var gone []string

	for _, program := range []string{"kubelet", "kube-apiserver", "etcd", "apid", "trustd", "discoveryd"} {
		pids, err := c.Processes(t.Context(), program)
		if err != nil {
			t.Fatal(err)
		}

		gone = append(gone, pids...)
	}

	impostor := make(chan stranger.Report, 1)

	go func() {
		impostor <- stranger.Run(t, netns, stranger.Task{
			Ports: []int{2379, 2380, 3172, 6443, 7445, 10248, 10250, 50000, 50001, 50002}, Patience: 25 * time.Second,
		})
	}()

	time.Sleep(time.Second) // the impostor must listen before they end
	_, _ = c.Shell(t.Context(), "kill -9 "+strings.Join(gone, " "))

	got = <-impostor
	t.Logf("while services are down: %s", got)

	if got.Callers == 0 {
		t.Error("no client called the impostor, so nothing was tested")
	}

	if found := got.Found(secrets); len(found) > 0 || strings.Contains(string(got.Heard), "Authorization:") {
		t.Errorf("secrets sent to an impostor: %d %q, want 0", len(found), found)
	}

	for _, taken := range got.Taken {
		if strings.Contains(taken, ":3172 ") || strings.Contains(taken, ":7445 ") {
			t.Errorf("a port that process 1 holds was taken: %s", taken)
		}
	}

	c.Ready("")
	systemPods(t, c)
	c.Healthy()

	changed := 0

	for _, line := range imagesAndPods(t, c) {
		if !slices.Contains(before, line) {
			changed++

			t.Errorf("new: %s", line)
		}
	}

	t.Logf("secrets read: %d; pods or images changed: %d", len(got.Found(secrets)), changed)
}

// imagesAndPods lists all images of the machine, and the images of all pods.
func imagesAndPods(t *testing.T, c *cluster.Cluster) []string {
	t.Helper()

	var out []string

	for _, namespace := range []string{"system", "cri"} {
		for line := range strings.Lines(c.Talosctl("image", "list", "--namespace", namespace)) {
			if fields := strings.Fields(line); len(fields) > 2 {
				out = append(out, "image "+strings.Join(fields[1:3], " ")) // name and digest
			}
		}
	}

	pods := c.Kubectl("", "get", "pods", "-A", "-o", `jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {.spec.containers[*].image}{"\n"}{end}`)
	for line := range strings.Lines(pods) {
		out = append(out, "pod "+strings.TrimSpace(line))
	}

	return out
}

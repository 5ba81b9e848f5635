// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/config/images"
)

// Namespace is that of the tests' own objects; its pods may be privileged.
const Namespace = "e2e"

// HostPod is a pod that sees the processes of the machine, and a folder under its /var as /data. It belongs to a
// Deployment, as all pods here: a bare pod would not come back after a reboot.
const HostPod = `
apiVersion: v1
kind: Namespace
metadata:
  name: ` + Namespace + `
  labels: {pod-security.kubernetes.io/enforce: privileged}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: host, namespace: ` + Namespace + `}
spec:
  selector: {matchLabels: {app: host}}
  template:
    metadata: {labels: {app: host}}
    spec:
      hostPID: true
      terminationGracePeriodSeconds: 1
      containers:
        - name: host
          image: ` + images.DefaultAgnhost + `
          args: [pause]
          securityContext: {privileged: true}
          volumeMounts: [{name: data, mountPath: /data}]
      volumes:
        - {name: data, hostPath: {path: /var/lib/e2e, type: DirectoryOrCreate}}
`

// Shell runs a shell command in the pod that sees the processes of the machine.
func (c *Cluster) Shell(ctx context.Context, line string) (string, error) {
	return c.TryKubectl(ctx, "-n", Namespace, "exec", "deploy/host", "--", "sh", "-c", line)
}

// Processes returns the ids of the processes of a program; without any it fails.
func (c *Cluster) Processes(ctx context.Context, name string) ([]string, error) {
	out, err := c.Shell(ctx, "ps -o pid,args")
	if err != nil {
		return nil, err
	}

	var found []string

	for line := range strings.Lines(out) {
		fields := strings.Fields(line)

		// The kernel's name of a process comes first, in braces, where the process calls itself otherwise.
		if len(fields) > 2 && strings.HasPrefix(fields[1], "{") {
			fields = append(fields[:1], fields[2:]...)
		}

		if len(fields) > 1 && path.Base(fields[1]) == name {
			found = append(found, fields[0])
		}
	}

	if len(found) == 0 {
		return nil, fmt.Errorf("%s does not run", name)
	}

	return found, nil
}

// Memory is that of a process, in bytes.
type Memory struct {
	// Program is the program's name; init is machined.
	Program string
	// Anonymous is memory of this process alone; Resident includes pages of the program file.
	Anonymous, Resident int
}

// memoryOf reads the memory of programs, from the first process of each.
func (c *Cluster) memoryOf(programs ...string) []Memory {
	c.t.Helper()

	var all []Memory

	for _, name := range programs {
		found, err := c.Processes(c.t.Context(), name)
		if err != nil {
			c.Fail("%v", err)
		}

		status, err := c.Shell(c.t.Context(), "cat /proc/"+found[0]+"/status")
		if err != nil {
			c.Fail("%v", err)
		}

		anonymous, err := StatusKiB(status, "RssAnon")
		if err != nil {
			c.t.Fatal(err)
		}

		resident, err := StatusKiB(status, "VmRSS")
		if err != nil {
			c.t.Fatal(err)
		}

		all = append(all, Memory{Program: name, Anonymous: anonymous << 10, Resident: resident << 10})
	}

	return all
}

// StatusKiB returns a number of /proc/PID/status or a file of its form.
func StatusKiB(status, name string) (int, error) {
	for line := range strings.Lines(status) {
		key, value, _ := strings.Cut(line, ":")
		if words := strings.Fields(value); key == name && len(words) > 0 {
			return strconv.Atoi(words[0])
		}
	}

	return 0, errors.New("the status of a process has no " + name)
}

// MemoryBudgets are limits of anonymous memory in bytes, by program, on an idle control plane.
var MemoryBudgets = map[string]int{"init": 40 << 20, "apid": 30 << 20}

// idleAfter a start, a Go program has given back what only the start needed: Go forces a collection every two minutes, and returns
// memory to the kernel after it.
const idleAfter = 5 * time.Minute

// IdleMemoryOf returns the memory of the first process of each program on the node as soon as all of them keep within
// [MemoryBudgets], but at the latest when they have had time to become idle.
func (c *Cluster) IdleMemoryOf(programs ...string) []Memory {
	c.t.Helper()

	for end := time.Now().Add(idleAfter); ; time.Sleep(5 * time.Second) {
		all := c.memoryOf(programs...)

		if !slices.ContainsFunc(all, Memory.aboveBudget) || time.Now().After(end) {
			return all
		}
	}
}

func (m Memory) aboveBudget() bool {
	most, limited := MemoryBudgets[m.Program]
	return limited && m.Anonymous > most
}

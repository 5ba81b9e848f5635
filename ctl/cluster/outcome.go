// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	labcluster "github.com/seed-59268b81/talos/lab/cluster"
)

// consoleLines is how many lines of a console a failure shows.
const consoleLines = 15

// creationError is a failure of the creation, with the end of a console.
type creationError struct {
	err error
	c   *creation
}

func (e *creationError) Unwrap() error { return e.err }

func (e *creationError) Error() string {
	var b strings.Builder

	n, p := e.c.cluster.At, e.c.place

	fmt.Fprintf(&b, "create cluster %s: %s\n", p.name, labcluster.Cause(e.err))

	if found, err := n.Findings(); err == nil && len(found) > 0 {
		fmt.Fprintf(&b, "The console of %s shows a fault: %s\n", n.Name, found[0])
	}

	fmt.Fprintf(&b, "The console of %s ends with:\n", n.Name)

	for _, line := range tail(n.ConsolePath(), consoleLines) {
		fmt.Fprintf(&b, "    %s\n", line)
	}

	fmt.Fprintf(&b, "The machines still run. Inspect them, then remove them:\n    %s\n    %s\n    %s",
		p.again("logs "+n.Name), p.again("show"), p.again("destroy"))

	return b.String()
}

// tail returns the last lines of a file, none if it cannot be read.
func tail(path string, count int) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}

	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")

	return lines[max(0, len(lines)-count):]
}

// next prints the next commands to run.
func (c *creation) next(out io.Writer) {
	s, first := c.cluster.Machines.State(), c.cluster.Machines.Node(0)

	if c.skipConfig {
		c.steps.say("machines of cluster %s wait for their configuration", c.place.name)
		fmt.Fprintf(out, "\nNext:\n\n    talosctl apply-config --insecure --endpoints %s --file controlplane.yaml\n\n", first.APIEndpoint())

		return
	}

	c.steps.say("cluster %s is %s", c.place.name, map[bool]string{true: "ready", false: "bootstrapped"}[c.wait])
	fmt.Fprint(out, "\nNext:\n\n")

	if dir := offPath(); dir != "" {
		fmt.Fprintf(out, "    export PATH=%s:$PATH\n", dir)
	}

	if c.place.own() {
		fmt.Fprintf(out, "    export TALOSCONFIG=%s\n", s.TalosconfigPath())

		if c.wait {
			fmt.Fprintf(out, "    export KUBECONFIG=%s\n", s.KubeconfigPath())
		}
	}

	fmt.Fprint(out, "    talosctl get addresses\n    talosctl service\n")

	if c.wait {
		fmt.Fprint(out, "    kubectl get pods -A\n")
	}

	fmt.Fprintf(out, "    %s\n    %s\n\n", c.place.again("show"), c.place.again("destroy"))
}

// offPath returns the folder of this program if the shell does not find the program by its name, or "".
func offPath() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}

	//program:self under its own name
	if found, err := exec.LookPath(filepath.Base(self)); err == nil {
		if a, errA := os.Stat(found); errA == nil {
			if b, errB := os.Stat(self); errB == nil && os.SameFile(a, b) {
				return ""
			}
		}
	}

	return filepath.Dir(self)
}

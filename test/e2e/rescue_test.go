// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/test/cluster"
)

// rescued cuts the power of a machine in a container while a change is on trial, and damages its stored configuration. Strangers are refused, and
// an administrator brings the machine back, with the commands of docs/rescue.md.
func rescued(t *testing.T, c *cluster.Cluster) {
	s := newSession(t, c)
	boot, _ := c.Ready("")
	p := newPage(t, s.user, "rescue.md")
	run := func(line, want string) {
		t.Helper()
		s.comesToShow(t, want, strings.TrimPrefix(p.has(t, line), "-n 10.5.0.2 "))
	}

	s.talosctl(t, "patch machineconfig --patch", `{"machine": {"sysctls": {"`+hopsPath+`": "27"}}}`)

	if err := c.Node.PowerCut(t.Context()); err != nil {
		t.Fatal(err)
	}

	stored := filepath.Join(c.Lab.State().NodeDir(c.Node.Name), "state", "config.yaml")

	text, err := os.ReadFile(stored)
	if err != nil {
		t.Fatal(err)
	}

	damaged := text[:len(text)/2]
	if err := os.WriteFile(stored, damaged, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := c.Node.PowerOn(t.Context()); err != nil {
		t.Fatal(err)
	}

	c.Answers()
	run("-n 10.5.0.2 explain", `the stored configuration cannot be used`)
	run("-n 10.5.0.2 get trials", `(?m)^@ +runtime +Trial +.* reverted +the machine restarted before the trial was decided`)
	run("-n 10.5.0.2 get boots", `(?m)^@ +runtime +Boot +\S+ +\d+ +-1 `)
	run("-n 10.5.0.2 logs machined --boot -1", `machined`)

	if err := c.ApplyInsecure(t.Context(), c.Generated.ControlPlane); err == nil {
		t.Error("a stranger applied a configuration")
	}

	if now, err := os.ReadFile(stored); err != nil || string(now) != string(damaged) {
		t.Errorf("the damaged configuration was changed: %v", err)
	}

	if err := os.WriteFile(filepath.Join(s.dir, "controlplane.yaml"), c.Generated.ControlPlane, 0o600); err != nil {
		t.Fatal(err)
	}

	start := time.Now()

	s.talosctl(t, strings.TrimPrefix(p.has(t, "-n 10.5.0.2 apply-config -f controlplane.yaml"), "-n 10.5.0.2 "))
	c.Ready(boot)
	c.Measured("  from the administrator's configuration to Ready", time.Since(start))
	c.Until("the configuration is stored", time.Minute, func(context.Context) error {
		if now, err := os.ReadFile(stored); err != nil || string(now) == string(damaged) {
			return fmt.Errorf("it is not: %v", err)
		}

		return nil
	})

	if len(p.left) > 0 {
		t.Errorf("no step runs these commands of docs/%s: %v", p.file, p.left)
	}
}

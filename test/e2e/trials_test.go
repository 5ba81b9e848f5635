// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/test/cluster"
)

// backTime is how long a machine may take from a configuration that breaks it until the one before serves again.
const backTime = 3 * time.Minute

// goesBack applies configurations as users do who do not think of a trial, with the commands of docs/trials.md: one that stays, and those that
// cut the machine off, stop its kubelet, and, at the level All, take its cluster away.
func goesBack(t *testing.T, c *cluster.Cluster) {
	s := newSession(t, c)
	p := newPage(t, s.user, "trials.md")
	line := func(of string) string { return p.has(t, "-n 10.5.0.3 "+of, "-n 10.5.0.3 ", "") }
	trials, explain := line("get trials"), line("explain")

	hopping := func(t *testing.T, file, hops string) {
		t.Helper()
		s.write(t, file, []byte(`{"machine": {"sysctls": {"`+hopsPath+`": "`+hops+`"}}}`))
	}

	t.Run("a good one stays", func(t *testing.T) {
		hopping(t, "network.yaml", "31")
		s.shows(t, `It is on trial`, line("patch mc -p @network.yaml"))
		s.comesToShow(t, `^31\n$`, "read "+hops)
		s.shows(t, hopsPath+`"?: "31"`, "get machineconfig persistent -o yaml")
		s.comesToShow(t, `(?m)^@ +runtime +Trial +\S+ +\d+ +configuration +committed +all conditions held for 30s`, trials)
		s.shows(t, hopsPath+`"?: "31"`, "get machineconfig persistent -o yaml")
	})

	t.Run("a person decides", func(t *testing.T) {
		hopping(t, "network.yaml", "33")
		s.talosctl(t, line("patch mc -p @network.yaml --mode try"))
		s.comesToShow(t, `^33\n$`, "read "+hops)
		s.shows(t, `(?m)^@: trial \S+ is reverted: `, line("confirm --revert"))
		s.comesToShow(t, `^31\n$`, "read "+hops)
		s.talosctl(t, "patch mc -p @network.yaml --mode try")
		s.shows(t, `(?m)^@: trial \S+ is committed: `, line("confirm"))
		s.comesToShow(t, `^33\n$`, "read "+hops)

		hopping(t, "isolated.yaml", "31")
		s.talosctl(t, line("patch mc -p @isolated.yaml --for-good"))
		s.comesToShow(t, `^31\n$`, "read "+hops)
		s.refused(t, `\(see talosctl get trials\)`, "confirm --revert")
	})

	if len(p.left) > 0 {
		t.Errorf("no step runs these commands of docs/%s: %v", p.file, p.left)
	}

	for _, tt := range []struct {
		name, patch, why string
		long             bool
	}{
		{
			"no default route", "machine: {network: {interfaces: [{interface: eth0, dhcp: false, addresses: [192.0.2.9/24]}]}}",
			`gateway \(there is no default route\)`, false,
		},
		{"no image of the kubelet", "machine: {kubelet: {image: '" + absentImage + "'}}", `images \(` + absentImage + ` is not there: .*`, false},
		{
			"no API server at the endpoint", "cluster: {controlPlane: {endpoint: 'https://" + noControlPlane + ":6443'}}",
			`endpoint \(the cluster's endpoint ` + noControlPlane + `:6443 does not answer\)`, true,
		},
	} {
		if tt.long && !cluster.Asked(cluster.All) {
			continue
		}

		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()

			// The answer may be lost with the network.
			_, _ = s.tryFor(t, 15*time.Second, "patch machineconfig --timeout 1m --patch", tt.patch)

			want := s.pattern(`(?m)^@ +runtime +Trial +\S+ +\d+ +configuration +reverted +not healthy within 1m0s: .*` + tt.why)

			s.Until("the machine goes back", backTime, func(ctx context.Context) error {
				said, err := s.command(ctx, trials).CombinedOutput()
				if err == nil && !want.Match(said) {
					err = fmt.Errorf("want a match of %s", want)
				}

				if err != nil {
					return fmt.Errorf("%w: %s", err, said)
				}

				return nil
			})
			s.Until("the machine is as before", backTime, func(ctx context.Context) error {
				said, err := s.command(ctx, "get machinestatus -o yaml").CombinedOutput()
				if err == nil && !strings.Contains(string(said), "ready: true") {
					err = fmt.Errorf("it is not ready: %s", said)
				}

				return err
			})

			c.Measured("  "+tt.name+": the machine is as before", time.Since(start))

			s.shows(t, `a change of the configuration was tried and reverted: not healthy within 1m0s: .*`+tt.why, explain)
			s.shows(t, hopsPath+`"?: "31"`, "get machineconfig v1alpha1 -o yaml")

			if !strings.Contains(c.Console(), "is reverted: not healthy within 1m0s") {
				t.Error("the console does not say that the machine went back")
			}
		})
	}

	c.Apply(c.Generated.ControlPlane)
}

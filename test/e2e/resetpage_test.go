// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/test/cluster"
)

// TestResetPage runs the commands of docs/reset.md: a worker goes back to maintenance, is reset there by anyone, becomes a control plane, and is
// taken away. The last control plane is not.
func TestResetPage(t *testing.T) {
	cluster.Above(t, cluster.Landing, "resets the machines of a cluster for two minutes")

	l := cluster.NewUserLab(t, "e2e-reset")
	l.Create(5*time.Minute, "cluster", "create", "--provisioner", "container", "--workers", "2")

	u := newUser(t, l)
	p := &planes{page: newPage(t, u, "reset.md"), l: l, nodes: l.Open().Nodes()}
	first, again := p.nodes[0], p.nodes[2]
	wiped := p.has(t, "-n 10.5.0.4 reset --system-labels-to-wipe STATE --system-labels-to-wipe EPHEMERAL --reboot")
	inMaintenance := p.has(t, "reset --insecure -n 10.5.0.4", "10.5.0.4", again.APIEndpoint())
	apply := p.has(t, applied, "10.5.0.4", again.APIEndpoint())

	text, err := os.ReadFile(filepath.Join("..", "..", "docs", p.file))
	if err != nil {
		t.Fatal(err)
	}

	config, err := os.ReadFile(filepath.Join(l.Open().State().ConfigsPath(), "controlplane.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	p.write(t, "controlplane.yaml", config)

	step := func(name string, do func(t *testing.T)) {
		if !t.Run(name, do) {
			t.FailNow()
		}
	}

	step("the last member stays", func(t *testing.T) {
		const why = "it is the only member, and all data would be lost; if that is what you want: --graceful=false"

		if !strings.Contains(string(text), why) {
			t.Errorf("docs/%s does not have %q", p.file, why)
		}

		p.refused(t, why, "-n "+first.Addr.String()+" reset")
	})
	step("a worker goes back to maintenance", func(t *testing.T) {
		// A machine in maintenance has no way through others, so that the command would not see it: this computer reaches it by a port.
		p.takes(t, time.Minute, ``, wiped+" --wait=false")
		p.comesToShow(t, `maintenance`, "get machinestatus --insecure -n "+again.APIEndpoint())
	})
	step("its Node is deleted", func(t *testing.T) {
		const of = "worker-1"

		line := "kubectl delete node " + of
		if !strings.Contains(string(text), "$ "+line+"\n") {
			t.Errorf("docs/%s does not have the command %s", p.file, line)
		}

		words := strings.Fields(strings.Replace(line, of, again.Name, 1))
		if out, err := kubectl(t.Context(), l, "", words[1:]...); err != nil {
			t.Errorf("%s: %v: %s", line, err, out)
		}
	})
	step("anyone resets it", func(t *testing.T) {
		p.takes(t, 4*time.Minute, ``, inMaintenance)
		p.isOff(t, again)

		if err := again.PowerOn(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	step("it becomes a control plane", func(t *testing.T) {
		until(t, 4*time.Minute, "it takes a configuration", func() error {
			out, err := p.try(t, apply)
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}

			return nil
		})
		p.voting(t, first, again)
	})
	step("and is taken away", func(t *testing.T) {
		p.takes(t, 4*time.Minute, ``, p.has(t, "-n 10.5.0.4 reset"))
		p.isOff(t, again)
		p.voting(t, first)
	})

	if len(p.left) > 0 {
		t.Errorf("no step runs these commands of docs/%s: %v", p.file, p.left)
	}
}

// isOff waits until a machine is off.
func (p *planes) isOff(t *testing.T, n *lab.Node) {
	t.Helper()
	until(t, time.Minute, n.Name+" is off", func() error {
		s, err := n.Status(t.Context())
		if err == nil && s.Machine.Power != machine.Off {
			err = fmt.Errorf("its power is %s", s.Machine.Power)
		}

		return err
	})
}

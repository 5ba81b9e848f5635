// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/test/cluster"
)

// page is a page of docs whose commands are run.
type page struct {
	*user
	file string
	// left are the commands that no step has run yet.
	left map[string]bool
}

// prompted is a command of talosctl on a page.
var prompted = regexp.MustCompile(`(?m)^ +\$ talosctl (.*)$`)

func newPage(t *testing.T, u *user, file string) *page {
	t.Helper()

	text, err := os.ReadFile(filepath.Join("..", "..", "docs", file))
	if err != nil {
		t.Fatal(err)
	}

	p := &page{user: u, file: file, left: map[string]bool{}}
	for _, m := range prompted.FindAllStringSubmatch(string(text), -1) {
		p.left[m[1]] = true
	}

	return p
}

// has returns a line of the page with words of the test instead of some of its own: pairs of them.
func (p *page) has(t *testing.T, line string, instead ...string) string {
	t.Helper()

	if !p.left[line] {
		t.Fatalf("docs/%s does not have the command talosctl %s, or a step has run it already", p.file, line)
	}

	delete(p.left, line)

	return strings.NewReplacer(instead...).Replace(line)
}

// planesPage runs the commands of docs/control-planes.md. The two workers of the cluster become control planes: their machines get other
// configurations after their disks were emptied.
func planesPage(t *testing.T, l *cluster.UserLab) {
	u := newUser(t, l)
	p := &planes{page: newPage(t, u, "control-planes.md"), l: l, nodes: l.Open().Nodes()}

	for i, n := range p.nodes {
		if want := fmt.Sprintf("10.5.0.%d", 2+i); n.Addr.String() != want {
			t.Fatalf("%s has the address %s, and on the page it is %s", n.Name, n.Addr, want)
		}
	}

	text, err := os.ReadFile(filepath.Join(l.Open().State().ConfigsPath(), "controlplane.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	u.write(t, "controlplane.yaml", text)

	steps := []struct {
		name string
		do   func(t *testing.T)
	}{
		{"a second bootstrap is refused", func(t *testing.T) {
			p.refused(t, "data directory is not empty", p.has(t, "-n 10.5.0.2 bootstrap"))
		}},
		{"a snapshot", p.snapshot},
		{"two more control planes", p.grow},
		{"the endpoints", p.endpoints},
		{"a dead one is replaced", p.replace},
		{"one is taken away", p.takeAway},
		{"all reboot", p.reboot},
		{"recovery from a snapshot", p.recover},
	}

	if !cluster.Asked(cluster.All) { // these take some minutes
		steps = steps[:len(steps)-2]
	}

	for _, s := range steps {
		if !t.Run(s.name, s.do) {
			t.FailNow()
		}
	}

	if len(p.left) > 0 && cluster.Asked(cluster.All) {
		t.Errorf("no step runs these commands of docs/%s: %v", p.file, p.left)
	}
}

// planes are the control planes of the page.
type planes struct {
	*page
	l     *cluster.UserLab
	nodes []*lab.Node
}

// comesBackEmpty empties the disks of machines, and applies a configuration, with the line of the page for the last one.
func (p *planes) comesBackEmpty(t *testing.T, line string, nodes ...*lab.Node) {
	t.Helper()

	for _, n := range nodes {
		if err := errors.Join(n.PowerCut(t.Context()), n.Wipe(t.Context()), n.PowerOn(t.Context())); err != nil {
			t.Fatal(err)
		}
	}

	for _, n := range nodes {
		// A machine in maintenance has no way through others: this computer reaches it by a port.
		apply := strings.Replace(line, "10.5.0.4", n.APIEndpoint(), 1)

		until(t, 4*time.Minute, n.Name+" takes a configuration", func() error {
			out, err := p.try(t, apply)
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}

			return nil
		})
	}
}

// voting waits until exactly these machines have members with votes, and returns the table of members.
func (p *planes) voting(t *testing.T, nodes ...*lab.Node) (table string) {
	t.Helper()

	until(t, 5*time.Minute, fmt.Sprintf("%d members have votes", len(nodes)), func() error {
		var err error
		if table, err = p.try(t, "-n 10.5.0.2 etcd members"); err != nil {
			return fmt.Errorf("%w: %s", err, table)
		}

		for _, n := range nodes {
			if !regexp.MustCompile(`(?m)^10\.5\.0\.2 +[0-9a-f]{16} +` + n.Name + ` +https://` + n.Addr.String() + `:2380 +https://` + n.Addr.String() + `:2379 +false *$`).MatchString(table) {
				return fmt.Errorf("no vote of %s:\n%s", n.Name, table)
			}
		}

		if got := strings.Count(strings.TrimSpace(table), "\n"); got != len(nodes) {
			return fmt.Errorf("%d members, want %d:\n%s", got, len(nodes), table)
		}

		return nil
	})

	return table
}

// marker makes an object.
func (p *planes) marker(t *testing.T, name string) {
	t.Helper()
	until(t, 2*time.Minute, "the object "+name, func() error {
		_, err := kubectl(t.Context(), p.l, "", "create", "configmap", name)

		return err
	})
}

func (p *planes) snapshot(t *testing.T) {
	p.marker(t, "before-the-snapshot")
	p.talosctl(t, p.has(t, "-n 10.5.0.2 etcd snapshot db.snapshot"))
	p.marker(t, "after-the-snapshot")
}

// applied is how the page configures a machine.
const applied = "apply-config --insecure -n 10.5.0.4 -f controlplane.yaml"

func (p *planes) grow(t *testing.T) {
	p.comesBackEmpty(t, p.has(t, applied), p.nodes[1:]...)

	p.comesToShow(t, `EtcdMembershipStatus`, "-n 10.5.0.4 get etcdmembershipstatuses")
	p.interrupted(t, `(?m)EtcdMembershipStatus .*(join|none) `, p.has(t, "-n 10.5.0.4 get etcdmembershipstatuses --watch"))

	p.voting(t, p.nodes...)

	table := p.talosctl(t, p.has(t, "-n 10.5.0.2 etcd members"))

	page, err := os.ReadFile(filepath.Join("..", "..", "docs", p.file))
	if err != nil {
		t.Fatal(err)
	}

	header, _, _ := strings.Cut(table, "\n")
	if words := strings.Fields(header); !regexp.MustCompile(`(?m)^ +` + strings.Join(words, ` +`) + `$`).Match(page) {
		t.Errorf("docs/%s does not have the columns %q", p.file, words)
	}

	p.comesToShow(t, `(?m)EtcdMemberStatus .* false +true +true `, "-n 10.5.0.2 get etcdmemberstatuses")
}

// endpoints makes a talosconfig that knows all control planes, by the ports of this computer, and uses it from then on.
func (p *planes) endpoints(t *testing.T) {
	line := p.has(t, "config endpoint 10.5.0.2 10.5.0.3 10.5.0.4")
	for _, n := range p.nodes {
		line = strings.Replace(line, n.Addr.String(), n.APIEndpoint(), 1)
	}

	text, err := os.ReadFile(p.l.Open().State().TalosconfigPath())
	if err != nil {
		t.Fatal(err)
	}

	p.write(t, "talosconfig", text)

	before := p.program
	p.program = func(ctx context.Context, args ...string) *exec.Cmd {
		cmd := before(ctx, args...)
		cmd.Env = append(cmd.Env, "TALOSCONFIG="+filepath.Join(p.dir, "talosconfig"))

		return cmd
	}

	p.talosctl(t, line)

	if text := string(p.read(t, "talosconfig")); !strings.Contains(text, p.nodes[2].APIEndpoint()) {
		t.Errorf("got\n%s\nwant the endpoint %s", text, p.nodes[2].APIEndpoint())
	}
}

func (p *planes) replace(t *testing.T) {
	dead := p.nodes[2]
	member := regexp.MustCompile(`(?m)^\S+ +([0-9a-f]{16}) +` + dead.Name + ` `)

	found := member.FindStringSubmatch(p.voting(t, p.nodes...))
	if found == nil {
		t.Fatalf("the table of members does not match %s", member)
	}

	if err := dead.PowerCut(t.Context()); err != nil {
		t.Fatal(err)
	}

	remove := p.has(t, "-n 10.5.0.2 etcd remove-member 66257d38da33ec6b", "66257d38da33ec6b", found[1])

	until(t, 2*time.Minute, "the dead member is removed", func() error {
		out, err := p.try(t, remove)

		// An answer that was lost leaves the member removed.
		if table, tableErr := p.try(t, "-n 10.5.0.2 etcd members"); tableErr == nil && !strings.Contains(table, found[1]) {
			return nil
		}

		return fmt.Errorf("%w: %s", err, out)
	})

	if err := dead.PowerOn(t.Context()); err != nil {
		t.Fatal(err)
	}

	if table := p.voting(t, p.nodes...); strings.Contains(table, found[1]) {
		t.Errorf("the member %s that was removed is back:\n%s", found[1], table)
	}
}

func (p *planes) takeAway(t *testing.T) {
	p.takes(t, 4*time.Minute, ``, p.has(t, "-n 10.5.0.4 reset"))
	p.voting(t, p.nodes[:2]...)
	p.isOff(t, p.nodes[2])
}

func (p *planes) reboot(t *testing.T) {
	p.comesBackEmpty(t, applied, p.nodes[2])
	p.voting(t, p.nodes...) // it has joined again
	p.ready(t)
	p.takes(t, 15*time.Minute, ``, p.has(t, "-n 10.5.0.2,10.5.0.3,10.5.0.4 reboot --drain"))
	p.voting(t, p.nodes...)
}

func (p *planes) recover(t *testing.T) {
	if err := p.nodes[2].PowerCut(t.Context()); err != nil {
		t.Fatal(err)
	}

	p.takes(t, 6*time.Minute, ``, p.has(t, "-n 10.5.0.2,10.5.0.3 reset --graceful=false --system-labels-to-wipe EPHEMERAL --reboot"))

	line := p.has(t, "-n 10.5.0.2 bootstrap --recover-from db.snapshot")

	until(t, 4*time.Minute, "the recovery begins", func() error {
		out, err := p.try(t, line)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}

		return nil
	})

	p.comesBackEmpty(t, applied, p.nodes[2])
	p.voting(t, p.nodes...)

	until(t, 2*time.Minute, "the objects are those of the snapshot", func() error {
		got, err := kubectl(t.Context(), p.l, "", "get", "configmaps", "-o", "name")
		if err == nil && (!strings.Contains(got, "/before-the-snapshot") || strings.Contains(got, "/after-the-snapshot")) {
			err = fmt.Errorf("got %q", got)
		}

		return err
	})
	p.ready(t)
}

// ready waits until all nodes are Ready.
func (p *planes) ready(t *testing.T) {
	t.Helper()
	until(t, 5*time.Minute, "all nodes are Ready", func() error {
		got, err := kubectl(t.Context(), p.l, "", "get", "nodes", "-o", `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`)
		if err == nil && got != strings.TrimSpace(strings.Repeat("True ", len(p.nodes))) {
			err = fmt.Errorf("got %q", got)
		}

		return err
	})
}

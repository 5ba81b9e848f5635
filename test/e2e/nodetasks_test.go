// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/test/cluster"
)

// nodeTasks change what runs on the machine.
var nodeTasks = []task{
	{name: "meta", calls: "MetaWrite MetaDelete", do: func(t *testing.T, s *session) {
		s.talosctl(t, "meta write 0x0e", "kept by a user")
		s.comesToShow(t, `(?m)^@ .* 0x0e +\d+ +kept by a user$`, "get metakeys")
		s.talosctl(t, "meta delete 0x0e")
		eventually(t, "the key is gone", func() (string, bool) {
			out, err := s.try(t, "get metakeys")

			return out, err == nil && !strings.Contains(out, "kept by a user")
		})
	}},
	{name: "etcd remove-member", calls: "EtcdRemoveMemberByID EtcdMemberList", do: func(t *testing.T, s *session) {
		// A learner has no vote: etcd goes on without it.
		s.AddEtcdMember(noMember, true)

		learner := regexp.MustCompile(`(?m)^\S+ +([0-9a-f]{16}) +https://` + regexp.QuoteMeta(noMember) + `:2380 +true$`)
		members := s.talosctl(t, "etcd members")

		found := learner.FindStringSubmatch(members)
		if found == nil {
			t.Fatalf("got %s, want a match of %s", members, learner)
		}

		s.talosctl(t, "etcd remove-member", found[1])

		if members = s.talosctl(t, "etcd members"); learner.MatchString(members) {
			t.Errorf("it is still there:\n%s", members)
		}
	}},
	{name: "wipe disk", calls: "storage.StorageService/BlockDeviceWipe", do: func(t *testing.T, s *session) {
		if s.Contained() {
			s.refused(t, `error: @: .*wipe: a container has no disks of its own`, "wipe disk vdb")

			return
		}

		shell := func(line string) string {
			t.Helper()

			out, err := s.Shell(t.Context(), line)
			if err != nil {
				t.Fatal(err)
			}

			return out
		}

		const start = "dd if=/dev/vdb bs=8 count=1 2>/dev/null | od -An -c"

		shell("printf 'LUKS\\272\\276\\000\\001' | dd of=/dev/vdb bs=512 conv=sync,fsync")

		if got := shell(start); !strings.Contains(got, "L   U   K   S") {
			t.Fatalf("the disk begins with %q, want what was written", got)
		}

		s.talosctl(t, "wipe disk vdb")

		if got := strings.Join(strings.Fields(shell(start)), ""); strings.Trim(got, "\\0") != "" {
			t.Errorf("the disk begins with %q, want zeros", got)
		}
	}},
	{name: "restart", calls: "Restart Containers", do: func(t *testing.T, s *session) {
		before := s.container(t, namespace, "app=client")
		restarts := s.restarts(t, "app=client")
		s.talosctl(t, "restart --kubernetes", before)
		eventually(t, "the kubelet has another container run in its place", func() (string, bool) {
			got := s.restarts(t, "app=client")

			return fmt.Sprintf("it was restarted %d times, as before", got), got > restarts
		})

		if after := s.container(t, namespace, "app=client"); after == before {
			t.Errorf("it is still %s", after)
		}
	}},
	{name: "service restart", calls: "ServiceRestart", do: func(t *testing.T, s *session) {
		before := s.process(t, "kubelet")
		s.shows(t, `(?m)^@ +Service "kubelet" restarted$`, "service kubelet restart")
		s.serviceRuns(t, "kubelet")

		if after := s.process(t, "kubelet"); after == before {
			t.Errorf("it is still process %d", after)
		}
	}},
	{name: "service start", calls: "ServiceStart", do: func(t *testing.T, s *session) {
		before := s.process(t, "kubelet")
		s.shows(t, `(?m)^@ +Service "kubelet" started$`, "service kubelet start")
		s.serviceRuns(t, "kubelet")

		// A running service is not started again.
		if after := s.process(t, "kubelet"); after != before {
			t.Errorf("it was process %d and is %d", before, after)
		}
	}},
	{name: "etcd defrag", calls: "EtcdDefragment", do: func(t *testing.T, s *session) {
		s.talosctl(t, "etcd defrag")
		// After that nearly all of the database is in use.
		s.comesToShow(t, `(?m)^@ .*\((100|9\d|8\d)\.\d\d%\)`, "etcd status")
	}},
	{name: "etcd downgrade", calls: "EtcdDowngradeValidate EtcdDowngradeEnable EtcdDowngradeCancel", do: func(t *testing.T, s *session) {
		s.refused(t, `error: @: .*downgrade`, "etcd downgrade validate 3.1")
		s.shows(t, `(?m)^@ +3\.6\b`, "etcd downgrade validate 3.5")
		s.shows(t, `(?m)^@ +3\.6\b`, "etcd downgrade enable 3.5")
		s.shows(t, `(?m)^@ +3\.\d\b`, "etcd downgrade cancel")
		s.serviceRuns(t, "etcd")
		// The version of the storage, which was lowered, rises again.
		s.comesToShow(t, `(?m)^@ .* 3\.6\.\d+ +3\.6\.\d+\s*$`, "etcd status")
	}},
}

// restarts returns how often the container of a pod was restarted; -1 while the pod is not ready.
func (s *session) restarts(t *testing.T, selector string) int {
	t.Helper()

	pods, err := s.Pods(t.Context(), namespace, selector)
	if err != nil || len(pods) != 1 || pods[0].Ready() != nil || len(pods[0].Status.ContainerStatuses) != 1 {
		return -1
	}

	return pods[0].Status.ContainerStatuses[0].RestartCount
}

// process returns the id of the first process of a program.
func (s *session) process(t *testing.T, program string) (pid int32) {
	t.Helper()

	err := s.API(t.Context(), func(ctx context.Context, api *client.Client) error {
		processes, err := api.Processes(ctx)
		if err != nil {
			return err
		}

		i := slices.IndexFunc(processes, func(p *machine.ProcessInfo) bool { return p.GetCommand() == program })
		if i < 0 {
			return fmt.Errorf("%s does not run", program)
		}

		pid = processes[i].GetPid()

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return pid
}

func (s *session) serviceRuns(t *testing.T, id string) {
	t.Helper()
	eventually(t, id+" runs", func() (string, bool) {
		err := healthy(t.Context(), s.Cluster, id)

		return fmt.Sprint(err), err == nil
	})
}

// powerTasks take the machine down; each is a step of its own.
var powerTasks = []task{
	{name: "reboot", calls: "Reboot Events", do: func(t *testing.T, s *session) {
		// The command follows the node until it runs again.
		s.takes(t, 10*time.Minute, `(?m)^@: booted\n[\s\S]*^@: running$`, "reboot --timeout 9m")
	}},
	{name: "bootstrap from a snapshot", calls: "EtcdSnapshot EtcdRecover Bootstrap", do: recovered},
	{name: "shutdown", calls: "Shutdown Events", do: func(t *testing.T, s *session) {
		s.takes(t, 10*time.Minute, "", "shutdown --timeout 9m")
	}},
}

// power runs one of powerTasks.
func power(t *testing.T, c *cluster.Cluster, name string) {
	for _, task := range powerTasks {
		if task.name == name {
			task.do(t, newSession(t, c))

			return
		}
	}

	t.Fatalf("there is no power task %q", name)
}

// drained evicts the pods before a reboot. There is no other node, so they come back with this one.
//
// A configuration is staged for that reboot: it begins with it, on trial.
func drained(t *testing.T, c *cluster.Cluster) {
	s := newSession(t, c)

	s.talosctl(t, "patch machineconfig --mode staged --patch", `{"machine": {"sysctls": {"`+hopsPath+`": "26"}}}`)
	s.shows(t, hopsPath+`"?: "26"`, "get machineconfig persistent -o yaml")
	s.shows(t, `(?m)^@ +runtime +Trial +\S+ +\d+ +configuration +armed`, "get trials")

	s.takes(t, 12*time.Minute,
		`(?s)@: cordoned node \S+\n.*@: evicting pod `+namespace+`/web-.*@: booted\n.*@: node \S+ is ready\n`, "reboot --drain --timeout 9m")

	s.comesToShow(t, `^26\n$`, "read "+hops)
	s.shows(t, `(?m)^@ +runtime +Trial +\S+ +\d+ +configuration +(running|committed) `, "get trials")

	c.Until("the Deployment's pods are ready on the node again", 5*time.Minute, func(ctx context.Context) error {
		// The count in the Deployment is out of date until the controller manager is back.
		ready, err := c.TryKubectl(ctx, "-n", namespace, "get", "pods", "-l", "app=web", "-o", `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`)
		if err == nil && ready != "True True" {
			err = fmt.Errorf("the count is %q", ready)
		}

		return err
	})
}

// recovered removes etcd's data, and recovers the cluster from a snapshot.
func recovered(t *testing.T, s *session) {
	const snapshot = "before.snapshot"

	s.Kubectl("", "-n", namespace, "create", "configmap", "saved", "--from-literal=a=b")
	s.talosctl(t, "etcd snapshot "+snapshot)
	s.Kubectl("", "-n", namespace, "create", "configmap", "unsaved")
	s.refused(t, "data directory is not empty", "bootstrap --recover-from "+snapshot)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	cmd := s.command(ctx, "debug --args rm --args -r --args /host/var/lib/etcd/member", images.DefaultAgnhost)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("remove etcd's data: %v\n%s", err, out)
	}

	powerCycle(t, s.Cluster)
	s.comesToShow(t, `etcd +(Preparing|Waiting)`, "services")

	// A file that is not a snapshot is refused, and does not prevent the recovery from a real one.
	s.write(t, "nonsense", []byte("no database"))
	s.talosctl(t, "bootstrap --recover-from nonsense")
	s.comesToShow(t, `restore the etcd snapshot`, "service etcd")
	s.talosctl(t, "bootstrap --recover-from "+snapshot)

	s.Until("the saved object is there again, and the other is not", 5*time.Minute, func(ctx context.Context) error {
		got, err := s.TryKubectl(ctx, "-n", namespace, "get", "configmaps", "-o", "name")
		if err == nil && (!strings.Contains(got, "configmap/saved") || strings.Contains(got, "configmap/unsaved")) {
			err = fmt.Errorf("there are %q", got)
		}

		return err
	})
}

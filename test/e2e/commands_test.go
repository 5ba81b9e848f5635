// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"testing"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/test/cluster"
)

// commands runs all talosctl commands that work by docs/api.md, on a machine that has booted twice and runs the workload.
func commands(t *testing.T, c *cluster.Cluster) {
	s := newSession(t, c)

	for _, cmd := range looks {
		t.Run(cmd.name, func(t *testing.T) {
			want := cmd.want
			if c.Contained() && cmd.contained != "" {
				want = cmd.contained
			}

			switch {
			case cmd.endless:
				s.interrupted(t, want, cmd.line)
			case cmd.refused:
				s.refused(t, want, cmd.line)
			default:
				s.shows(t, want, cmd.line)
			}
		})
	}

	on := computerOf(t, c)

	for _, call := range calls {
		t.Run(call.name, func(t *testing.T) {
			if err := c.API(t.Context(), func(ctx context.Context, api *client.Client) error { return call.check(ctx, api, on) }); err != nil {
				t.Error(err)
			}
		})
	}

	for _, tasks := range [][]task{fileTasks, nodeTasks, configTasks, offlineTasks} {
		for _, task := range tasks {
			t.Run(task.name, func(t *testing.T) { task.do(t, s) })
		}
	}
}

// look is one run of talosctl that changes nothing.
type look struct {
	// name is its name in docs/api.md.
	name string
	// calls are its RPCs, of machine.MachineService unless another service is named.
	calls string
	line  string
	// want is a pattern of the output; @ is the node's address. contained is the pattern for a container, where it
	// differs.
	want, contained string
	// refused commands must fail; endless ones are interrupted when the output matches.
	refused, endless bool
}

var looks = []look{
	{name: "version", calls: "Version", line: "version", want: `(?m)^Server:\n\s+NODE: +@\n[\s\S]*Enabled: +RBAC`},
	{name: "get a list", calls: "cosi.resource.State/List", line: "get services", want: `(?m)^@ +runtime +Service +etcd +\d+ +true +true +false$`},
	{
		name: "get one", calls: "cosi.resource.State/Get", line: "get addresses eth0/10.5.0.2/24",
		want: `(?m)^@ +network +AddressStatus +eth0/@/24 +\d+ +@/24 +eth0$`,
	},
	{
		name: "get, watching", calls: "cosi.resource.State/Watch", line: "get addresses --watch", endless: true,
		want: `(?m)^@ +\+ +network +AddressStatus +eth0/@/24 `,
	},
	{name: "boots", calls: "cosi.resource.State/List", line: "get boots", want: `(?m)^@ +runtime +Boot +\S+ +\d+ +-1 +20\d\d-`},
	{name: "service", calls: "ServiceList", line: "service", want: `(?m)^@ +kubelet +Running +OK `},
	{name: "service, one", calls: "ServiceList", line: "service kubelet", want: `(?m)^ID +kubelet\nSTATE +Running\nHEALTH +OK\n`},
	{name: "memory", calls: "Memory", line: "memory", want: `(?m)^@ +[34]\d{3} +[1-9]\d+ +\d+ +\d+ +\d+ +[1-9]\d+ +[1-9]\d+$`, contained: `(?m)^@ +[1-9]\d+ +[1-9]\d+ +\d+ +\d+ +\d+ +[1-9]\d+ +[1-9]\d+$`},
	{name: "processes", calls: "Processes", line: "processes --sort cpu", want: `(?m)^@ +1 +[SRD] +[1-9]\d* +\d+\.\d\d +`},
	{name: "mounts", calls: "Mounts", line: "mounts", want: `(?m)^@ +/dev/vda\d +[1-9]\d*\.\d\d +\d+\.\d\d +\d+\.\d\d +\d+\.\d\d% +/var$`, contained: `(?m)^@ +\S+ +[1-9]\d*\.\d\d +\d+\.\d\d +\d+\.\d\d +\d+\.\d\d% +/var$`},
	{name: "diskfree", calls: "machine.StorageService/Statfs", line: "diskfree /var", want: `(?m)^@ +/var +[\d.]+ GB +[\d.]+ [MG]B +[\d.]+ GB +\d+\.\d\d% +[1-9]\d+ +[1-9]\d+ +[1-9]\d+$`},
	{name: "disks", calls: "storage.StorageService/Disks", line: "disks", want: `(?m)^@ +/dev/vda +.* vda +11 GB +.* false +\*$`, contained: `^NODE +DEV.*\n$`},
	{name: "dmesg", calls: "Dmesg", line: "dmesg", want: `(?m)^@: .*Linux version 6\.`, contained: `(?m)^@: .*starting version=v`},
	{name: "dmesg, following", calls: "Dmesg", line: "dmesg --follow", want: `Linux version 6\.`, endless: true, contained: `starting version=v`},
	{name: "dmesg of the boot before", calls: "Dmesg", line: "dmesg --boot -1", want: `(?m)^@: .*\[talos\] `, contained: `(?m)^@: .*starting version=v`},
	{name: "logs", calls: "Logs", line: "logs etcd --tail 5", want: `(?m)^@: \{"level":"`},
	{name: "logs, following", calls: "Logs", line: "logs etcd --follow", want: `(?m)^@: \{"level":"`, endless: true},
	{name: "logs of the boot before", calls: "Logs", line: "logs etcd --boot -1", want: `(?m)^@: \{"level":"`},
	{name: "completion of logs", calls: "LogsContainers", line: "__complete logs e", want: `(?m)^etcd$`},
	{name: "events", calls: "Events", line: "events --tail 50", endless: true, want: `(?m)^@ +\S+ +machine\.\w+Event `},
	{name: "containers", calls: "Containers", line: "containers", want: `(?m)^@ +system +kubelet +\S+/kubelet:v\S+ +[1-9]\d* +RUNNING$`},
	{
		name: "containers of Kubernetes", calls: "Containers", line: "containers --kubernetes",
		want: `(?m)^@ +k8s\.io +└─ kube-system/kube-apiserver-\S+:kube-apiserver:\w+ +\S+ +[1-9]\d* +CONTAINER_RUNNING$`,
	},
	{name: "stats", calls: "Stats", line: "stats", want: `(?m)^@ +system +etcd +[1-9]\d*\.\d\d +[1-9]\d+$`},
	{name: "netstat", calls: "Netstat", line: "netstat --listening --tcp --programs", want: `(?m)^@ +tcp6? +\d+ +\d+ +\S+:50000 +\S+ +LISTEN +[1-9]\d*/apid`},
	{name: "netstat of pods", calls: "Netstat Containers", line: "netstat --listening --pods", want: `(?m)^@ +.* kube-system/coredns-\S+`},
	{name: "time", calls: "time.TimeService/Time", line: "time", want: `(?m)^@ +10\.5\.0\.1 +20\d\d-\S+ `},
	{name: "time, of a server", calls: "time.TimeService/TimeCheck", line: "time --check 10.5.0.1", want: `(?m)^@ +10\.5\.0\.1 +20\d\d-\S+ `},
	{name: "cgroups", calls: "Copy Containers", line: "cgroups --preset memory", want: `(?m)^@ +[│├└─ ]*etcd +`},
	{
		name: "inspect dependencies", calls: "inspect.InspectService/ControllerRuntimeDependencies", line: "inspect dependencies",
		want: `"network\.AddressStatusController" -> "AddressStatuses\.net\.talos\.dev network"`,
	},
	{
		name: "inspect dependencies, with resources", calls: "inspect.InspectService/ControllerRuntimeDependencies",
		line: "inspect dependencies --with-resources", want: `network/eth0/@/24`,
	},
	{name: "explain", calls: "cosi.resource.State/List", line: "explain", want: `(?m)^@: nothing is wrong with the machine$`},
	{name: "health", calls: "cluster.ClusterService/HealthCheck", line: "health", want: `(?m)waiting for all k8s nodes to report schedulable: OK$`},
	{name: "health from here", calls: "cosi.resource.State/Get EtcdMemberList Kubeconfig Memory", line: "health --server=false", want: `(?s)waiting for nodes to be discovered: OK\n.*waiting for all k8s nodes to report schedulable: OK\n$`},
	{name: "list", calls: "List", line: "list /etc", want: `(?m)^@ +os-release$`},
	{name: "list, long", calls: "List", line: "list --long --type f /usr/bin", want: `(?m)^@ +-rwx\S+ +\d+ +\d+ +[1-9]\d{6,} +\w{3} .* containerd$`},
	{name: "usage", calls: "DiskUsage", line: "usage /usr/bin", want: `(?m)^@ +[1-9]\d{7,} +\.$`},
	{name: "read", calls: "Read", line: "read /etc/os-release", want: `(?m)^NAME="?Talos`},
	{name: "read of nothing", calls: "Read", line: "read /etc/no-such-file", refused: true, want: `error: @: .*read /etc/no-such-file: .*no such file or directory`},
	{name: "pcap, printed", calls: "PacketCapture", line: "pcap --interface lo", endless: true, want: `(?m)^\d\d:\d\d:\d\d\.\d{6} .*127\.0\.0\.1`},
	{
		name: "image list", calls: "machine.ImageService/List", line: "image list --namespace system",
		want: `(?m)^@ +` + images.Kubelet + `:v\S+ +sha256:[0-9a-f]{64} +[\d.]+ [MG]B +20\d\d-`,
	},
	{
		name: "etcd members", calls: "EtcdMemberList", line: "etcd members",
		want: `(?m)^@ +[0-9a-f]{16} +\S+ +https://@:2380 +https://@:2379 +false$`,
	},
	{
		name: "etcd status", calls: "EtcdStatus", line: "etcd status",
		want: `(?m)^@ +[0-9a-f]{16} +[\d.]+ \w+ +.*%\) +[0-9a-f]{16} +[1-9]\d+ +[1-9]\d* +[1-9]\d+ +false +3\.6\.\d+ +3\.6\.\d+\s*$`,
	},
	{name: "etcd alarm list", calls: "EtcdAlarmList", line: "etcd alarm list", want: `^NODE +MEMBER +ALARM\n$`},
	{name: "etcd alarm disarm", calls: "EtcdAlarmDisarm", line: "etcd alarm disarm", want: `^NODE +MEMBER +ALARM\n$`},
	{
		name: "etcd remove-member of an unknown member", calls: "EtcdRemoveMemberByID EtcdMemberList", line: "etcd remove-member 1234",
		refused: true, want: `error: @: .*etcd has no such member`,
	},
	{
		name: "etcd member remove", calls: "EtcdRemoveMemberByID EtcdMemberList", line: "etcd member remove 1234",
		refused: true, want: `error: @: .*etcd has no such member`,
	},
	{
		name: "etcd leave", calls: "EtcdLeaveCluster", line: "etcd leave", refused: true,
		want: `error: @: .*it is the only member, and all data would be lost`,
	},
	{
		name: "reset", calls: "Reset", line: "reset --wait=false", refused: true,
		want: `error: @: .*it is the only member, and all data would be lost; if that is what you want: --graceful=false`,
	},
	{
		name: "reset of an unknown partition", calls: "Reset", line: "reset --wait=false --graceful=false --system-labels-to-wipe DATA", refused: true,
		want: `error: @: .*there is no partition "DATA" to wipe: there are .*EPHEMERAL, .*META, STATE`,
	},
	{
		name: "reset of the system disk as another", calls: "Reset", line: "reset --wait=false --wipe-mode user-disks --user-disks-to-wipe vda", refused: true,
		want: `error: @: .*/dev/vda is the system disk`, contained: `error: @: .*a container has no disks of its own`,
	},
	{
		name: "etcd forfeit-leadership", calls: "EtcdForfeitLeadership", line: "etcd forfeit-leadership",
		refused: true, want: `error: @: .*there is no other member to lead`,
	},
	{
		name: "bootstrap", calls: "Bootstrap", line: "bootstrap", refused: true,
		want: `error: @: .*bootstrap is not available: the etcd data directory is not empty`,
	},
	{name: "service stop", calls: "ServiceStop", line: "service kubelet stop", refused: true, want: `error: @: .*the service does not allow this action`},
	{name: "wipe disk of the system", calls: "storage.StorageService/BlockDeviceWipe", line: "wipe disk vda", refused: true, want: `error: @: .*wipe vda: volume \S+ is on /dev/vda\d`, contained: `error: @: .*wipe: a container has no disks of its own`},
	{name: "completion bash", line: "completion bash", want: `__start_talosctl`},
	{name: "completion fish", line: "completion fish", want: `complete -c talosctl`},
	{name: "completion powershell", line: "completion powershell", want: `Register-ArgumentCompleter -CommandName 'talosctl'`},
	{name: "completion zsh", line: "completion zsh", want: `#compdef talosctl`},
	{name: "completion of services", calls: "ServiceList", line: "__complete service ku", want: `(?m)^kubelet$`},
}

// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client/clienttest"
)

// compact returns the text of a message with one space between its fields. The library prints one or two, at random.
func compact(m proto.Message) string {
	text, err := prototext.MarshalOptions{}.Marshal(m)
	if err != nil {
		return err.Error()
	}

	return strings.Join(strings.Fields(string(text)), " ")
}

// TestRequests: the requests of flags and arguments.
func TestRequests(t *testing.T) {
	for _, tt := range []struct {
		args         []string
		method, want string
	}{
		{[]string{"ls", "/etc", "-d", "2", "-t", "f,l", "-l"}, "List", `root:"/etc" recurse:true recursion_depth:2 types:REGULAR types:SYMLINK report_xattrs:true`},
		{[]string{"ls", "-r"}, "List", `root:"/" recurse:true`},
		{[]string{"du", "/var", "/etc", "-a", "-d", "3", "-t", "1024"}, "DiskUsage", `recursion_depth:3 all:true threshold:1024 paths:"/var" paths:"/etc"`},
		{[]string{"read", "/a"}, "Read", `path:"/a"`},
		{[]string{"containers"}, "Containers", `namespace:"system"`},
		{[]string{"stats", "-k"}, "Stats", `namespace:"k8s.io" driver:CRI`},
		{[]string{"restart", "-k", "kube-system/dns:coredns:abc"}, "Restart", `namespace:"k8s.io" id:"kube-system/dns:coredns:abc" driver:CRI`},
		{[]string{"netstat"}, "Netstat", `filter:CONNECTED feature:{} l4proto:{tcp:true tcp6:true udp:true udp6:true} netns:{hostnetwork:true}`},
		{[]string{"netstat", "-l", "-t", "-4", "-p"}, "Netstat", `filter:LISTENING feature:{pid:true} l4proto:{tcp:true} netns:{hostnetwork:true}`},
		{[]string{"netstat", "-a", "-k", "-6", "-U", "-w"}, "Netstat", `feature:{} l4proto:{udplite6:true raw6:true} netns:{hostnetwork:true allnetns:true}`},
		{[]string{"netstat", "kube-system/dns"}, "Netstat", `filter:CONNECTED feature:{} l4proto:{tcp:true tcp6:true udp:true udp6:true} netns:{netns:"cni-1"}`},
		{[]string{"etcd", "members", "--local"}, "EtcdMemberList", `query_local:true`},
		{[]string{"etcd", "remove-member", "abc"}, "EtcdRemoveMemberByID", `member_id:2748`},
		{[]string{"etcd", "member", "remove", "two"}, "EtcdRemoveMemberByID", `member_id:16064339870830559233`},
		{[]string{"etcd", "downgrade", "enable", "3.5"}, "EtcdDowngradeEnable", `version:"3.5"`},
		{[]string{"etcd", "downgrade", "cancel"}, "EtcdDowngradeCancel", ``},
		{[]string{"etcd", "leave"}, "EtcdLeaveCluster", ``},
		{[]string{"rollback"}, "Rollback", ``},
		{[]string{"meta", "write", "0x0a", "value"}, "MetaWrite", `key:10 value:"value"`},
		{[]string{"time", "-c", "192.0.2.1"}, "/time.TimeService/TimeCheck", `server:"192.0.2.1"`},
		{[]string{"df", "/var/lib"}, "/machine.StorageService/Statfs", `path:"/var/lib"`},
		{[]string{"wipe", "lv", "/dev/data/one"}, "/machine.LVMService/LogicalVolumeRemove", `volume_group:"data" logical_volume:"one"`},
		{[]string{"wipe", "vg", "data"}, "/machine.LVMService/VolumeGroupRemove", `volume_group:"data"`},
		{[]string{"wipe", "pv", "sdb"}, "/machine.LVMService/PhysicalVolumeRemove", `device:"sdb"`},
		{[]string{"wipe", "md", "md0"}, "/machine.MDService/Destroy", `device:"md0"`},
		{[]string{"image", "list"}, "/machine.ImageService/List", `containerd:{driver:CRI namespace:NS_CRI}`},
		{[]string{"image", "pull", "a", "--namespace", "system"}, "/machine.ImageService/Pull", `containerd:{namespace:NS_SYSTEM} image_ref:"a"`},
		{[]string{"image", "remove", "a"}, "/machine.ImageService/Remove", `containerd:{driver:CRI namespace:NS_CRI} image_ref:"a"`},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			node := newNode("172.20.0.2")
			s := clienttest.Start(t, map[string]*clienttest.Node{"172.20.0.2": node})
			talosctl(t, s, append(tt.args, "-n", "172.20.0.2")...)

			method, isFull := strings.CutPrefix(tt.method, "/")
			if !isFull {
				method = machineService + method
			}

			requests := node.Requests(method)
			if len(requests) != 1 {
				t.Fatalf("got %d calls of %s, want 1", len(requests), method)
			}

			if got := compact(requests[0]); got != tt.want {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestEtcdRemoveHexHostname: a hostname that could be an id is taken as a hostname.
func TestEtcdRemoveHexHostname(t *testing.T) {
	s, node := startNode(t, machineService+"EtcdMemberList", clienttest.Answer(&machine.EtcdMemberListResponse{
		Messages: []*machine.EtcdMembers{{Members: []*machine.EtcdMember{{Id: 1, Hostname: "cafe"}, {Id: 0xcafe, Hostname: "other"}}}},
	}))

	talosctl(t, s, "etcd", "remove-member", "cafe")

	requests := node.Requests(machineService + "EtcdRemoveMemberByID")
	if len(requests) != 1 || compact(requests[0]) != "member_id:1" {
		t.Errorf("got %v, want the removal of member 1", requests)
	}
}

// TestRefused: arguments that contradict each other are errors.
func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"etcd", "defrag", "-n", "172.20.0.2,172.20.0.3"}, "works on one node, and there are 2"},
		{[]string{"etcd", "leave", "-n", "172.20.0.2,172.20.0.3"}, "works on one node, and there are 2"},
		{[]string{"service", "kubelet", "restart", "-o", "json", "-n", "172.20.0.2"}, "is printed as a table only"},
	} {
		if r := talosctl(t, startCluster(t), tt.args...); r.exit != 1 || !strings.Contains(r.stderr, tt.want) {
			t.Errorf("%v: got %+v, want %q", tt.args, r, tt.want)
		}
	}
}

// TestServiceStatusOutput: service ID status obeys --output too.
func TestServiceStatusOutput(t *testing.T) {
	for _, args := range [][]string{{"service", "kubelet"}, {"service", "kubelet", "status"}} {
		r := talosctl(t, startCluster(t), append(args, "-o", "jsonpath={.node} {.id} {.state}", "-n", "172.20.0.2")...)
		if want := "172.20.0.2 kubelet Running\n"; r.stdout != want {
			t.Errorf("%v: got %+v, want %q", args, r, want)
		}
	}
}

// TestContainersOfAPod: the containers of a pod follow it, even if the name of another pod begins with its name.
func TestContainersOfAPod(t *testing.T) {
	s, _ := startNode(t, machineService+"Containers", clienttest.Answer(&machine.ContainersResponse{
		Messages: []*machine.Container{{Containers: []*machine.ContainerInfo{
			{Id: "default/web-1", PodId: "default/web-1"}, {Id: "default/web:nginx:12", PodId: "default/web"},
			{Id: "default/web-1:nginx:34", PodId: "default/web-1"}, {Id: "default/web", PodId: "default/web"},
		}}},
	}))

	r := talosctl(t, s, "containers", "-k", "-o", "jsonpath={.id}")
	if want := "default/web\ndefault/web:nginx:12\ndefault/web-1\ndefault/web-1:nginx:34\n"; r.stdout != want {
		t.Errorf("got\n%swant\n%s", r.stdout, want)
	}
}

func TestDebugRequest(t *testing.T) {
	node := newNode("172.20.0.2")
	s := clienttest.Start(t, map[string]*clienttest.Node{"": node})

	if r := talosctl(t, s, "debug", "busybox:1", "--args", "sh", "--args", "-c", "--env", "A=1"); r.stdout != "hello\n" {
		t.Errorf("got %+v", r)
	}

	const want = `spec:{containerd:{namespace:NS_SYSTEM} image_name:"docker.io/library/busybox:1" args:"sh" args:"-c" env:{key:"A" value:"1"} profile:PROFILE_PRIVILEGED}`
	if got := compact(node.Requests("machine.DebugService/ContainerRun")[0]); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

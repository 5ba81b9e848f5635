// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"crypto/sha256"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/inspect"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/api/storage"
	timeapi "github.com/seed-59268b81/talos/api/time"
	"github.com/seed-59268b81/talos/api/trial"
	"github.com/seed-59268b81/talos/client/clienttest"
)

var noon = timestamppb.New(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))

const machineService = "machine.MachineService/"

// scripts are the answers of a test node to calls that need no state.
func scripts() map[string]clienttest.Script {
	all := map[string]clienttest.Script{
		"storage.StorageService/Disks": clienttest.Answer(&storage.DisksResponse{Messages: []*storage.Disks{{Disks: []*storage.Disk{
			{DeviceName: "/dev/vda", Size: 10 << 30, Type: storage.Disk_HDD, BusPath: "/pci0000:00/virtio1", Subsystem: "/sys/class/block", SystemDisk: true},
			{DeviceName: "/dev/sr0", Model: "DVD-ROM", Serial: "QM00001", Type: storage.Disk_CD, Readonly: true},
		}}}}),
		"storage.StorageService/BlockDeviceWipe": clienttest.Answer(&storage.BlockDeviceWipeResponse{Messages: []*storage.BlockDeviceWipe{{}}}),
		"machine.StorageService/Statfs":          clienttest.Answer(&machine.StorageServiceStatfsResponse{Size: 10e9, Used: 25e8, Available: 75e8, Inodes: 1000, InodesUsed: 1, InodesFree: 999}),
		"time.TimeService/Time":                  clock("pool.ntp.org"),
		"time.TimeService/TimeCheck":             clock("192.0.2.1"),
		"inspect.InspectService/ControllerRuntimeDependencies": clienttest.Answer(&inspect.ControllerRuntimeDependenciesResponse{
			Messages: []*inspect.ControllerRuntimeDependency{{Edges: []*inspect.ControllerDependencyEdge{
				{ControllerName: "network.AddressStatusController", EdgeType: inspect.DependencyEdgeType_OUTPUT_EXCLUSIVE, ResourceType: addressType},
				{ControllerName: "network.NodeAddressController", EdgeType: inspect.DependencyEdgeType_INPUT_WEAK, ResourceNamespace: "network", ResourceType: addressType},
			}}},
		}),
		"trial.TrialService/Confirm": clienttest.Answer(&trial.ConfirmResponse{
			Messages: []*trial.Confirmation{{Id: "k3q7zd", State: "committed", Details: "talosctl confirm (os:admin) confirmed it"}},
		}),
		"machine.ImageService/List": clienttest.Answer(
			&machine.ImageServiceListResponse{Name: "registry.k8s.io/pause:3.10.2", Digest: "sha256:22", Size: 320000, CreatedAt: noon},
			&machine.ImageServiceListResponse{Name: "registry.k8s.io/etcd:v3.6.16", Digest: "sha256:11", Size: 20 << 20, CreatedAt: noon},
		),
		"machine.ImageService/Pull": clienttest.Answer(
			&machine.ImageServicePullResponse{Response: &machine.ImageServicePullResponse_PullProgress{PullProgress: &machine.ImageServicePullProgress{LayerId: "one"}}},
			&machine.ImageServicePullResponse{Response: &machine.ImageServicePullResponse_Name{Name: "docker.io/library/busybox:1"}},
		),
		"machine.LVMService/LogicalVolumeRemove":  clienttest.Answer(&emptypb.Empty{}),
		"machine.LVMService/VolumeGroupRemove":    clienttest.Answer(&emptypb.Empty{}),
		"machine.LVMService/PhysicalVolumeRemove": clienttest.Answer(&emptypb.Empty{}),
		"machine.MDService/Destroy":               {Err: status.Error(codes.FailedPrecondition, "md0 is mounted")},
		"machine.ImageService/Remove":             clienttest.Answer(&emptypb.Empty{}),
		"machine.ImageService/Import":             clienttest.Answer(&machine.ImageServiceImportResponse{Name: "docker.io/library/mine:1"}),
		"machine.ImageService/Verify":             clienttest.Answer(&machine.ImageServiceVerifyResponse{Verified: true, Message: "signed by release", DigestedImageRef: "busybox@sha256:33"}),
		"machine.DebugService/ContainerRun": clienttest.Answer(
			&machine.DebugContainerRunResponse{Response: &machine.DebugContainerRunResponse_StdoutData{StdoutData: []byte("hello\n")}},
			&machine.DebugContainerRunResponse{Response: &machine.DebugContainerRunResponse_ExitCode{ExitCode: 3}},
		),
		"machine.LifecycleService/Upgrade": {Err: status.Error(codes.Unimplemented, "upgrades are not there yet")},
	}

	for name, script := range machineScripts() {
		all[machineService+name] = script
	}

	for name, script := range etcdScripts() {
		all[machineService+name] = script
	}

	return all
}

func clock(server string) clienttest.Script {
	return clienttest.Answer(&timeapi.TimeResponse{Messages: []*timeapi.Time{
		{Server: server, Localtime: timestamppb.New(noon.AsTime().Add(1500 * time.Microsecond)), Remotetime: noon},
	}})
}

func machineScripts() map[string]clienttest.Script {
	return map[string]clienttest.Script{
		"Mounts": clienttest.Answer(&machine.MountsResponse{Messages: []*machine.Mounts{{Stats: []*machine.MountStat{
			{Filesystem: "/dev/vda5", Size: 8e9, Available: 6e9, MountedOn: "/var"}, {Filesystem: "proc", MountedOn: "/proc"},
		}}}}),
		"Processes": clienttest.Answer(&machine.ProcessesResponse{Messages: []*machine.Process{{Processes: []*machine.ProcessInfo{
			{Pid: 2, State: "S", Threads: 1, Command: "kthreadd"},
			{Pid: 1, State: "S", Threads: 9, CpuTime: 12.5, VirtualMemory: 2e9, ResidentMemory: 7e7, Command: "init", Executable: "/usr/bin/init", Args: "/sbin/init --verbose"},
			{Pid: 900, State: "R", Threads: 12, CpuTime: 99, VirtualMemory: 1e9, ResidentMemory: 6e7, Command: "kubelet", Executable: "/usr/local/bin/kubelet", Args: "kubelet --v=2"},
		}}}}),
		"Containers": clienttest.Answer(&machine.ContainersResponse{Messages: []*machine.Container{{Containers: []*machine.ContainerInfo{
			{Namespace: "k8s.io", Id: "kube-system/dns:coredns:abc", Image: "coredns:1", Pid: 77, Status: "CONTAINER_RUNNING", PodId: "kube-system/dns", NetworkNamespace: "cni-1"},
			{Namespace: "k8s.io", Id: "kube-system/dns", Image: "pause:3", Pid: 76, Status: "SANDBOX_READY", PodId: "kube-system/dns", NetworkNamespace: "cni-1"},
		}}}}),
		"Stats": clienttest.Answer(&machine.StatsResponse{Messages: []*machine.Stats{{Stats: []*machine.Stat{
			{Namespace: "system", Id: "kubelet", PodId: "kubelet", MemoryUsage: 55e6, CpuUsage: 123456789},
		}}}}),
		"Restart":   clienttest.Answer(&machine.RestartResponse{Messages: []*machine.Restart{{}}}),
		"Rollback":  clienttest.Answer(&machine.RollbackResponse{Messages: []*machine.Rollback{{}}}),
		"MetaWrite": clienttest.Answer(&machine.MetaWriteResponse{Messages: []*machine.MetaWrite{{}}}),
		"MetaDelete": clienttest.Answer(&machine.MetaDeleteResponse{Messages: []*machine.MetaDelete{{
			Metadata: &common.Metadata{Error: "key 0x0b is not set"}, // as older servers report it
		}}}),
		"Upgrade": {Err: status.Error(codes.Unimplemented, "upgrades are not there yet")},
		"Reset":   clienttest.Answer(&machine.ResetResponse{Messages: []*machine.Reset{{ActorId: "actor-reset"}}}),
		"List": clienttest.Answer(
			&machine.FileInfo{Name: "/etc", RelativeName: ".", Mode: 0o20000000755, IsDir: true, Size: 4096, Modified: noon.GetSeconds()},
			&machine.FileInfo{Name: "/etc/hosts", RelativeName: "hosts", Mode: 0o644, Size: 1234, Modified: noon.GetSeconds(), Uid: 1, Gid: 2, Xattrs: []*machine.Xattr{{Name: "security.selinux", Data: []byte("etc_t\x00")}}},
			&machine.FileInfo{Name: "/etc/secret", Error: "permission denied"},
			&machine.FileInfo{Name: "/etc/resolv.conf", RelativeName: "resolv.conf", Link: "/system/resolv.conf", Mode: 0o1000000777, Modified: noon.GetSeconds()},
		),
		"DiskUsage": clienttest.Answer(
			&machine.DiskUsageInfo{Name: "/var/log", RelativeName: "log", Size: 123456},
			&machine.DiskUsageInfo{Name: "/var", RelativeName: ".", Size: 12345678},
		),
		"Read": clienttest.Answer(&common.Data{Bytes: []byte("127.0.0.1 ")}, &common.Data{Bytes: []byte("localhost\n")}),
		"Netstat": clienttest.Answer(&machine.NetstatResponse{Messages: []*machine.Netstat{{Connectrecord: []*machine.ConnectRecord{
			{
				L4Proto: "tcp", Localip: "172.20.0.2", Localport: 50000, Remoteip: "172.20.0.1", Remoteport: 41000, State: machine.ConnectRecord_ESTABLISHED,
				Rxqueue: 1, Txqueue: 2, Uid: 50, Inode: 777, Process: &machine.ConnectRecord_Process{Pid: 800, Name: "apid"},
				Tr: machine.ConnectRecord_KEEPALIVE, Timerwhen: 150, Retrnsmt: 1, Timeout: 2,
			},
			{L4Proto: "udp6", Localip: "::", Localport: 53, Remoteip: "::", State: machine.ConnectRecord_CLOSE, Netns: "cni-1"},
		}}}}),
		"NetworkDeviceStats": clienttest.Answer(&machine.NetworkDeviceStatsResponse{Messages: []*machine.NetworkDeviceStats{{Devices: []*machine.NetDev{{Name: "lo"}, {Name: "eth0"}}}}}),
	}
}

func etcdScripts() map[string]clienttest.Script {
	alarm := []*machine.EtcdMemberAlarm{{MemberId: 0xabc, Alarm: machine.EtcdMemberAlarm_NOSPACE}}
	downgrade := &machine.EtcdClusterDowngrade{ClusterVersion: "3.6.0"}

	return map[string]clienttest.Script{
		"EtcdMemberList": clienttest.Answer(&machine.EtcdMemberListResponse{Messages: []*machine.EtcdMembers{{Members: []*machine.EtcdMember{
			{Id: 0xabc, Hostname: "one", PeerUrls: []string{"https://172.20.0.2:2380"}, ClientUrls: []string{"https://172.20.0.2:2379", "https://[fd00::2]:2379"}},
			{Id: 0xdef0000000000001, Hostname: "two", IsLearner: true},
		}}}}),
		"EtcdRemoveMemberByID":  clienttest.Answer(&machine.EtcdRemoveMemberByIDResponse{Messages: []*machine.EtcdRemoveMemberByID{{}}}),
		"EtcdLeaveCluster":      clienttest.Answer(&machine.EtcdLeaveClusterResponse{Messages: []*machine.EtcdLeaveCluster{{}}}),
		"EtcdForfeitLeadership": clienttest.Answer(&machine.EtcdForfeitLeadershipResponse{Messages: []*machine.EtcdForfeitLeadership{{Member: "two"}}}),
		"EtcdDefragment":        {Err: status.Error(codes.FailedPrecondition, "a member does not serve: defragment when all are healthy")},
		"EtcdStatus": clienttest.Answer(&machine.EtcdStatusResponse{Messages: []*machine.EtcdStatus{{MemberStatus: &machine.EtcdMemberStatus{
			MemberId: 0xabc, Leader: 0xabc, DbSize: 20e6, DbSizeInUse: 5e6, RaftIndex: 100, RaftTerm: 2, RaftAppliedIndex: 99,
			ProtocolVersion: "3.6.16", StorageVersion: "3.6.0", Errors: []string{"memberID:2748 alarm:NOSPACE"},
		}}}}),
		"EtcdAlarmList":         clienttest.Answer(&machine.EtcdAlarmListResponse{Messages: []*machine.EtcdAlarm{{MemberAlarms: alarm}}}),
		"EtcdAlarmDisarm":       clienttest.Answer(&machine.EtcdAlarmDisarmResponse{Messages: []*machine.EtcdAlarmDisarm{{MemberAlarms: alarm}}}),
		"EtcdDowngradeValidate": clienttest.Answer(&machine.EtcdDowngradeValidateResponse{Messages: []*machine.EtcdDowngradeValidate{{ClusterDowngrade: downgrade}}}),
		"EtcdDowngradeEnable":   clienttest.Answer(&machine.EtcdDowngradeEnableResponse{Messages: []*machine.EtcdDowngradeEnable{{ClusterDowngrade: downgrade}}}),
		"EtcdDowngradeCancel":   clienttest.Answer(&machine.EtcdDowngradeCancelResponse{Messages: []*machine.EtcdDowngradeCancel{{ClusterDowngrade: downgrade}}}),
		"EtcdSnapshot":          clienttest.Answer(chunks(etcdSnapshot())...),
		"EtcdRecover":           clienttest.Answer(&machine.EtcdRecoverResponse{Messages: []*machine.EtcdRecover{{}}}),
	}
}

// etcdSnapshot returns a database with its checksum at the end.
func etcdSnapshot() []byte {
	database := []byte(strings.Repeat("a page of a database ", 512))
	sum := sha256.Sum256(database)

	return append(database, sum[:]...)
}

func chunks(content []byte) []proto.Message {
	var messages []proto.Message

	for len(content) > 0 {
		n := min(1000, len(content))
		messages = append(messages, &common.Data{Bytes: content[:n]})
		content = content[n:]
	}

	return messages
}

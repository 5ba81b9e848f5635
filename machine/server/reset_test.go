// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/config/configtest"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install/reset"
	"github.com/seed-59268b81/talos/resources/block"
	configres "github.com/seed-59268b81/talos/resources/config"
	etcdres "github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/platform"
)

// partitions returns the parameter of a request for partitions.
func partitions(labels ...string) (all []*machine.ResetPartitionSpec) {
	for _, label := range labels {
		all = append(all, &machine.ResetPartitionSpec{Label: label, Wipe: true})
	}

	return all
}

// recorded returns the record of the reset in META.
func recorded(t *testing.T, p *partition) (reset.Record, bool) {
	t.Helper()

	record, there, err := reset.Decode([]byte(p.values[meta.Reset]))
	if err != nil {
		t.Fatal(err)
	}

	return record, there
}

// request returns the request for the machine to go down, and forgets it.
func (b *bench) request(t *testing.T) *runtime.PowerRequestSpec {
	t.Helper()

	r, err := typed.Find[runtime.PowerRequestSpec](t.Context(), b.State, "", runtime.PowerRequestID)
	if err != nil {
		t.Fatal(err)
	}

	if r == nil {
		return nil
	}

	if err := b.State.Destroy(t.Context(), resource.PointerOf[runtime.PowerRequestSpec]("", runtime.PowerRequestID)); err != nil {
		t.Fatal(err)
	}

	return r.TypedSpec()
}

// TestReset: what is to be wiped is in META when the machine goes down.
func TestReset(t *testing.T) {
	b := newBench(t)
	b.Platform = platform.Platform{Mode: platform.Container}
	p := &partition{values: map[meta.Tag]string{}}
	b.Meta = p
	ctx := as(t.Context(), contract.RoleAdmin)

	for _, tt := range []struct {
		name    string
		request *machine.ResetRequest
		want    string
		power   runtime.PowerRequestSpec
	}{
		{"everything", &machine.ResetRequest{Graceful: true}, "EPHEMERAL, META, STATE",
			runtime.PowerRequestSpec{Action: runtime.PowerShutdown, Reset: true, Forget: true}},
		{"a volume, then reboot", &machine.ResetRequest{Graceful: true, Reboot: true, SystemPartitionsToWipe: partitions("EPHEMERAL")}, "EPHEMERAL",
			runtime.PowerRequestSpec{Action: runtime.PowerReboot, Reset: true}},
		{"by force", &machine.ResetRequest{Reboot: true, SystemPartitionsToWipe: append(partitions("STATE"), &machine.ResetPartitionSpec{Label: "META"})}, "STATE",
			runtime.PowerRequestSpec{Action: runtime.PowerReboot, Reset: true, Forget: true, Force: true}},
	} {
		answer, err := b.machine.Reset(ctx, tt.request)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)

			continue
		}

		tt.power.ActorID = answer.GetMessages()[0].GetActorId()
		tt.power.Reason = "reset over the API: wipe " + tt.want + " (os:admin)"

		record, there := recorded(t, p)
		if !there || record.String() != tt.want || record.Reboot != tt.request.GetReboot() || record.SystemDisk {
			t.Errorf("%s: got the record %+v", tt.name, record)
		}

		// A second one changes nothing.
		_, err = b.machine.Reset(ctx, &machine.ResetRequest{})
		if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "reset: the machine is already going down") {
			t.Errorf("a second one: got %v", err)
		}

		if again, _ := recorded(t, p); again.String() != tt.want {
			t.Errorf("a second one changes the record to %v", again)
		}

		if got := b.request(t); got == nil || *got != tt.power || got.ActorID == "" {
			t.Errorf("%s: got the request %+v, want %+v", tt.name, got, tt.power)
		}

		delete(p.values, meta.Reset)
	}
}

// TestResetRefused: bad input is one clear error, and nothing has changed.
func TestResetRefused(t *testing.T) {
	b := newBench(t)
	p := &partition{values: map[meta.Tag]string{}}
	b.Meta, b.Root = p, t.TempDir()
	ctx := as(t.Context(), contract.RoleAdmin)

	// A machine with the disks vda, which has META and STATE, and vdb.
	for path, content := range map[string]string{
		"vda/size": "20480\n", "vda/uevent": "MAJOR=254\nMINOR=0\nDEVNAME=vda\nDEVTYPE=disk\n", "vda/ro": "0\n",
		"vdb/size": "20480\n", "vdb/uevent": "MAJOR=254\nMINOR=16\nDEVNAME=vdb\nDEVTYPE=disk\n", "vdb/ro": "0\n", "vdb/serial": "b\n",
		"sr0/size": "20480\n", "sr0/uevent": "MAJOR=11\nMINOR=0\nDEVNAME=sr0\nDEVTYPE=disk\n", "sr0/ro": "1\n",
		"dm-0/size": "20480\n", "dm-0/uevent": "MAJOR=253\nMINOR=0\nDEVNAME=dm-0\nDEVTYPE=disk\n", "dm-0/slaves/vdc/x": "",
		"vdc/size": "20480\n", "vdc/uevent": "MAJOR=254\nMINOR=32\nDEVNAME=vdc\nDEVTYPE=disk\n", "vdc/ro": "0\n",
	} {
		path = filepath.Join(b.Root, "sys/class/block", path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.MkdirAll(filepath.Join(b.Root, "dev/disk/by-id"), 0o755); err != nil {
		t.Fatal(err)
	}

	for link, target := range map[string]string{"dev/vdb": "/dev/null", "dev/disk/by-id/virtio-a": "../../vda"} {
		if err := os.Symlink(target, filepath.Join(b.Root, link)); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.WriteFile(filepath.Join(b.Root, "dev/vda"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	noDisk := &machine.ResetRequest{}
	refuse := func(name string, request *machine.ResetRequest, code codes.Code, want string) {
		t.Helper()

		_, err := b.machine.Reset(ctx, request)
		if status.Code(err) != code || status.Convert(err).Message() != want {
			t.Errorf("%s: got %v, want %v: %s", name, err, code, want)
		}

		if _, there := recorded(t, p); there || b.request(t) != nil {
			t.Errorf("%s: it has an effect", name)
		}
	}

	refuse("no system disk", noDisk, codes.FailedPrecondition, "reset: no system disk was found, so there is nothing to wipe on it; see: talosctl get systemdisks")

	set(t, b, block.SystemDiskID, block.SystemDiskSpec{DiskID: "vda", DevPath: "/dev/vda"})

	for path, v := range map[string]block.DiscoveredVolumeSpec{
		"vda": {DevPath: "/dev/vda"}, "vda1": {DevPath: "/dev/vda1", Parent: "vda", PartitionLabel: "META"},
		"vda2": {DevPath: "/dev/vda2", Parent: "vda", PartitionLabel: "STATE"}, "vdb1": {DevPath: "/dev/vdb1", Parent: "vdb", PartitionLabel: "DATA"},
	} {
		set(t, b, path, v)
	}

	disks := func(paths ...string) *machine.ResetRequest {
		return &machine.ResetRequest{Mode: machine.ResetRequest_USER_DISKS, UserDisksToWipe: paths}
	}

	refuse("an unknown label", &machine.ResetRequest{SystemPartitionsToWipe: partitions("STATE", "DATA")}, codes.NotFound,
		`reset: there is no partition "DATA" to wipe: there are META, STATE`)
	refuse("an unknown mode", &machine.ResetRequest{Mode: 7}, codes.InvalidArgument, "reset: wipe mode 255 is unknown to this version")
	refuse("a disk that is not there", disks("/dev/vdb", "/dev/vdz"), codes.NotFound, "reset: there is no disk /dev/vdz; see: talosctl get disks")
	refuse("the system disk", disks("/dev/disk/by-id/virtio-a"), codes.InvalidArgument,
		"reset: /dev/disk/by-id/virtio-a is the system disk, which the modes all and system-disk wipe")
	refuse("a read-only disk", disks("sr0"), codes.FailedPrecondition, "reset: disk /dev/sr0: it is read-only")
	refuse("a disk in use", disks("vdc"), codes.FailedPrecondition, "reset: disk /dev/vdc: it is part of device dm-0; remove that device first")

	p.err = metactl.ErrNotLoaded
	refuse("no META", disks("vdb"), codes.FailedPrecondition, "reset: "+metactl.ErrNotLoaded.Error())

	p.err = nil
	if _, err := b.machine.Reset(ctx, disks("vdb")); err != nil {
		t.Errorf("a disk of users: %v", err)
	}

	record, there := recorded(t, p)
	if want := (reset.Disk{Path: "/dev/vdb", Serial: "b", Size: 20480 * 512}); !there || len(record.Disks) != 1 || record.Disks[0].Serial != want.Serial || record.Disks[0].Size != want.Size {
		t.Errorf("got the record %+v, want the disk %+v", record, want)
	}

	if got := b.request(t); got == nil || got.Forget {
		t.Errorf("got the request %+v", got)
	}

	// A machine with a configuration is reset by its administrators alone.
	delete(p.values, meta.Reset)
	configure(t, b, configtest.Worker(t))

	if _, err := b.machine.Reset(as(t.Context(), contract.RoleReader), disks("vdb")); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a reader: got %v, want PermissionDenied", err)
	}
}

// TestResetLeavesEtcd: a control plane leaves etcd before anything is written. The last member does not go, unless it is forced; nor does one
// that cannot leave.
func TestResetLeavesEtcd(t *testing.T) {
	b := newBench(t)
	b.Platform = platform.Platform{Mode: platform.Container}
	p := &partition{values: map[meta.Tag]string{}}
	b.Meta = p
	ctx := as(t.Context(), contract.RoleAdmin)

	configure(t, b, configtest.ControlPlane(t))

	ca := etcdPKI(t, b)
	first := runEtcd(t, ca)

	eventually(t, "etcd to answer", func() bool {
		_, err := b.machine.EtcdStatus(ctx, &emptypb.Empty{})

		return err == nil
	})

	members, err := b.etcdCluster(ctx)
	if err != nil || len(members.Members) != 1 {
		t.Fatalf("got the members %v, %v", members, err)
	}

	all := &machine.ResetRequest{Graceful: true}

	// While it boots, the data of a member may be there that no one has looked at.
	set(t, b, configres.MachineTypeID, configres.MachineTypeSpec{MachineType: configres.TypeControlPlane})

	_, err = b.machine.Reset(ctx, all)
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "reset: it is not known yet whether") {
		t.Errorf("a control plane that boots: got %v", err)
	}

	self := members.Members[0].ID
	membership := etcdres.MembershipStatusSpec{MemberID: fmt.Sprintf("%016x", self)}
	set(t, b, etcdres.MembershipID, membership)

	_, err = b.machine.Reset(ctx, all)
	if want := "reset node: it is the only member, and all data would be lost; if that is what you want: --graceful=false"; status.Code(err) != codes.FailedPrecondition || status.Convert(err).Message() != want {
		t.Errorf("the last member: got %v, want %s", err, want)
	}

	// Without its data it stays a member, and a member that only reboots may go.
	for _, r := range []*machine.ResetRequest{{}, {Graceful: true, Reboot: true, SystemPartitionsToWipe: partitions("META")}} {
		if _, err := b.machine.Reset(ctx, r); err != nil || b.request(t) == nil {
			t.Errorf("%v: %v", r, err)
		}

		delete(p.values, meta.Reset)
	}

	second := &member{"second", freeURL(t), freeURL(t)}
	if _, err := etcdClient(t, b).MemberAdd(ctx, []string{second.peer}); err != nil {
		t.Fatal(err)
	}

	second.start(t, ca, "--initial-cluster", "node="+first.peer+",second="+second.peer, "--initial-cluster-state", "existing")

	eventually(t, "both members to be healthy", func() bool {
		cluster, err := b.etcdCluster(ctx)

		return err == nil && len(cluster.Members) == 2 && cluster.Members[0].Healthy && cluster.Members[1].Healthy
	})

	for _, step := range []etcdres.MembershipStatusSpec{
		{MemberID: membership.MemberID, Intent: etcdres.IntentLeave, Step: etcdres.StepChecking, Error: "the lead cannot be handed over"},
		{Step: etcdres.StepLeft},
	} {
		set(t, b, etcdres.MembershipID, membership)

		leaves := make(chan error, 1)

		go func() { leaves <- b.leaves(t.Context(), step) }()

		_, err := b.machine.Reset(ctx, all)

		if err := <-leaves; err != nil {
			t.Fatal(err)
		}

		record, there := recorded(t, p)

		switch {
		case step.Error != "":
			if want := "reset: leave etcd: " + step.Error; status.Code(err) != codes.FailedPrecondition || status.Convert(err).Message() != want || there || b.request(t) != nil {
				t.Errorf("a member that cannot leave: got %v, record %v", err, record)
			}
		case err != nil || !there || b.request(t) == nil:
			t.Errorf("a member that has left: got %v, record %v", err, record)
		}
	}
}

// leaves does what the controller of the membership does: it answers a request to leave.
func (b *bench) leaves(ctx context.Context, answer etcdres.MembershipStatusSpec) error {
	if _, err := typed.WatchFor[etcdres.LeaveRequestSpec](ctx, b.State, "", etcdres.LeaveID, nil); err != nil {
		return err
	}

	return typed.Set(ctx, b.State, "", etcdres.MembershipID, answer)
}

// TestResetUnwritten: when META cannot be written, the machine does not go down.
func TestResetUnwritten(t *testing.T) {
	b := newBench(t)
	b.Platform = platform.Platform{Mode: platform.Container}
	b.Meta = readOnly{}

	_, err := b.machine.Reset(as(t.Context(), contract.RoleAdmin), &machine.ResetRequest{})
	if want := "reset: input/output error"; status.Code(err) != codes.Internal || status.Convert(err).Message() != want {
		t.Errorf("got %v, want %s", err, want)
	}

	if b.request(t) != nil {
		t.Error("the machine goes down")
	}
}

// readOnly is a META that cannot be written.
type readOnly struct{}

func (readOnly) Get(meta.Tag) ([]byte, error) { return nil, nil }
func (readOnly) Set(meta.Tag, []byte) error   { return errors.New("input/output error") }
func (readOnly) Delete(meta.Tag) error        { return nil }

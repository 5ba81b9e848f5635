// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/pki"
	etcdres "github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// etcdPKI writes the machine's certificates for etcd to the state, and returns the authority.
func etcdPKI(t *testing.T, b *bench) *pki.CA {
	t.Helper()

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.ECDSAP256, Organization: []string{"etcd"}, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	admin, err := ca.Sign(pki.LeafOptions{CommonName: "admin", Client: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	set(t, b, secrets.EtcdRootID, secrets.EtcdRootSpec{EtcdCA: secrets.CertAndKey{Crt: ca.PEM.Crt, Key: ca.PEM.Key}})
	set(t, b, secrets.EtcdID, secrets.EtcdCertsSpec{EtcdAdmin: secrets.CertAndKey{Crt: admin.Crt, Key: admin.Key}})

	return ca
}

func freeURL(t *testing.T) string {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	return "https://" + l.Addr().String()
}

// member is one etcd, with the machine's certificates.
type member struct{ name, client, peer string }

// start runs it. The flags say which cluster it starts or joins.
func (m *member) start(t *testing.T, ca *pki.CA, flags ...string) {
	t.Helper()

	dir := t.TempDir()

	pair, err := ca.Sign(pki.LeafOptions{
		CommonName: "server", Server: true, Client: true, TTL: time.Hour, IPs: []netip.Addr{netip.MustParseAddr("127.0.0.1")},
	})
	if err != nil {
		t.Fatal(err)
	}

	files := map[string][]byte{"ca.crt": ca.PEM.Crt, "server.crt": pair.Crt, "server.key": pair.Key}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	in := func(name string) string { return filepath.Join(dir, name) }

	cmd := exec.Command(hosttest.Built(t, "etcd"), append([]string{
		"--name", m.name, "--data-dir", in("data"),
		"--listen-client-urls", m.client, "--advertise-client-urls", m.client, "--listen-peer-urls", m.peer,
		"--initial-advertise-peer-urls", m.peer, "--unsafe-no-fsync", "--log-level", "error",
		"--cert-file", in("server.crt"), "--key-file", in("server.key"), "--trusted-ca-file", in("ca.crt"), "--client-cert-auth",
		"--peer-cert-file", in("server.crt"), "--peer-key-file", in("server.key"), "--peer-trusted-ca-file", in("ca.crt"),
	}, flags...)...)
	cmd.Stderr = t.Output()

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}

// runEtcd runs this machine's member, the first of a cluster.
func runEtcd(t *testing.T, ca *pki.CA) *member {
	t.Helper()

	standing := etcdEndpoint
	t.Cleanup(func() { etcdEndpoint = standing })

	m := &member{"node", freeURL(t), freeURL(t)}
	etcdEndpoint = m.client

	m.start(t, ca, "--initial-cluster", "node="+m.peer)

	return m
}

func TestEtcd(t *testing.T) {
	b := newBench(t)
	ctx := as(t.Context(), contract.RoleAdmin)

	configure(t, b, configtest.ControlPlane(t))
	runEtcd(t, etcdPKI(t, b))

	eventually(t, "etcd to answer", func() bool {
		_, err := b.machine.EtcdStatus(ctx, &emptypb.Empty{})

		return err == nil
	})

	st, err := b.machine.EtcdStatus(ctx, &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}

	self := st.GetMessages()[0].GetMemberStatus()
	if self.GetMemberId() == 0 || self.GetLeader() != self.GetMemberId() || self.GetDbSize() == 0 || self.GetProtocolVersion() == "" || self.GetIsLearner() {
		t.Errorf("status: got %v", self)
	}

	for _, local := range []bool{false, true} {
		list, err := b.machine.EtcdMemberList(ctx, &machine.EtcdMemberListRequest{QueryLocal: local})
		if err != nil {
			t.Fatal(err)
		}

		members := list.GetMessages()[0].GetMembers()
		if len(members) != 1 || members[0].GetId() != self.GetMemberId() || members[0].GetHostname() != "node" || len(members[0].GetPeerUrls()) != 1 {
			t.Errorf("members, local %t: got %v", local, members)
		}
	}

	set(t, b, etcdres.MembershipID, etcdres.MembershipStatusSpec{MemberID: fmt.Sprintf("%016x", self.GetMemberId())})

	t.Run("alarms", func(t *testing.T) { testEtcdAlarms(t, b, ctx, self.GetMemberId()) })
	t.Run("snapshot", func(t *testing.T) { testEtcdSnapshot(t, b, ctx) })

	if _, err := b.machine.EtcdDefragment(ctx, &emptypb.Empty{}); err != nil {
		t.Errorf("defragment: %v", err)
	}

	for _, tt := range []struct {
		name string
		call func() error
		code codes.Code
		want string
	}{
		{"remove the only member", func() error {
			_, err := b.machine.EtcdRemoveMemberByID(ctx, &machine.EtcdRemoveMemberByIDRequest{MemberId: self.GetMemberId()})

			return err
		}, codes.FailedPrecondition, "the only member"},
		{"remove an unknown member", func() error {
			_, err := b.machine.EtcdRemoveMemberByID(ctx, &machine.EtcdRemoveMemberByIDRequest{MemberId: 7})

			return err
		}, codes.NotFound, "remove etcd member 0000000000000007: etcd has no such member"},
		{"leave", func() error {
			_, err := b.machine.EtcdLeaveCluster(ctx, &machine.EtcdLeaveClusterRequest{})

			return err
		}, codes.FailedPrecondition, "the only member"},
		{"forfeit", func() error {
			_, err := b.machine.EtcdForfeitLeadership(ctx, &machine.EtcdForfeitLeadershipRequest{})

			return err
		}, codes.FailedPrecondition, "no other member"},
		{"downgrade to an invalid version", func() error {
			_, err := b.machine.EtcdDowngradeValidate(ctx, &machine.EtcdDowngradeValidateRequest{Version: "old"})

			return err
		}, codes.InvalidArgument, "not a version"},
		{"downgrade too far", func() error {
			_, err := b.machine.EtcdDowngradeEnable(ctx, &machine.EtcdDowngradeEnableRequest{Version: "3.1"})

			return err
		}, codes.InvalidArgument, "downgrade etcd: "},
	} {
		if err := tt.call(); status.Code(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %v with %q", tt.name, err, tt.code, tt.want)
		}
	}

	// etcd answers with its version, whether there was a downgrade or not.
	canceled, err := b.machine.EtcdDowngradeCancel(ctx, &emptypb.Empty{})
	if v := canceled.GetMessages()[0].GetClusterDowngrade().GetClusterVersion(); err != nil || !strings.HasPrefix(v, "3.") {
		t.Errorf("cancel a downgrade: got %q, %v", v, err)
	}

	// A learner may leave at any time.
	_, err = etcdClient(t, b).MemberAddAsLearner(ctx, []string{"https://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}

	list, err := b.machine.EtcdMemberList(ctx, &machine.EtcdMemberListRequest{})
	if err != nil {
		t.Fatal(err)
	}

	for _, m := range list.GetMessages()[0].GetMembers() {
		if m.GetIsLearner() {
			if _, err := b.machine.EtcdRemoveMemberByID(ctx, &machine.EtcdRemoveMemberByIDRequest{MemberId: m.GetId()}); err != nil {
				t.Errorf("remove a learner: %v", err)
			}
		}
	}

	if list, err = b.machine.EtcdMemberList(ctx, &machine.EtcdMemberListRequest{}); err != nil || len(list.GetMessages()[0].GetMembers()) != 1 {
		t.Errorf("after the learner was removed: got %v, %v", list, err)
	}
}

func etcdClient(t *testing.T, b *bench) *clientv3.Client {
	t.Helper()

	root, certs, err := b.etcdSecrets(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}

	c, err := etcdclient.New(t.Context(), root, certs, etcdEndpoint)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { c.Close() })

	return c
}

func testEtcdAlarms(t *testing.T, b *bench, ctx context.Context, self uint64) {
	raise := &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: self, Alarm: etcdserverpb.AlarmType_NOSPACE}
	if _, err := etcdserverpb.NewMaintenanceClient(etcdClient(t, b).ActiveConnection()).Alarm(ctx, raise); err != nil {
		t.Fatal(err)
	}

	list, err := b.machine.EtcdAlarmList(ctx, &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}

	if alarms := list.GetMessages()[0].GetMemberAlarms(); len(alarms) != 1 || alarms[0].GetMemberId() != self || alarms[0].GetAlarm() != machine.EtcdMemberAlarm_NOSPACE {
		t.Errorf("alarms: got %v", alarms)
	}

	disarmed, err := b.machine.EtcdAlarmDisarm(ctx, &emptypb.Empty{})
	if err != nil || len(disarmed.GetMessages()[0].GetMemberAlarms()) != 1 {
		t.Errorf("disarm: got %v, %v", disarmed, err)
	}

	if list, err = b.machine.EtcdAlarmList(ctx, &emptypb.Empty{}); err != nil || len(list.GetMessages()[0].GetMemberAlarms()) != 0 {
		t.Errorf("alarms after disarming: got %v, %v", list, err)
	}
}

// testEtcdSnapshot checks the checksum at the end of a snapshot, which covers everything before it.
func testEtcdSnapshot(t *testing.T, b *bench, ctx context.Context) {
	if _, err := etcdClient(t, b).Put(ctx, "key", strings.Repeat("value", 100_000)); err != nil {
		t.Fatal(err)
	}

	stream, err := b.machine.EtcdSnapshot(ctx, &machine.EtcdSnapshotRequest{})
	if err != nil {
		t.Fatal(err)
	}

	var snapshot bytes.Buffer

	for {
		data, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			t.Fatal(err)
		}

		snapshot.Write(data.GetBytes())
	}

	raw := snapshot.Bytes()
	if len(raw) < 500_000 {
		t.Fatalf("got %d bytes", len(raw))
	}

	content, sum := raw[:len(raw)-sha256.Size], raw[len(raw)-sha256.Size:]
	if got := sha256.Sum256(content); !bytes.Equal(got[:], sum) {
		t.Error("the snapshot is not complete: its checksum differs")
	}
}

func TestEtcdRefusals(t *testing.T) {
	b := newBench(t)
	ctx := as(t.Context(), contract.RoleAdmin)

	refused := func(code codes.Code, want string) {
		t.Helper()

		if _, err := b.machine.EtcdStatus(ctx, &emptypb.Empty{}); status.Code(err) != code || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %v with %q", err, code, want)
		}
	}

	refused(codes.FailedPrecondition, "no configuration yet")
	configure(t, b, configtest.Worker(t))
	refused(codes.FailedPrecondition, "control plane nodes only")
	configure(t, b, configtest.ControlPlane(t))
	refused(codes.Unavailable, "certificates for etcd are not issued yet")
	etcdPKI(t, b)

	standing := etcdEndpoint
	etcdEndpoint = freeURL(t)

	t.Cleanup(func() { etcdEndpoint = standing })

	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()

	start := time.Now()
	if _, err := b.machine.EtcdStatus(short, &emptypb.Empty{}); status.Code(err) != codes.DeadlineExceeded && status.Code(err) != codes.Unavailable {
		t.Errorf("without etcd: got %v after %s", err, time.Since(start))
	}

	stream, err := b.machine.EtcdRecover(ctx)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := stream.CloseAndRecv(); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("recover: got %v, want FailedPrecondition", err)
	}
}

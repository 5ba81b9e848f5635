// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
)

// EtcdMembers lists the members of etcd: those that the cluster agrees on or, if local, those that the node's member knows.
func (c *Client) EtcdMembers(ctx context.Context, local bool) ([]*machine.EtcdMember, error) {
	return field(ctx, "list etcd members", c.Machine.EtcdMemberList, &machine.EtcdMemberListRequest{QueryLocal: local}, (*machine.EtcdMembers).GetMembers)
}

// EtcdRemoveMember removes a member from etcd, by its id.
func (c *Client) EtcdRemoveMember(ctx context.Context, id uint64) error {
	return run(ctx, "remove etcd member "+FormatEtcdID(id), c.Machine.EtcdRemoveMemberByID, &machine.EtcdRemoveMemberByIDRequest{MemberId: id})
}

// FormatEtcdID formats the id of a member as etcd does: in hex, with leading zeroes.
func FormatEtcdID(id uint64) string { return fmt.Sprintf("%016x", id) }

// EtcdLeave removes the node itself from etcd.
func (c *Client) EtcdLeave(ctx context.Context) error {
	return run(ctx, "leave etcd", c.Machine.EtcdLeaveCluster, &machine.EtcdLeaveClusterRequest{})
}

// EtcdForfeitLeadership moves the leadership to another member and returns its name, "" if the node was not the leader.
func (c *Client) EtcdForfeitLeadership(ctx context.Context) (string, error) {
	return field(ctx, "forfeit etcd leadership", c.Machine.EtcdForfeitLeadership, &machine.EtcdForfeitLeadershipRequest{}, (*machine.EtcdForfeitLeadership).GetMember)
}

// EtcdStatus returns the status of the node's member.
func (c *Client) EtcdStatus(ctx context.Context) (*machine.EtcdMemberStatus, error) {
	return field(ctx, "etcd status", c.Machine.EtcdStatus, &emptypb.Empty{}, (*machine.EtcdStatus).GetMemberStatus)
}

// EtcdAlarms lists the alarms that etcd has raised.
func (c *Client) EtcdAlarms(ctx context.Context) ([]*machine.EtcdMemberAlarm, error) {
	return field(ctx, "list etcd alarms", c.Machine.EtcdAlarmList, &emptypb.Empty{}, (*machine.EtcdAlarm).GetMemberAlarms)
}

// EtcdDisarmAlarms clears the alarms of etcd and returns those it cleared.
func (c *Client) EtcdDisarmAlarms(ctx context.Context) ([]*machine.EtcdMemberAlarm, error) {
	return field(ctx, "disarm etcd alarms", c.Machine.EtcdAlarmDisarm, &emptypb.Empty{}, (*machine.EtcdAlarmDisarm).GetMemberAlarms)
}

// EtcdDefragment frees unused space in the database of the node's member. The member does not serve while it runs.
func (c *Client) EtcdDefragment(ctx context.Context) error {
	return run(ctx, "defragment etcd", c.Machine.EtcdDefragment, &emptypb.Empty{})
}

// EtcdDowngradeValidate checks whether etcd's storage can be downgraded to a version, such as 3.5, and returns the cluster's.
func (c *Client) EtcdDowngradeValidate(ctx context.Context, version string) (clusterVersion string, err error) {
	m, err := call(ctx, "validate etcd downgrade", c.Machine.EtcdDowngradeValidate, &machine.EtcdDowngradeValidateRequest{Version: version})

	return m.GetClusterDowngrade().GetClusterVersion(), err
}

// EtcdDowngradeEnable starts a downgrade of etcd's storage to a version, and returns the cluster's.
func (c *Client) EtcdDowngradeEnable(ctx context.Context, version string) (clusterVersion string, err error) {
	m, err := call(ctx, "enable etcd downgrade", c.Machine.EtcdDowngradeEnable, &machine.EtcdDowngradeEnableRequest{Version: version})

	return m.GetClusterDowngrade().GetClusterVersion(), err
}

// EtcdDowngradeCancel cancels a downgrade and returns the cluster's version.
func (c *Client) EtcdDowngradeCancel(ctx context.Context) (clusterVersion string, err error) {
	m, err := call(ctx, "cancel etcd downgrade", c.Machine.EtcdDowngradeCancel, &emptypb.Empty{})

	return m.GetClusterDowngrade().GetClusterVersion(), err
}

// EtcdSnapshot streams the database of etcd.
func (c *Client) EtcdSnapshot(ctx context.Context) io.ReadCloser {
	return newDataReader(ctx, "etcd snapshot", c.Machine.EtcdSnapshot, &machine.EtcdSnapshotRequest{})
}

// chunkSize is the size of a chunk, in bytes.
const chunkSize = 64 << 10

// EtcdRecover sends a snapshot to the node, for a Bootstrap with RecoverEtcd.
func (c *Client) EtcdRecover(ctx context.Context, snapshot io.Reader) error {
	const call = "send etcd snapshot"

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	stream, err := c.Machine.EtcdRecover(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}

	err = sendChunks(snapshot, func(chunk []byte) error { return stream.Send(&common.Data{Bytes: chunk}) })
	if err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}

	r, err := stream.CloseAndRecv()
	_, err = unwrap(call, r, err)

	return err
}

// sendChunks sends what it reads in chunks. It returns no error if the receiver ended the stream: its answer has the reason.
func sendChunks(r io.Reader, send func([]byte) error) error {
	for buffer := make([]byte, chunkSize); ; {
		n, err := io.ReadFull(r, buffer)

		if n > 0 {
			// gRPC has encoded the message when Send returns, so the buffer can be used again.
			switch err := send(buffer[:n]); {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			}
		}

		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return fmt.Errorf("read: %w", err)
		}
	}
}

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

// EtcdMembers lists the members of etcd, as the cluster has them, or as the local member does without asking the others.
func (c *Client) EtcdMembers(ctx context.Context, local bool) ([]*machine.EtcdMember, error) {
	r, err := c.Machine.EtcdMemberList(ctx, &machine.EtcdMemberListRequest{QueryLocal: local})
	m, err := unwrap("list etcd members", r, err)

	return m.GetMembers(), err
}

// EtcdRemoveMember removes a member from etcd, by its id.
func (c *Client) EtcdRemoveMember(ctx context.Context, id uint64) error {
	r, err := c.Machine.EtcdRemoveMemberByID(ctx, &machine.EtcdRemoveMemberByIDRequest{MemberId: id})
	_, err = unwrap("remove etcd member "+FormatEtcdID(id), r, err)

	return err
}

// FormatEtcdID writes the id of a member as etcd does: in hex, with leading zeroes.
func FormatEtcdID(id uint64) string { return fmt.Sprintf("%016x", id) }

// EtcdLeave takes the node itself out of etcd.
func (c *Client) EtcdLeave(ctx context.Context) error {
	r, err := c.Machine.EtcdLeaveCluster(ctx, &machine.EtcdLeaveClusterRequest{})
	_, err = unwrap("leave etcd", r, err)

	return err
}

// EtcdForfeitLeadership has another member lead and returns its name, which is empty if the node did not lead.
func (c *Client) EtcdForfeitLeadership(ctx context.Context) (string, error) {
	r, err := c.Machine.EtcdForfeitLeadership(ctx, &machine.EtcdForfeitLeadershipRequest{})
	m, err := unwrap("forfeit etcd leadership", r, err)

	return m.GetMember(), err
}

// EtcdStatus returns the status of the node's member.
func (c *Client) EtcdStatus(ctx context.Context) (*machine.EtcdMemberStatus, error) {
	r, err := c.Machine.EtcdStatus(ctx, &emptypb.Empty{})
	m, err := unwrap("etcd status", r, err)

	return m.GetMemberStatus(), err
}

// EtcdAlarms lists the alarms that etcd has raised.
func (c *Client) EtcdAlarms(ctx context.Context) ([]*machine.EtcdMemberAlarm, error) {
	r, err := c.Machine.EtcdAlarmList(ctx, &emptypb.Empty{})
	m, err := unwrap("list etcd alarms", r, err)

	return m.GetMemberAlarms(), err
}

// EtcdDisarmAlarms clears the alarms of etcd and returns those it cleared.
func (c *Client) EtcdDisarmAlarms(ctx context.Context) ([]*machine.EtcdMemberAlarm, error) {
	r, err := c.Machine.EtcdAlarmDisarm(ctx, &emptypb.Empty{})
	m, err := unwrap("disarm etcd alarms", r, err)

	return m.GetMemberAlarms(), err
}

// EtcdDefragment gives the free space inside the database of the node's member back. The member does not serve meanwhile.
func (c *Client) EtcdDefragment(ctx context.Context) error {
	r, err := c.Machine.EtcdDefragment(ctx, &emptypb.Empty{})
	_, err = unwrap("defragment etcd", r, err)

	return err
}

// EtcdDowngradeValidate checks whether etcd's storage can go back to a version, such as 3.5, and returns the cluster's.
func (c *Client) EtcdDowngradeValidate(ctx context.Context, version string) (clusterVersion string, err error) {
	r, err := c.Machine.EtcdDowngradeValidate(ctx, &machine.EtcdDowngradeValidateRequest{Version: version})
	m, err := unwrap("validate etcd downgrade", r, err)

	return m.GetClusterDowngrade().GetClusterVersion(), err
}

// EtcdDowngradeEnable has etcd's storage go back to a version, and returns the cluster's.
func (c *Client) EtcdDowngradeEnable(ctx context.Context, version string) (clusterVersion string, err error) {
	r, err := c.Machine.EtcdDowngradeEnable(ctx, &machine.EtcdDowngradeEnableRequest{Version: version})
	m, err := unwrap("enable etcd downgrade", r, err)

	return m.GetClusterDowngrade().GetClusterVersion(), err
}

// EtcdDowngradeCancel ends a downgrade and returns the cluster's version.
func (c *Client) EtcdDowngradeCancel(ctx context.Context) (clusterVersion string, err error) {
	r, err := c.Machine.EtcdDowngradeCancel(ctx, &emptypb.Empty{})
	m, err := unwrap("cancel etcd downgrade", r, err)

	return m.GetClusterDowngrade().GetClusterVersion(), err
}

// EtcdSnapshot streams the database of etcd.
func (c *Client) EtcdSnapshot(ctx context.Context) io.ReadCloser {
	return newDataReader(ctx, "etcd snapshot", func(ctx context.Context) (dataStream, error) {
		return c.Machine.EtcdSnapshot(ctx, &machine.EtcdSnapshotRequest{})
	})
}

// chunkSize is how much is sent in one message.
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

// sendChunks sends what it reads in pieces. A receiver that has stopped listening is no error: its answer says why.
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

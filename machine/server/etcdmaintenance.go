// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
)

// streamChunk is the size of the messages in which files and databases are sent. For more than 32 KiB, gRPC allocates a
// mebibyte for each message in transit.
const streamChunk = 31 << 10

// EtcdStatus implements machine.MachineService.
func (s *Server) EtcdStatus(ctx context.Context, _ *emptypb.Empty) (*machine.EtcdStatusResponse, error) {
	st, err := etcdCall(ctx, s, "status of etcd", etcdTimeout, func(ctx context.Context, c *clientv3.Client) (*clientv3.StatusResponse, error) {
		return c.Status(ctx, etcdEndpoint)
	})
	if err != nil {
		return nil, err
	}

	return &machine.EtcdStatusResponse{Messages: []*machine.EtcdStatus{{MemberStatus: &machine.EtcdMemberStatus{
		MemberId: st.Header.GetMemberId(), ProtocolVersion: st.Version, StorageVersion: st.StorageVersion,
		DbSize: st.DbSize, DbSizeInUse: st.DbSizeInUse, Leader: st.Leader, IsLearner: st.IsLearner,
		RaftIndex: st.RaftIndex, RaftTerm: st.RaftTerm, RaftAppliedIndex: st.RaftAppliedIndex, Errors: st.Errors,
	}}}}, nil
}

// EtcdAlarmList implements machine.MachineService.
func (s *Server) EtcdAlarmList(ctx context.Context, _ *emptypb.Empty) (*machine.EtcdAlarmListResponse, error) {
	resp, err := etcdCall(ctx, s, "list the alarms of etcd", etcdTimeout, func(ctx context.Context, c *clientv3.Client) (*clientv3.AlarmResponse, error) {
		return c.AlarmList(ctx)
	})
	if err != nil {
		return nil, err
	}

	return &machine.EtcdAlarmListResponse{Messages: []*machine.EtcdAlarm{{MemberAlarms: memberAlarms(resp.Alarms)}}}, nil
}

// EtcdAlarmDisarm implements machine.MachineService. It disarms all alarms of all members.
func (s *Server) EtcdAlarmDisarm(ctx context.Context, _ *emptypb.Empty) (*machine.EtcdAlarmDisarmResponse, error) {
	resp, err := etcdCall(ctx, s, "disarm the alarms of etcd", etcdTimeout, func(ctx context.Context, c *clientv3.Client) (*clientv3.AlarmResponse, error) {
		return c.AlarmDisarm(ctx, &clientv3.AlarmMember{})
	})
	if err != nil {
		return nil, err
	}

	return &machine.EtcdAlarmDisarmResponse{Messages: []*machine.EtcdAlarmDisarm{{MemberAlarms: memberAlarms(resp.Alarms)}}}, nil
}

// memberAlarms converts alarms; the numbers are etcd's own.
func memberAlarms(alarms []*etcdserverpb.AlarmMember) []*machine.EtcdMemberAlarm {
	var out []*machine.EtcdMemberAlarm
	for _, a := range alarms {
		out = append(out, &machine.EtcdMemberAlarm{MemberId: a.MemberID, Alarm: machine.EtcdMemberAlarm_AlarmType(a.Alarm)})
	}

	return out
}

// EtcdDefragment implements machine.MachineService. The member does not serve while it runs.
func (s *Server) EtcdDefragment(ctx context.Context, _ *emptypb.Empty) (*machine.EtcdDefragmentResponse, error) {
	_, err := etcdCall(ctx, s, "defragment etcd", etcdMaintenanceTimeout, func(ctx context.Context, c *clientv3.Client) (*clientv3.DefragmentResponse, error) {
		return c.Defragment(ctx, etcdEndpoint)
	})
	if err != nil {
		return nil, err
	}

	return &machine.EtcdDefragmentResponse{Messages: []*machine.EtcdDefragment{{}}}, nil
}

// EtcdSnapshot implements machine.MachineService. It sends the database with etcd's checksum at the end.
func (s *Server) EtcdSnapshot(_ *machine.EtcdSnapshotRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	const what = "snapshot of etcd"

	var late error

	_, err := etcdCall(stream.Context(), s, what, etcdMaintenanceTimeout, func(ctx context.Context, c *clientv3.Client) (any, error) {
		snapshot, err := c.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		defer snapshot.Close()

		var p pace

		err = sendReader(snapshot, p.of(func(b []byte) error { return stream.Send(&common.Data{Bytes: b}) }))
		if ctx.Err() != nil && stream.Context().Err() == nil {
			late = p.late(what, etcdMaintenanceTimeout)
		}

		return nil, err
	})

	return cmp.Or(late, err)
}

// pace measures a transfer.
type pace struct {
	sent int
	// waited is how long the sender has waited for the receiver.
	waited time.Duration
}

// of returns send, measured.
func (p *pace) of(send func([]byte) error) func([]byte) error {
	return func(b []byte) error {
		began := time.Now()
		err := send(b)
		p.waited += time.Since(began)

		if err == nil {
			p.sent += len(b)
		}

		return err
	}
}

// late returns the error of a transfer that has reached its limit, or nil if nothing was sent.
func (p *pace) late(what string, limit time.Duration) error {
	switch {
	case p.sent == 0:
		return nil
	case p.waited < limit/2:
		return status.Errorf(codes.DeadlineExceeded, "%s: etcd has sent %d bytes within %s; see: talosctl logs etcd", what, p.sent, limit)
	default:
		return status.Errorf(codes.DeadlineExceeded,
			"%s: of %s it waited %s for the receiver, which has taken %d bytes; meanwhile etcd frees no space: receive it nearer to the node, on a faster disk",
			what, limit, p.waited.Round(time.Second), p.sent)
	}
}

// sendReader sends what it reads in chunks. It holds one chunk in memory, so a slow receiver slows the reader.
func sendReader(r io.Reader, send func([]byte) error) error {
	for buffer := make([]byte, streamChunk); ; {
		n, err := io.ReadFull(r, buffer)

		if n > 0 {
			if err := send(buffer[:n]); err != nil {
				return err
			}
		}

		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

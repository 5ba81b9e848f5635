// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/beevik/ntp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	timeapi "github.com/seed-59268b81/talos/api/time"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
)

// ntpTimeout is the timeout of one query.
const ntpTimeout = 5 * time.Second

type timeService struct {
	timeapi.UnimplementedTimeServiceServer

	server *Server
}

// Time implements time.TimeService. It queries the machine's own time servers in order until one answers.
func (s *timeService) Time(ctx context.Context, _ *emptypb.Empty) (*timeapi.TimeResponse, error) {
	servers, err := s.servers(ctx)
	if err != nil {
		return nil, err
	}

	if len(servers) == 0 {
		return nil, status.Error(codes.FailedPrecondition, "time: the machine has no time servers; name one in its configuration, or in the call")
	}

	return firstTime(ctx, servers...)
}

// TimeCheck implements time.TimeService. Readers may name only the machine's own servers: in maintenance mode everyone is a
// reader, and must not be able to send packets to any address.
func (s *timeService) TimeCheck(ctx context.Context, req *timeapi.TimeRequest) (*timeapi.TimeResponse, error) {
	if req.GetServer() == "" {
		return nil, status.Error(codes.InvalidArgument, "time: name the server to compare with")
	}

	if roles := rolesFrom(ctx); !slices.ContainsFunc(operators, func(r string) bool { return slices.Contains(roles, r) }) {
		own, err := s.servers(ctx)
		if err != nil {
			return nil, err
		}

		if !slices.Contains(own, req.GetServer()) {
			return nil, status.Errorf(codes.PermissionDenied, "time: %.200q is not a time server of this machine (talosctl get timeservers): another server requires one of the roles %s",
				req.GetServer(), strings.Join(operators, ", "))
		}
	}

	return firstTime(ctx, req.GetServer())
}

// servers returns the machine's own time servers.
func (s *timeService) servers(ctx context.Context) ([]string, error) {
	var own network.TimeServerStatusSpec

	if found := typed.Read(ctx, s.server.State, network.TimeServerID, &own); found.Err != nil {
		return nil, failed("time", found.Err)
	}

	return own.NTPServers, nil
}

// firstTime queries the servers in order until one answers.
func firstTime(ctx context.Context, servers ...string) (*timeapi.TimeResponse, error) {
	var errs []error

	for _, server := range servers {
		reply, err := queryTime(ctx, server)
		if err == nil {
			return reply, nil
		}

		if ctx.Err() != nil {
			return nil, status.FromContextError(ctx.Err()).Err()
		}

		errs = append(errs, err)
	}

	return nil, status.Errorf(codes.Unavailable, "time: %v", errors.Join(errs...))
}

func queryTime(ctx context.Context, server string) (*timeapi.TimeResponse, error) {
	if strings.HasPrefix(server, "/") { // of TimeSyncConfig
		return nil, fmt.Errorf("query %s: it is a clock of this machine, not a time server: name a server in the call", server)
	}

	ctx, cancel := context.WithTimeout(ctx, ntpTimeout)
	defer cancel()

	resp, err := ntp.QueryWithOptions(server, ntp.QueryOptions{
		Timeout: ntpTimeout,
		Dialer: func(_, remote string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "udp", remote)
			if err == nil {
				// The library takes no context, but notices a closed connection.
				context.AfterFunc(ctx, func() { conn.Close() })
			}

			return conn, err
		},
	})
	if err == nil {
		err = resp.Validate()
	}

	if err != nil {
		return nil, fmt.Errorf("query %s: %w", server, err)
	}

	local := time.Now()

	return &timeapi.TimeResponse{Messages: []*timeapi.Time{{
		Server: server, Localtime: timestamppb.New(local), Remotetime: timestamppb.New(local.Add(resp.ClockOffset)),
	}}}, nil
}

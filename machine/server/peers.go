// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/service/supervisor"
)

// Peers are the services that may use a unix socket. Whoever else connects, root in a pod that has the host's folders
// among them, has every call denied.
//
// A socket's mode is not enough for that: it knows users, and there are many processes of root.
type Peers struct {
	// Service names the service that a process is; empty if it is none.
	Service func(ctx context.Context, pid int) string
	// Roles that a service may make calls in the name of. What is not here is denied.
	Roles map[string][]string
}

// Process is who is at the other end of a connection, as the kernel knows it (SO_PEERCRED).
type Process struct {
	PID      int
	UID, GID uint32
	// Service that it is, and the roles that it may have at most.
	Service string
	Roles   []string
	known   bool
}

// AuthType implements credentials.AuthInfo.
func (Process) AuthType() string { return "process" }

// Options are the server options that find out who connects, and that refuse calls of processes that are none of the
// services and those that a check is against.
func (p Peers) Options(checks ...Check) []grpc.ServerOption {
	checks = append([]Check{func(ctx context.Context, _ string) error { return admit(ctx) }}, checks...)

	return []grpc.ServerOption{grpc.Creds(peerCredentials{p}), grpc.InTapHandle(ahead(checks))}
}

// Supervised finds the service of a process among those that run. A process may be faster than the news of its start,
// so an unknown one is given a while.
func Supervised(sup *supervisor.Supervisor) func(ctx context.Context, pid int) string {
	return func(ctx context.Context, pid int) string {
		for {
			changed := sup.Changes()

			for _, s := range sup.List() {
				if s.PID == pid && pid > 0 {
					return s.ID
				}
			}

			select {
			case <-changed:
			case <-ctx.Done():
				return ""
			}
		}
	}
}

// patience with a process that is not known yet.
const patience = 5 * time.Second

func admit(ctx context.Context) error {
	process, ok := processFrom(ctx)
	if !ok {
		return status.Error(codes.PermissionDenied, "the connection does not tell which process it is from")
	}

	if !process.known {
		return status.Errorf(codes.PermissionDenied,
			"process %d of user %d is not a service that may use this socket: call the API on port %d with a client certificate", process.PID, process.UID, contract.APIPort)
	}

	return nil
}

func processFrom(ctx context.Context) (Process, bool) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return Process{}, false
	}

	process, ok := p.AuthInfo.(Process)

	return process, ok
}

// peerCredentials implement credentials.TransportCredentials: nothing goes over the wire.
type peerCredentials struct{ Peers }

// ServerHandshake asks the kernel.
func (c peerCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return nil, nil, fmt.Errorf("a connection of type %T tells nothing about its peer", conn)
	}

	process, lives, err := processOf(socket)
	if err != nil {
		return nil, nil, err
	}

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()

	process.Service = c.Service(ctx, process.PID)

	// Its id may be another's by now.
	if lives() {
		process.Roles, process.known = c.Roles[process.Service]
	}

	return conn, process, nil
}

// processOf returns the process at the other end, and what reports whether it still lives: its id is not another's as long
// as it does.
func processOf(socket syscall.Conn) (p Process, lives func() bool, err error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return Process{}, nil, fmt.Errorf("peer credentials: %w", err)
	}

	var (
		cred      *unix.Ucred
		opt, none error
		pidfd     int
	)

	err = raw.Control(func(fd uintptr) {
		cred, opt = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		pidfd, none = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	})
	if err = errors.Join(err, opt); err != nil {
		return Process{}, nil, fmt.Errorf("peer credentials: %w", err)
	}

	p = Process{PID: int(cred.Pid), UID: cred.Uid, GID: cred.Gid}

	if errors.Is(none, unix.ENOPROTOOPT) { // a kernel before 6.5
		return p, func() bool { return true }, nil
	}

	return p, func() bool {
		if none != nil {
			return false // it ended and was reaped
		}
		defer unix.Close(pidfd)

		return unix.PidfdSendSignal(pidfd, 0, nil, 0) == nil
	}, nil
}

// ClientHandshake implements credentials.TransportCredentials.
func (peerCredentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("peer credentials are for servers")
}

// Info implements credentials.TransportCredentials.
func (peerCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "process"}
}

// Clone implements credentials.TransportCredentials.
func (c peerCredentials) Clone() credentials.TransportCredentials { return c }

// OverrideServerName implements credentials.TransportCredentials.
func (peerCredentials) OverrideServerName(string) error { return nil }

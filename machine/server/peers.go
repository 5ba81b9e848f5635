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

// Peers are the services that may use a unix socket. Calls of other processes are denied, also of root in a pod that has the
// host's folders.
//
// The mode of the socket is not enough: it distinguishes users, and many processes run as root.
type Peers struct {
	// Service returns the name of the service that a process belongs to, or "".
	Service func(ctx context.Context, pid int) string
	// Roles are those that each service may pass on. A service that is not listed is denied.
	Roles map[string][]string
}

// Process is the process at the other end of a connection, as the kernel reports it (SO_PEERCRED).
type Process struct {
	PID      int
	UID, GID uint32
	// Service that the process belongs to, and the roles that it may pass on.
	Service string
	Roles   []string
	known   bool
}

// AuthType implements credentials.AuthInfo.
func (Process) AuthType() string { return "process" }

// Options returns server options that identify the process of each connection, deny calls of processes that are not in p,
// and run the checks.
func (p Peers) Options(checks ...Check) []grpc.ServerOption {
	checks = append([]Check{func(ctx context.Context, _ string) error { return admit(ctx) }}, checks...)

	return []grpc.ServerOption{grpc.Creds(peerCredentials{p, unix.SO_PEERPIDFD}), grpc.InTapHandle(ahead(checks))}
}

// Supervised returns a function that finds the running service of a process. A process may connect before its start is
// recorded, so the function waits for it until the context ends.
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

// patience is how long a connection waits until its process is known.
const patience = 5 * time.Second

func admit(ctx context.Context) error {
	process, ok := processFrom(ctx)
	if !ok {
		return status.Error(codes.PermissionDenied, "the process at the other end of the connection is unknown")
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

// peerCredentials implement credentials.TransportCredentials without a handshake on the wire.
type peerCredentials struct {
	Peers

	// option of the socket that has a descriptor of the process; a kernel that does not know it is one before 6.5.
	option int
}

// ServerHandshake identifies the process by the kernel's credentials of the socket.
func (c peerCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return nil, nil, fmt.Errorf("a connection of type %T has no peer credentials", conn)
	}

	process, lives, err := processOf(socket, c.option)
	if err != nil {
		return nil, nil, err
	}

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()

	process.Service = c.Service(ctx, process.PID)

	// The process may have ended, and its id been reused.
	if lives() {
		process.Roles, process.known = c.Roles[process.Service]
	}

	return conn, process, nil
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

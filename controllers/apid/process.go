// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apid

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/cgroup"
	"github.com/seed-59268b81/talos/sys/sandbox"
)

// Process is how one of the doors is started: the multi-call executable, the door's user, and the sockets that it needs.
type Process struct {
	Executable string
	UID        int
	// Sockets in whose folders it must be able to connect.
	Sockets []string
}

// APIService is the API's door. It is started with the machine and opens as soon as it is known how it shall listen:
// by then the process has long begun. It follows every later change itself.
func APIService(process Process) (supervisor.Service, error) {
	service, err := process.service("apid", cgroup.Apid, contract.APIPort)
	service.UntilTheEnd = true

	return service, err
}

// service is the door's: boxed, under its own user, and back at once when it ends.
func (p Process) service(name string, group cgroup.Group, port int) (supervisor.Service, error) {
	box := sandbox.Box{
		Path: p.Executable, Argv: []string{name},
		// The process has a limit of its cgroup; the collector should know it.
		Env: []string{"GOMEMLIMIT=96MiB", "GOGC=50"},
		UID: p.UID, GID: p.UID,
		ReadOnly: []string{p.Executable, "/etc/hosts", "/etc/resolv.conf"},
	}
	for _, socket := range p.Sockets {
		box.ReadOnly = append(box.ReadOnly, filepath.Dir(socket))
	}

	path, argv, env, err := box.Command(sandbox.Stage)
	if err != nil {
		return supervisor.Service{}, err
	}

	return supervisor.Service{
		ID: name,
		//program:image the stage of package sandbox
		Runner: &supervisor.Process{Path: path, Argv: argv, Env: env, Cgroup: group.Path, OOMScoreAdj: -998},
		Health: &supervisor.Health{
			Check: func(ctx context.Context) error { return checkPort(ctx, name, port) },
			// One that hangs is back within ten seconds: a machine without its API is out of reach.
			InitialDelay: 100 * time.Millisecond, Period: 2 * time.Second, Timeout: 1500 * time.Millisecond, Failures: 4,
		},
		RestartInterval: time.Second,
	}, nil
}

// checkPort reports whether the service behind a port answers: the kernel takes connections for a process that hangs, too.
// It says hello as a TLS client and leaves when the answer begins.
func checkPort(ctx context.Context, name string, port int) error {
	var dialer net.Dialer

	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", name, err)
	}
	defer conn.Close()

	if deadline, ok := ctx.Deadline(); ok {
		conn.SetDeadline(deadline) // the read says
	}

	first := &firstByte{Conn: conn}

	// It fails, since what comes after the first byte is kept from it.
	err = tls.Client(first, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}}).HandshakeContext(ctx) // nothing is said
	if !first.came {
		return fmt.Errorf("%s takes connections and does not answer: %w", name, err)
	}

	// Closed with something unread, the connection would be reset, which is an error in the log of the service.
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.CloseWrite() // it may have gone
		io.Copy(io.Discard, io.LimitReader(conn, 64<<10))
	}

	return nil
}

// firstByte is a connection that ends when something has come.
type firstByte struct {
	net.Conn

	came bool
}

// Read implements net.Conn.
func (c *firstByte) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p[:1])
	if n > 0 {
		c.came, err = true, io.EOF
	}

	return 0, err
}

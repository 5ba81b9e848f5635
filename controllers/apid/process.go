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

// Process is how apid, trustd or discoveryd is started: the multi-call executable, the user of the process, and the sockets that it needs.
type Process struct {
	Executable string
	UID        int
	// Sockets that the process connects to. It sees their folders.
	Sockets []string
}

// APIService is apid. It is started with the machine, and listens as soon as its settings are known. It follows later changes of
// the settings itself.
func APIService(process Process) (supervisor.Service, error) {
	service, err := process.Service("apid", cgroup.Apid, contract.APIPort)
	service.UntilTheEnd = true

	return service, err
}

// Service runs the process in a sandbox, under its own user, and restarts it at once when it ends.
func (p Process) Service(name string, group cgroup.Group, port int) (supervisor.Service, error) {
	box := sandbox.Box{
		Path: p.Executable, Argv: []string{name},
		// Tell the garbage collector about the memory limit of the cgroup.
		Env: []string{fmt.Sprintf("GOMEMLIMIT=%dMiB", group.Max/4*3/cgroup.MiB), "GOGC=50"},
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
			// A process that hangs is restarted within ten seconds: without its API, a machine cannot be reached.
			InitialDelay: 100 * time.Millisecond, Period: 2 * time.Second, Timeout: 1500 * time.Millisecond, Failures: 4,
		},
		RestartInterval: time.Second,
	}, nil
}

// checkPort returns nil when the service behind a port answers. A connection proves nothing: the kernel accepts it for a process
// that hangs, too. So checkPort starts a TLS handshake, and closes the connection at the first byte of the answer.
func checkPort(ctx context.Context, name string, port int) error {
	var dialer net.Dialer

	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", name, err)
	}
	defer conn.Close()

	if deadline, ok := ctx.Deadline(); ok {
		conn.SetDeadline(deadline) // an error shows up in the read
	}

	first := &firstByte{Conn: conn}

	// The handshake always fails, because firstByte returns no data. So its secret protects nothing, and the cheapest key exchange will do.
	err = tls.Client(first, &tls.Config{
		InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, CurvePreferences: []tls.CurveID{tls.X25519},
	}).HandshakeContext(ctx)
	if !first.came {
		return fmt.Errorf("%s accepts connections and does not answer: %w", name, err)
	}

	// A connection that is closed with unread data is reset, which the service logs as an error.
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.CloseWrite() // the service may have closed it
		io.Copy(io.Discard, io.LimitReader(conn, 64<<10))
	}

	return nil
}

// firstByte is a connection that ends at the first byte, which it records.
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

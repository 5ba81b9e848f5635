// SPDX-License-Identifier: Apache-2.0

// Cosid serves a store of resources over gRPC (service cosi.resource.State):
//
//	cosid --listen unix:///run/cosi.sock                    in memory
//	cosid --listen 127.0.0.1:4500 --bolt resources.db       in a file
//	cosid --listen 127.0.0.1:4500 --etcd 127.0.0.1:2379     in etcd
//
// There is no authentication: any client that can connect can do everything. Listen on a socket with restrictive permissions,
// or on a loopback address.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"google.golang.org/grpc"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/server"
)

func main() {
	var o options

	flag.StringVar(&o.listen, "listen", "127.0.0.1:4500", "`address` to listen on: host:port, or unix:///path")
	flag.StringVar(&o.bolt, "bolt", "", "store resources in this `file`")
	flag.StringVar(&o.etcd, "etcd", "", "store resources in the etcd at these `endpoints`, separated by commas")
	flag.StringVar(&o.prefix, "etcd-prefix", "/cosi", "`prefix` of the keys in etcd")
	flag.IntVar(&o.history, "history", 0, "number of `events` of each kind to keep, 0 for the default")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "cosid:", err)
		os.Exit(1)
	}
}

type options struct {
	listen, bolt, etcd, prefix string
	history                    int
}

func run(ctx context.Context, o options) (err error) {
	st, closeStore, err := open(ctx, o)
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, closeStore()) }()

	listener, err := listen(o.listen)
	if err != nil {
		return err
	}

	g := grpc.NewServer(server.Options()...)
	v1alpha1.RegisterStateServer(g, server.New(st))
	context.AfterFunc(ctx, g.Stop)

	slog.Info("serving", "address", listener.Addr().String())

	return g.Serve(listener)
}

func listen(address string) (net.Listener, error) {
	path, unix := strings.CutPrefix(address, "unix://")
	if !unix {
		return net.Listen("tcp", address)
	}

	// Remove the socket of a process that has ended.
	if conn, err := net.Dial("unix", path); err == nil {
		conn.Close()

		return nil, fmt.Errorf("listen on %s: another process listens there", path)
	}

	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}

	return net.Listen("unix", path)
}

// SPDX-License-Identifier: Apache-2.0

package carrier

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/cosi/follow"
	"github.com/seed-59268b81/talos/cosi/remote"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// Main is the discoveryd process.
func Main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	if err := run(ctx, log); err != nil {
		log.Error("discoveryd failed", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, log *slog.Logger) error {
	if err := secrets.Register(); err != nil {
		return err
	}

	conn, err := grpc.NewClient("unix:"+contract.DiscoverydSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connect to %s: %w", contract.DiscoverydSocket, err)
	}
	defer conn.Close()

	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", ":"+strconv.Itoa(contract.DiscoveryPort))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}

	log.Info("serving", "address", l.Addr())

	return serve(ctx, New(log), remote.New(conn), l)
}

// serve serves and keeps the view up to date, until the context ends or one of both fails.
func serve(ctx context.Context, c *Carrier, st state.State, l net.Listener) error {
	view := follow.View[*View]{Kinds: Kinds(), Read: ReadView, Set: c.SetView}

	return view.Serve(ctx, st, func(ctx context.Context) error { return c.Serve(ctx, l) })
}

// SPDX-License-Identifier: Apache-2.0

package carrier

import (
	"context"
	"errors"
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
	"github.com/seed-59268b81/talos/cosi/guard"
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

	return follow(ctx, New(log), remote.New(conn), l)
}

// follow serves and keeps the view up to date, until the context ends or one of both fails.
func follow(ctx context.Context, c *Carrier, st state.State, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	served := guard.Go(func() error {
		defer cancel()

		return c.Serve(ctx, l)
	})

	err := watch(ctx, st, c.SetView)

	cancel()

	return errors.Join(err, <-served)
}

// watch reads the view at each change.
func watch(ctx context.Context, st state.State, set func(*View)) error {
	events := make(chan []state.Event)

	for _, kind := range Kinds() {
		if err := st.WatchKindAggregated(ctx, kind, events, state.WithBootstrapContents()); err != nil {
			return fmt.Errorf("watch %s: %w", kind, err)
		}
	}

	for {
		select {
		case <-ctx.Done():
			return nil
		case batch := <-events:
			for _, e := range batch {
				if e.Type == state.Errored {
					return fmt.Errorf("watch: %w", e.Error)
				}
			}
		}

		view, err := ReadView(ctx, st)
		if ctx.Err() != nil {
			return nil
		}

		if err != nil {
			return err
		}

		set(view)
	}
}

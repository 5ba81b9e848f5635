// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/cosi/remote"
)

// Main is the apid process.
func Main() {
	log := newLog(os.Stderr)

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	if err := run(ctx, log); err != nil {
		log.Error("apid failed", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, log *slog.Logger) error {
	if err := registerTypes(); err != nil {
		return err
	}

	conn, err := grpc.NewClient("unix:"+contract.APIDSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connect to %s: %w", contract.APIDSocket, err)
	}
	defer conn.Close()

	router := NewRouter(log, contract.MachineSocket)
	defer router.Close()

	views := make(chan *View)
	failed := make(chan error, 1)

	go func() { failed <- watchViews(ctx, remote.New(conn), views) }()

	var (
		listen string
		server *grpc.Server
	)

	defer func() {
		if server != nil {
			server.Stop()
		}
	}()

	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case view := <-views:
			router.SetView(view)

			if view.Listen == listen {
				continue
			}

			if server != nil {
				go server.GracefulStop()
			}

			if server, err = serve(ctx, router, view.Listen, failed); err != nil {
				return err
			}

			listen = view.Listen

			log.Info("serving the API", "address", listen)
		}
	}
}

func serve(ctx context.Context, router *Router, address string, failed chan<- error) (*grpc.Server, error) {
	var config net.ListenConfig

	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}

	server := router.Server()

	go func() {
		if err := server.Serve(newListener(l, router.pressure)); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			select {
			case failed <- err:
			default:
			}
		}
	}()

	return server, nil
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/discovery/metrics"
	"github.com/seed-59268b81/talos/discovery/pages"
	"github.com/seed-59268b81/talos/discovery/server"
)

const (
	// stopTime is how long calls may take when the service ends.
	stopTime = 5 * time.Second
	// pageTime is how long a page may take to be read, and profileTime a profile.
	pageTime    = 30 * time.Second
	profileTime = 10 * time.Minute
	// maxStreams is how many calls a connection may have. A client has two; a proxy uses a connection for many.
	maxStreams = 100
)

// run serves until the context ends.
func run(ctx context.Context, o options, log *slog.Logger) error {
	if err := o.check(); err != nil {
		return err
	}

	listeners, err := listen(ctx, o)
	if err != nil {
		return err
	}

	registered := prometheus.NewRegistry()
	registered.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	counted := metrics.New(registered)
	o.service.ClientVersion = counted.Hello
	service := server.New(o.service, log)
	registered.MustRegister(metrics.State{Counts: service.Counts})

	kept := &snapshots{options: o, service: service, counted: counted, log: log}
	kept.load()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	var (
		running sync.WaitGroup
		failed  = make(chan error, 8)
	)

	start := func(f func() error) {
		running.Go(func() {
			if err := f(); err != nil {
				failed <- err

				cancel()
			}
		})
	}

	g := grpc.NewServer(append(server.ServerOptions(),
		grpc.ChainUnaryInterceptor(logged(log), counted.Unary, recovered(log)), grpc.ChainStreamInterceptor(counted.Stream, recoveredStream(log)),
		grpc.MaxConcurrentStreams(maxStreams),
	)...)
	service.Register(g)

	site := pages.Handler(service)
	split := newSplit(listeners.main, o)

	start(func() error { split.run(ctx); return nil })
	start(func() error {
		// It may not have started yet when the service ends.
		if err := g.Serve(split.calls); err != nil && ctx.Err() == nil {
			return err
		}

		return nil
	})
	start(func() error { return serve(ctx, split.pages, site, pageTime) })
	start(func() error { service.Run(ctx); return nil })
	start(func() error { return kept.run(ctx) })

	if listeners.landing != nil {
		start(func() error { return serve(ctx, listeners.landing, site, pageTime) })
	}

	if listeners.metrics != nil {
		start(func() error {
			return serve(ctx, listeners.metrics, promhttp.HandlerFor(registered, promhttp.HandlerOpts{}), pageTime)
		})
	}

	if listeners.debug != nil {
		start(func() error { return serve(ctx, listeners.debug, profiles(), profileTime) })
	}

	log.Info("serving", "address", listeners.main.Addr().String(), "tls", o.certificate != "")

	<-ctx.Done()

	// Watches end by themselves.
	forced := time.AfterFunc(stopTime, g.Stop)

	g.GracefulStop()
	forced.Stop()
	running.Wait()
	close(failed)

	var errs []error
	for err := range failed {
		errs = append(errs, err)
	}

	return errors.Join(append(errs, kept.save())...)
}

// profiles are Go's profiles.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)

	return mux
}

// serve serves web pages until the context ends.
func serve(ctx context.Context, l net.Listener, handler http.Handler, most time.Duration) error {
	s := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: pageTime, WriteTimeout: most, IdleTimeout: time.Minute}

	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTime)
		defer cancel()

		s.Shutdown(ctx) // what has not ended in time is cut off below
		s.Close()
	})
	defer stop()

	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) && ctx.Err() == nil {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}

	return nil
}

// logged logs calls.
func logged(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		start := time.Now()
		out, err := next(ctx, in)

		attributes := []any{"method", info.FullMethod, "duration", time.Since(start), "code", status.Code(err)}
		if p, ok := peer.FromContext(ctx); ok {
			attributes = append(attributes, "peer.address", p.Addr)
		}

		if r, ok := in.(interface{ GetClusterId() string }); ok {
			attributes = append(attributes, "cluster_id", r.GetClusterId())
		}

		if r, ok := in.(interface{ GetAffiliateId() string }); ok {
			attributes = append(attributes, "affiliate_id", r.GetAffiliateId())
		}

		if r, ok := in.(interface{ GetClientVersion() string }); ok {
			attributes = append(attributes, "client_version", r.GetClientVersion())
		}

		if err != nil {
			attributes = append(attributes, "error", err)
		}

		log.Debug("call", attributes...)

		return out, err
	}
}

// failed turns a panic of a call into its error.
func failed(log *slog.Logger, method string, err *error) {
	if p := recover(); p != nil {
		log.Error("call panicked", "method", method, "panic", p, "stack", string(debug.Stack()))

		*err = status.Error(codes.Internal, "the call failed in the server (its log has the details)")
	}
}

func recovered(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (out any, err error) {
		defer failed(log, info.FullMethod, &err)

		return next(ctx, in)
	}
}

func recoveredStream(log *slog.Logger) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
		defer failed(log, info.FullMethod, &err)

		return next(srv, stream)
	}
}

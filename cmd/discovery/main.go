// SPDX-License-Identifier: Apache-2.0

// Discovery is a discovery service, through which the machines of Kubernetes clusters find each other. Control planes carry the same service
// themselves; this one is for clusters whose machines cannot reach their control planes' port, and for replacing an existing service.
// See docs/discovery.md.
//
//	discovery -certificate-path tls.crt -key-path tls.key -snapshot-path /var/lib/discovery/state.binpb
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/seed-59268b81/talos/discovery/registry"
	"github.com/seed-59268b81/talos/discovery/server"
)

// options are the flags.
type options struct {
	addr, landing, metrics, debugAddr string
	debug                             bool
	certificate, key                  string
	snapshots                         bool
	snapshot                          string
	snapshotInterval                  time.Duration
	proxies                           string

	service server.Options
}

func (o *options) flags(f *flag.FlagSet) {
	f.StringVar(&o.addr, "addr", ":3000", "`address` of the service")
	f.StringVar(&o.landing, "landing-addr", ":3001", "`address` of the web pages, which the service's address has, too; empty for none")
	f.StringVar(&o.metrics, "metrics-addr", ":2122", "`address` of the Prometheus metrics; empty for none")
	f.StringVar(&o.debugAddr, "debug-addr", "", "`address` of Go's profiles; empty for none")
	f.BoolVar(&o.debug, "debug", os.Getenv("MODE") == "dev", "log each call")
	f.StringVar(&o.certificate, "certificate-path", "", "`file` with the certificate; it is read again when it changes. Without one there is no TLS")
	f.StringVar(&o.key, "key-path", "", "`file` with the certificate's key")
	f.BoolVar(&o.snapshots, "snapshots-enabled", true, "keep the members in a file")
	f.StringVar(&o.snapshot, "snapshot-path", "/var/discovery-service/state.binpb", "`file` with the members")
	f.DurationVar(&o.snapshotInterval, "snapshot-interval", 10*time.Minute, "how often the file is written at least")
	f.DurationVar(&o.service.Interval, "gc-interval", time.Second, "how often what has expired is removed")
	f.StringVar(&o.service.Redirect, "redirect-endpoint", "", "send all clients to the service at this `host:port`")
	f.BoolVar(&o.service.Trust.RealIP, "trust-x-real-ip", true, "take a client's address from the header X-Real-IP of a trusted proxy")
	f.BoolVar(&o.service.Trust.ForwardedFor, "trust-first-x-forwarded-for", true, "take a client's address from the header X-Forwarded-For of a trusted proxy")
	f.StringVar(&o.proxies, "trusted-proxies", "127.0.0.0/8,::1/128", "`networks` of the proxies, separated by commas")
	f.IntVar(&o.service.Limits.Affiliates, "max-cluster-affiliates", registry.OpenLimits.Affiliates, "how many affiliates a cluster may have")
	f.IntVar(&o.service.MaxAffiliates, "max-affiliates", 500_000, "how many affiliates all clusters may have; 0 for no limit")
	f.Float64Var(&o.service.Rate, "rate", server.DefaultRate, "calls of one host per second")
	f.IntVar(&o.service.Burst, "burst", server.DefaultBurst, "calls of one host at once")
	f.IntVar(&o.service.Watches, "host-connections", server.DefaultWatches, "connections of one host at once, and watches")
}

// check completes the options.
func (o *options) check() error {
	o.service.Limits.Endpoints = registry.OpenLimits.Endpoints

	for text := range strings.SplitSeq(o.proxies, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}

		network, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("-trusted-proxies: %w", err)
		}

		o.service.Trust.Proxies = append(o.service.Trust.Proxies, network)
	}

	switch {
	case (o.certificate == "") != (o.key == ""):
		return fmt.Errorf("-certificate-path and -key-path: want both or none")
	case o.service.Limits.Affiliates < 1:
		return fmt.Errorf("-max-cluster-affiliates: %d is not positive", o.service.Limits.Affiliates)
	case o.service.Rate <= 0 || o.service.Burst < 1:
		return fmt.Errorf("-rate and -burst: want positive numbers")
	case o.service.Watches < 1:
		return fmt.Errorf("-host-connections: %d is not positive", o.service.Watches)
	case o.service.Interval <= 0 || o.snapshotInterval <= 0:
		return fmt.Errorf("-gc-interval and -snapshot-interval: want positive durations")
	}

	return nil
}

// gcPercent takes the place of Go's 100: memory is that of connections, and a service is idle nearly always, so that a collection costs little.
const gcPercent = 50

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}

	var o options

	o.flags(flag.CommandLine)
	flag.Parse()

	level := slog.LevelInfo
	if o.debug {
		level = slog.LevelDebug
	}

	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	if err := run(ctx, o, log); err != nil {
		fmt.Fprintln(os.Stderr, "discovery:", err)
		os.Exit(1)
	}
}

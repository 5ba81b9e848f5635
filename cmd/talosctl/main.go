// SPDX-License-Identifier: Apache-2.0

// Command talosctl drives and observes Talos machines through their API.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/seed-59268b81/talos/ctl"
	"github.com/seed-59268b81/talos/ctl/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends the command in order, the second one at once.
	context.AfterFunc(ctx, stop)

	os.Exit(ctl.Run(ctx, ctl.New(cluster.Command()), os.Stderr))
}

// SPDX-License-Identifier: Apache-2.0

// Command talosctl controls and observes Talos machines through their API.
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
	// The first signal cancels the command, the second one kills the process.
	context.AfterFunc(ctx, stop)

	os.Exit(ctl.Run(ctx, ctl.New(cluster.Command()), os.Stderr))
}

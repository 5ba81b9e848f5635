// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"fmt"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed-59268b81/talos/ctl/session"
)

// run shows the nodes on the terminal until the user quits or the context ends.
func run(ctx context.Context, in io.Reader, out io.Writer, targets []session.Node, interval time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	names := session.Names(targets, func(t session.Node) string { return t.Name })
	f := &feed{ctx: ctx, targets: targets, interval: interval}
	program := tea.NewProgram(newModel(names, f), tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	f.send = program.Send

	f.start()

	_, err := program.Run()
	interrupted := context.Cause(ctx) // before cancel

	cancel()
	f.running.Wait()

	if interrupted != nil {
		return interrupted
	}

	if err != nil {
		return fmt.Errorf("dashboard: %w", err)
	}

	return nil
}

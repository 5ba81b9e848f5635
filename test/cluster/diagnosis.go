// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/client"
)

const consoleTail = 40

// diagnosis collects what a person would look at first. It names parts that do not answer, and does not fail.
func (c *Cluster) diagnosis() string {
	var b strings.Builder

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	fmt.Fprintf(&b, "--- the end of the console\n%s\n", lastLines(c.Console(), consoleTail))

	err := c.API(ctx, func(ctx context.Context, api *client.Client) error {
		services, err := api.Services(ctx)
		if err != nil {
			return err
		}

		b.WriteString("--- services\n")

		for _, s := range services {
			fmt.Fprintf(&b, "%-18s %-10s healthy=%t unknown=%t %s\n", s.GetId(), s.GetState(),
				s.GetHealth().GetHealthy(), s.GetHealth().GetUnknown(), s.GetHealth().GetLastMessage())
		}

		const kind = "MachineStatuses.runtime.talos.dev"

		status, err := api.Resource(ctx, client.Kind{Namespace: "runtime", Type: kind}, "machine")
		if err != nil {
			return err
		}

		fmt.Fprintf(&b, "--- %s\n%s\n", kind, status.GetSpec().GetYamlSpec())

		return nil
	})
	if err != nil {
		fmt.Fprintf(&b, "--- the API: %v\n", err)
	}

	if _, err := os.Stat(c.Lab.State().KubeconfigPath()); err == nil {
		for _, args := range [][]string{{"get", "nodes,pods", "-A", "-o", "wide"}, {"get", "events", "-A", "--sort-by=.lastTimestamp"}} {
			out, err := c.kubectl(ctx, "", args...)
			if err != nil {
				out = err.Error()
			}

			fmt.Fprintf(&b, "--- kubectl %s\n%s\n", strings.Join(args, " "), lastLines(out, consoleTail))
		}
	}

	return b.String()
}

func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")

	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}

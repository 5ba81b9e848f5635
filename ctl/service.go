// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
)

func newServiceCommand() *cobra.Command {
	var connection connection

	cmd := &cobra.Command{
		Use:     "service [ID [status|start|stop|restart]]",
		Aliases: []string{"services"},
		Short:   "List services, or show, start, stop or restart one",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return listServices(cmd, &connection)
			case len(args) == 1 || args[1] == "status":
				return showService(cmd, &connection, args[0])
			}

			action, ok := map[string]serviceAction{
				"start": node.StartService, "stop": node.StopService, "restart": node.RestartService,
			}[args[1]]
			if !ok {
				return usageError(cmd, "%q is not an action on a service: want status, start, stop or restart", args[1])
			}

			return actOnService(cmd, &connection, args[0], action)
		},
	}

	connection.flags(cmd)
	connection.maintenanceFlags(cmd)

	return cmd
}

func listServices(cmd *cobra.Command, connection *connection) error {
	rows := newTable(cmd.OutOrStdout(), "NODE", "SERVICE", "STATE", "HEALTH", "LAST CHANGE", "LAST EVENT")

	return connection.each(cmd.Context(), func(ctx context.Context, n node) error {
		services, err := n.Services(ctx)
		if err != nil {
			return err
		}

		var batch [][]string

		for _, service := range services {
			batch = append(batch, serviceRow(n.name, service, time.Now()))
		}

		return rows.print(batch...)
	})
}

func serviceRow(node string, service *machine.ServiceInfo, now time.Time) []string {
	change, message := "", "<none>"

	if events := service.GetEvents().GetEvents(); len(events) > 0 {
		last := events[len(events)-1]
		change, message = ago(last.GetTs().AsTime(), now), last.GetMsg()
	}

	return []string{node, service.GetId(), service.GetState(), health(service.GetHealth()), change, message}
}

func health(h *machine.ServiceHealth) string {
	switch {
	case h.GetUnknown():
		return "?"
	case h.GetHealthy():
		return "OK"
	default:
		return "Fail"
	}
}

func ago(t, now time.Time) string {
	return now.Sub(t).Round(time.Second).String() + " ago"
}

func showService(cmd *cobra.Command, connection *connection, id string) error {
	var mu sync.Mutex

	return connection.each(cmd.Context(), func(ctx context.Context, n node) error {
		services, err := n.Services(ctx)
		if err != nil {
			return err
		}

		i := slices.IndexFunc(services, func(s *machine.ServiceInfo) bool { return s.GetId() == id })
		if i < 0 {
			return fmt.Errorf("the node has no service %q; list its services with: talosctl service", id)
		}

		var b bytes.Buffer

		if err := newTable(&b).print(serviceDetails(n.name, services[i], time.Now())...); err != nil {
			return err
		}

		mu.Lock()
		defer mu.Unlock()

		_, err = b.WriteTo(cmd.OutOrStdout())

		return err
	})
}

// serviceDetails lists the events of the service with the latest first.
func serviceDetails(node string, service *machine.ServiceInfo, now time.Time) [][]string {
	rows := [][]string{
		{"NODE", node}, {"ID", service.GetId()}, {"STATE", service.GetState()}, {"HEALTH", health(service.GetHealth())},
	}

	if message := service.GetHealth().GetLastMessage(); message != "" {
		rows = append(rows, []string{"LAST HEALTH MESSAGE", message})
	}

	label := "EVENTS"

	for _, event := range slices.Backward(service.GetEvents().GetEvents()) {
		text := fmt.Sprintf("[%s]: %s (%s)", event.GetState(), event.GetMsg(), ago(event.GetTs().AsTime(), now))
		rows = append(rows, []string{label, text})
		label = ""
	}

	return rows
}

type serviceAction func(n node, ctx context.Context, id string) (string, error)

func actOnService(cmd *cobra.Command, connection *connection, id string, act serviceAction) error {
	rows := newTable(cmd.OutOrStdout(), "NODE", "RESPONSE")

	return connection.each(cmd.Context(), func(ctx context.Context, n node) error {
		response, err := act(n, ctx, id)
		if err != nil {
			return err
		}

		return rows.print([]string{n.name, response})
	})
}

// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
)

func newServiceCommand(s *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "service [ID [status|start|stop|restart]]",
		Aliases: []string{"services"},
		Short:   "List services, or show, start, stop or restart one",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			isStatus := len(args) == 1 || len(args) == 2 && args[1] == "status"

			switch {
			case len(args) == 0:
				return list(cmd, s, serviceColumns, node.Services)
			case isStatus && s.format != "table":
				return list(cmd, s, serviceColumns, single(func(n node, ctx context.Context) (*machine.ServiceInfo, error) {
					return n.service(ctx, args[0])
				}))
			case isStatus:
				return showService(cmd, s, args[0])
			}

			action, ok := map[string]serviceAction{
				"start": node.StartService, "stop": node.StopService, "restart": node.RestartService,
			}[args[1]]
			if !ok {
				return usageError(cmd, "%q is not an action on a service: want status, start, stop or restart", args[1])
			}

			if s.format != "table" {
				return usageError(cmd, "--output %s: what a service is told has no other form than a table", s.format)
			}

			return actOnService(cmd, s, args[0], action)
		},
		ValidArgsFunction: completeService(s),
	}

	s.flags(cmd)
	s.maintenanceFlags(cmd)
	s.outputFlag(cmd)

	return cmd
}

// completeService offers services, and what can be done with one.
func completeService(s *connection) cobra.CompletionFunc {
	ids := s.completeArg(0, node.serviceIDs)

	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return []string{"status", "start", "stop", "restart"}, cobra.ShellCompDirectiveNoFileComp
		}

		return ids(cmd, args, typed)
	}
}

var serviceColumns = []column[*machine.ServiceInfo]{
	{"SERVICE", (*machine.ServiceInfo).GetId},
	{"STATE", (*machine.ServiceInfo).GetState},
	{"HEALTH", func(s *machine.ServiceInfo) string { return serviceHealth(s.GetHealth()) }},
	{"LAST CHANGE", func(s *machine.ServiceInfo) string {
		if last := lastEvent(s); last != nil {
			return ago(last.GetTs().AsTime(), time.Now())
		}

		return ""
	}},
	{"LAST EVENT", func(s *machine.ServiceInfo) string {
		if last := lastEvent(s); last != nil {
			return last.GetMsg()
		}

		return "<none>"
	}},
}

func lastEvent(s *machine.ServiceInfo) *machine.ServiceEvent {
	events := s.GetEvents().GetEvents()
	if len(events) == 0 {
		return nil
	}

	return events[len(events)-1]
}

func serviceHealth(h *machine.ServiceHealth) string {
	switch {
	case h == nil, h.GetUnknown():
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

func showService(cmd *cobra.Command, s *connection, id string) error {
	answers := &documents{w: cmd.OutOrStdout()}

	return s.each(cmd, func(ctx context.Context, n node) error {
		service, err := bounded(ctx, n, func(n node, ctx context.Context) (*machine.ServiceInfo, error) { return n.service(ctx, id) })
		if err != nil {
			return err
		}

		var b bytes.Buffer

		if err := newTable(&b).print(serviceDetails(n.name, service, time.Now())...); err != nil {
			return err
		}

		return answers.write(b.Bytes())
	})
}

func (n node) service(ctx context.Context, id string) (*machine.ServiceInfo, error) {
	services, err := n.Services(ctx)
	if err != nil {
		return nil, err
	}

	i := slices.IndexFunc(services, func(s *machine.ServiceInfo) bool { return s.GetId() == id })
	if i < 0 {
		return nil, fmt.Errorf("the node has no service %q; list its services with: talosctl service", id)
	}

	return services[i], nil
}

// serviceDetails lists the events of the service with the latest first.
func serviceDetails(node string, service *machine.ServiceInfo, now time.Time) [][]string {
	rows := [][]string{
		{"NODE", node}, {"ID", service.GetId()}, {"STATE", service.GetState()}, {"HEALTH", serviceHealth(service.GetHealth())},
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

func actOnService(cmd *cobra.Command, s *connection, id string, act serviceAction) error {
	rows := newTable(cmd.OutOrStdout(), "NODE", "RESPONSE")

	return s.tabulate(cmd, rows, func(ctx context.Context, n node) error {
		response, err := act(n, ctx, id)
		if err != nil {
			return err
		}

		return rows.print([]string{n.name, response})
	})
}

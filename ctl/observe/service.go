// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newServiceCommand(s *session.Session) *cobra.Command {
	return s.OutputFlag(s.MaintenanceFlags(&cobra.Command{
		Use:     "service [ID [status|start|stop|restart]]",
		Aliases: []string{"services"},
		Short:   "List services, or show, start, stop or restart one",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			isStatus := len(args) == 1 || len(args) == 2 && args[1] == "status"
			find := func(n session.Node, ctx context.Context) (*machine.ServiceInfo, error) {
				return findService(ctx, n, args[0])
			}

			switch {
			case len(args) == 0:
				return session.List(s, cmd, serviceColumns, session.Node.Services)
			case isStatus && s.Format != session.TableFormat:
				return session.List(s, cmd, serviceColumns, session.Single(find))
			case isStatus:
				return s.Report(cmd, func(ctx context.Context, n session.Node, w io.Writer) error {
					service, err := session.Bounded(ctx, n, find)
					if err != nil {
						return err
					}

					return session.NewTable(w).Print(serviceDetails(n.Name, service, time.Now())...)
				})
			}

			action, ok := map[string]serviceAction{
				"start": session.Node.StartService, "stop": session.Node.StopService, "restart": session.Node.RestartService,
			}[args[1]]
			if !ok {
				return session.UsageError(cmd, "%q is not an action on a service: want status, start, stop or restart", args[1])
			}

			if s.Format != session.TableFormat {
				return session.UsageError(cmd, "--output %s: the response to an action is printed as a table only", s.Format)
			}

			return actOnService(s, cmd, args[0], action)
		},
		ValidArgsFunction: completeService(s),
	}))
}

// completeService completes services and actions.
func completeService(s *session.Session) cobra.CompletionFunc {
	ids := s.CompleteArg(0, session.ServiceIDs)

	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return []string{"status", "start", "stop", "restart"}, cobra.ShellCompDirectiveNoFileComp
		}

		return ids(cmd, args, typed)
	}
}

var serviceColumns = []session.Column[*machine.ServiceInfo]{
	session.Col("SERVICE", (*machine.ServiceInfo).GetId),
	session.Col("STATE", (*machine.ServiceInfo).GetState),
	session.Col("HEALTH", func(s *machine.ServiceInfo) string { return serviceHealth(s.GetHealth()) }),
	session.Col("LAST CHANGE", func(s *machine.ServiceInfo) string {
		if last := lastEvent(s); last != nil {
			return session.Ago(last.GetTs().AsTime(), time.Now())
		}

		return ""
	}),
	session.Col("LAST EVENT", func(s *machine.ServiceInfo) string {
		if last := lastEvent(s); last != nil {
			return last.GetMsg()
		}

		return "<none>"
	}),
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

func findService(ctx context.Context, n session.Node, id string) (*machine.ServiceInfo, error) {
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

// serviceDetails returns the rows about a service, its latest event first.
func serviceDetails(node string, service *machine.ServiceInfo, now time.Time) [][]string {
	rows := [][]string{
		{"NODE", node}, {"ID", service.GetId()}, {"STATE", service.GetState()}, {"HEALTH", serviceHealth(service.GetHealth())},
	}

	if message := service.GetHealth().GetLastMessage(); message != "" {
		rows = append(rows, []string{"LAST HEALTH MESSAGE", message})
	}

	label := "EVENTS"

	for _, event := range slices.Backward(service.GetEvents().GetEvents()) {
		text := fmt.Sprintf("[%s]: %s (%s)", event.GetState(), event.GetMsg(), session.Ago(event.GetTs().AsTime(), now))
		rows = append(rows, []string{label, text})
		label = ""
	}

	return rows
}

type serviceAction func(n session.Node, ctx context.Context, id string) (string, error)

func actOnService(s *session.Session, cmd *cobra.Command, id string, act serviceAction) error {
	rows := session.NewTable(cmd.OutOrStdout(), "NODE", "RESPONSE")

	return s.Tabulate(cmd, rows, func(ctx context.Context, n session.Node) error {
		response, err := act(n, ctx, id)
		if err != nil {
			return err
		}

		return rows.Print([]string{n.Name, response})
	})
}

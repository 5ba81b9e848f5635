// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
)

func newEventsCommand(s *connection) *cobra.Command {
	var (
		request  machine.EventsRequest
		duration time.Duration
	)

	cmd := &cobra.Command{
		Use:   "events",
		Short: "Print what happens on the nodes, as it happens",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if duration < 0 {
				return usageError(cmd, "--duration %s is negative", duration)
			}

			request.TailSeconds = int32(min(math.Ceil(duration.Seconds()), math.MaxInt32))

			out, err := newListing(cmd, s, eventColumns)
			if err != nil {
				return err
			}

			out.table.reserve(eventWidths...)

			return s.tabulate(cmd, out.table, func(ctx context.Context, n node) error {
				for event, err := range n.Events(ctx, &request) {
					if err != nil {
						return err
					}

					if err := out.print(n.name, eventItem{event}); err != nil {
						return err
					}
				}

				return nil
			})
		},
	}

	s.flags(cmd)
	s.outputFlag(cmd)
	cmd.Flags().Int32Var(&request.TailEvents, "tail", 0, "begin with that many past events; -1 for all that are kept")
	cmd.Flags().DurationVar(&duration, "duration", 0, "begin with the events of the past so long")
	cmd.Flags().StringVar(&request.TailId, "since", "", "begin with the events after this id")
	cmd.Flags().StringVar(&request.WithActorId, "actor-id", "", "print events of this actor only")

	return cmd
}

// eventItem is an event as it is listed.
type eventItem struct{ client.Event }

func (e eventItem) plain() map[string]any {
	value := map[string]any{"id": e.ID, "type": e.Type, "actorId": e.ActorID}
	if e.Payload != nil {
		value["payload"] = plainMessage(e.Payload.ProtoReflect())
	}

	return value
}

var eventColumns = []column[eventItem]{
	{"ID", func(e eventItem) string { return e.ID }},
	{"EVENT", func(e eventItem) string { return e.Type }},
	{"ACTOR", func(e eventItem) string { return e.ActorID }},
	{"SOURCE", func(e eventItem) string {
		source, _ := describeEvent(e.Event)

		return source
	}},
	{"MESSAGE", func(e eventItem) string {
		_, message := describeEvent(e.Event)

		return message
	}},
}

// eventWidths fit an IPv4 address, an id, the longest of the common types, an actor's id and most sources.
var eventWidths = []int{len("255.255.255.255"), 20, len("machine.MachineStatusEvent"), 36, 16}

// describeEvent says what the event is about and what happened to it.
func describeEvent(event client.Event) (source, message string) {
	switch m := event.Payload.(type) {
	case *machine.SequenceEvent:
		message = m.GetAction().String()
		if m.GetError() != nil {
			message = "error: " + m.GetError().GetMessage()
		}

		return m.GetSequence(), message
	case *machine.PhaseEvent:
		return m.GetPhase(), m.GetAction().String()
	case *machine.TaskEvent:
		return m.GetTask(), m.GetAction().String()
	case *machine.ServiceStateEvent:
		return m.GetService(), m.GetAction().String() + ": " + m.GetMessage()
	case *machine.RestartEvent:
		return "reboot", fmt.Sprintf("command %#x", m.GetCmd())
	case *machine.ConfigLoadErrorEvent:
		return "configuration", m.GetError()
	case *machine.ConfigValidationErrorEvent:
		return "configuration", m.GetError()
	case *machine.AddressEvent:
		return m.GetHostname(), "addresses: " + strings.Join(m.GetAddresses(), ", ")
	case *machine.MachineStatusEvent:
		return "machine", describeStatus(m)
	default:
		return "", "an event of a later version than this talosctl"
	}
}

func describeStatus(m *machine.MachineStatusEvent) string {
	text := fmt.Sprintf("%s, ready: %t", strings.ToLower(m.GetStage().String()), m.GetStatus().GetReady())

	var unmet []string
	for _, condition := range m.GetStatus().GetUnmetConditions() {
		unmet = append(unmet, condition.GetName()+": "+condition.GetReason())
	}

	if len(unmet) > 0 {
		text += ", unmet conditions: " + strings.Join(unmet, "; ")
	}

	return text
}

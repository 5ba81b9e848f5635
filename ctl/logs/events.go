// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newEventsCommand(s *session.Session) *cobra.Command {
	var (
		request  machine.EventsRequest
		duration time.Duration
	)

	cmd := s.OutputFlag(s.Flags(&cobra.Command{
		Use:   "events",
		Short: "Print the events of the nodes, as they happen",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if duration < 0 {
				return session.UsageError(cmd, "--duration %s is negative", duration)
			}

			request.TailSeconds = int32(min(math.Ceil(duration.Seconds()), math.MaxInt32))

			out, err := session.NewListing(s, cmd, eventColumns)
			if err != nil {
				return err
			}

			out.Table.Reserve(eventWidths...)

			return s.Tabulate(cmd, out.Table, func(ctx context.Context, n session.Node) error {
				for event, err := range n.Events(ctx, &request) {
					if err != nil {
						return err
					}

					if err := out.Print(n.Name, eventItem{event}); err != nil {
						return err
					}
				}

				return nil
			})
		},
	}))

	cmd.Flags().Int32Var(&request.TailEvents, "tail", 0, "begin with this many past events; -1 for all")
	cmd.Flags().DurationVar(&duration, "duration", 0, "begin with the events of this long ago")
	cmd.Flags().StringVar(&request.TailId, "since", "", "begin with the events after this id")
	cmd.Flags().StringVar(&request.WithActorId, "actor-id", "", "print events of this actor only")

	return cmd
}

// eventItem is an event in the list.
type eventItem struct{ client.Event }

func (e eventItem) Plain() map[string]any {
	value := map[string]any{"id": e.ID, "type": e.Type, "actorId": e.ActorID}
	if e.Payload != nil {
		value["payload"] = session.PlainMessage(e.Payload.ProtoReflect())
	}

	return value
}

var eventColumns = []session.Column[eventItem]{
	session.Col("ID", func(e eventItem) string { return e.ID }),
	session.Col("EVENT", func(e eventItem) string { return e.Type }),
	session.Col("ACTOR", func(e eventItem) string { return e.ActorID }),
	session.Col("SOURCE", func(e eventItem) string {
		source, _ := e.Describe()

		return source
	}),
	session.Col("MESSAGE", func(e eventItem) string {
		_, message := e.Describe()

		return message
	}),
}

// eventWidths fit an IPv4 address, an id, the longest common type, the id of an actor and most sources.
var eventWidths = []int{len("255.255.255.255"), 20, len("machine.MachineStatusEvent"), 36, 16}

// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/seed-59268b81/talos/api/machine"
)

// eventTypePrefix is what precedes the message name in the type URL of an event.
const eventTypePrefix = "talos/runtime/"

// Event is something that happened on a node.
type Event struct {
	ID      string
	ActorID string
	// Type is the name of the payload's message, such as machine.SequenceEvent.
	Type string
	// Payload is nil if the node is newer than this client and the type is unknown to it.
	Payload proto.Message
}

// Events streams what happens on the node, after the past events that the request asks for. It ends with the context.
func (c *Client) Events(ctx context.Context, request *machine.EventsRequest) iter.Seq2[Event, error] {
	return decoded(answers(receive(ctx, "events", c.Machine.Events, request)), func(m *machine.Event) (Event, bool, error) {
		// The first frame of a stream may be empty: servers send it to get the headers through.
		if m.GetData() == nil {
			return Event{}, true, nil
		}

		event, err := decodeEvent(m)

		return event, false, err
	})
}

func decodeEvent(m *machine.Event) (Event, error) {
	event := Event{ID: m.GetId(), ActorID: m.GetActorId(), Type: strings.TrimPrefix(m.GetData().GetTypeUrl(), eventTypePrefix)}

	kind, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(event.Type))
	if err != nil {
		return event, nil // a type of a later version
	}

	event.Payload = kind.New().Interface()

	if err := proto.Unmarshal(m.GetData().GetValue(), event.Payload); err != nil {
		return event, fmt.Errorf("events: decode %s %s: %w", event.Type, event.ID, err)
	}

	return event, nil
}

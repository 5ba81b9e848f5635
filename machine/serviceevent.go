// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/service/supervisor"
)

// serviceEvent is how a change of a service is told to those who watch events.
func serviceEvent(st supervisor.Status) *machine.ServiceStateEvent {
	event := &machine.ServiceStateEvent{
		Service: st.ID,
		Action:  machine.ServiceStateEvent_Action(machine.ServiceStateEvent_Action_value[strings.ToUpper(string(st.State))]),
		Health: &machine.ServiceHealth{
			Unknown: !st.HasHealth || !st.Health.Known, Healthy: st.Health.Healthy, LastMessage: st.Health.LastMessage,
		},
	}

	if !st.Health.LastChange.IsZero() {
		event.Health.LastChange = timestamppb.New(st.Health.LastChange)
	}

	if n := len(st.Events); n > 0 {
		event.Message = st.Events[n-1].Message
	}

	return event
}

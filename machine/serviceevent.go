// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"strings"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/machine/server"
	"github.com/seed-59268b81/talos/service/supervisor"
)

// serviceEvent returns the event for a change of a service.
func serviceEvent(st supervisor.Status) *machine.ServiceStateEvent {
	event := &machine.ServiceStateEvent{
		Service: st.ID,
		Action:  machine.ServiceStateEvent_Action(machine.ServiceStateEvent_Action_value[strings.ToUpper(string(st.State))]),
		Health:  server.ServiceHealth(st),
	}

	if n := len(st.Events); n > 0 {
		event.Message = st.Events[n-1].Message
	}

	return event
}

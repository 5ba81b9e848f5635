// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/api/machine"
)

// Describe returns what the event is about, and what happened.
func (e Event) Describe() (source, message string) {
	switch m := e.Payload.(type) {
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

// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

// EventSinkConfigID is the id of the only EventSinkConfig.
const EventSinkConfigID = "event-sink"

var eventSinkConfigDefinition = domain.Type("EventSinkConfigs", "Endpoint={.endpoint}")

// EventSinkConfigSpec is the server that the machine sends its events to.
type EventSinkConfigSpec struct {
	Endpoint string `yaml:"endpoint" protobuf:"1"`
}

// Definition implements resource.Spec.
func (EventSinkConfigSpec) Definition() *resource.Definition { return eventSinkConfigDefinition }

// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// KmsgLogConfigID is the id of the only KmsgLogConfig.
const KmsgLogConfigID = "kmsg-log"

var kmsgLogConfigDefinition = domain.Type("KmsgLogConfigs", "Destinations={.destinations}")

// KmsgLogConfigSpec has the servers that the kernel's log is sent to.
type KmsgLogConfigSpec struct {
	Destinations []secrets.URL `yaml:"destinations" protobuf:"1"`
}

// Definition implements resource.Spec.
func (KmsgLogConfigSpec) Definition() *resource.Definition { return kmsgLogConfigDefinition }

// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

// EnvironmentID is the id of the only Environment.
const EnvironmentID = "environment"

// Addresses of proxies may have passwords.
var environmentDefinition = domain.Alias("env").Sensitive().Type("Environments", "Variables={.variables}")

// EnvironmentSpec is the environment variables of the machine configuration, NAME=VALUE in the order of the names. Process 1, containerd and
// the kubelet have them.
type EnvironmentSpec struct {
	Variables []string `yaml:"variables" protobuf:"1"`
}

// Definition implements resource.Spec.
func (EnvironmentSpec) Definition() *resource.Definition { return environmentDefinition }

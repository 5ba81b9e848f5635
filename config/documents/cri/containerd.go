// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// CRICustomizationConfig adds a part to the configuration of containerd, of version 3. Parts are merged in the order of their names: tables are
// merged, disabled_plugins and other lists at the top are appended, and other values are replaced. A part that configures a plugin that is
// disabled, such as NRI, enables it. A change restarts containerd, without its containers.
type CRICustomizationConfig struct {
	document.Named `yaml:",inline"`
	// The part, in TOML.
	Content string `yaml:"content" required:"true"`
}

var customization = document.Of[CRICustomizationConfig]("CRICustomizationConfig", `apiVersion: v1alpha1
kind: CRICustomizationConfig
name: 20-customization
content: |
    [plugins."io.containerd.cri.v1.images"]
    discard_unpacked_layers = false
`)

// CRIBaseRuntimeSpecConfig changes the specification that the specifications of all containers of Kubernetes begin with.
type CRIBaseRuntimeSpecConfig struct {
	document.Header `yaml:",inline"`
	// Keys of the OCI runtime specification. Objects are merged, lists and other values are replaced, and null removes a key.
	Overrides v1alpha1.Object `yaml:"overrides" required:"true" merge:"replace" maps:"machine.baseRuntimeSpecOverrides"`
}

var baseRuntimeSpec = document.Of[CRIBaseRuntimeSpecConfig]("CRIBaseRuntimeSpecConfig", `apiVersion: v1alpha1
kind: CRIBaseRuntimeSpecConfig
overrides:
    process:
        rlimits:
            - type: RLIMIT_NOFILE
              hard: 1024
              soft: 1024
`)

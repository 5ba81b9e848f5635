// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/documents/k8s"
	"github.com/seed-59268b81/talos/config/documents/runtime"
	"github.com/seed-59268b81/talos/config/effects"
	"github.com/seed-59268b81/talos/config/overlay"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// Mode is the environment that a machine runs in.
type Mode string

// The modes. Only metal installs to a disk that the configuration names.
const (
	Metal     Mode = "metal"
	Cloud     Mode = "cloud"
	Container Mode = "container"
)

// ParseMode parses a mode.
func ParseMode(text string) (Mode, error) {
	switch m := Mode(text); m {
	case Metal, Cloud, Container:
		return m, nil
	default:
		return "", fmt.Errorf("mode %q: want %s, %s or %s", text, Metal, Cloud, Container)
	}
}

// Finding is one thing that is wrong, Findings everything.
type (
	Finding  = document.Finding
	Findings = document.Findings
)

// Validate checks a configuration for a mode. The error, if not nil, is of type Findings. A configuration without a v1alpha1 document is one
// that only takes effect until the machine has another.
func Validate(cfg *config.Config, mode Mode) (warnings []string, err error) {
	c := &check{mode: mode, encrypted: config.Find[*k8s.KubeEtcdEncryptionConfig](cfg) != nil}
	main := config.Find[*v1alpha1.Config](cfg)

	if main == nil {
		c.warn("machine", "the configuration has no v1alpha1 document (the one with machine and cluster): these documents take effect, and the machine "+
			"still waits for a complete configuration")
	} else {
		merged, _ := overlay.Of(cfg)
		c.installs = config.Find[*runtime.UnattendedInstallConfig](cfg) != nil
		c.document(merged)
		c.documents(cfg, merged)
	}

	for _, d := range cfg.Documents() {
		if kind, known := config.KindOf(d.Kind()); known {
			c.kind(kind, d, main)
		}
	}

	c.links(cfg)
	c.firewall(cfg)

	warnings = append(c.warnings, effects.Warnings(cfg)...)

	if len(c.findings) > 0 {
		slices.SortStableFunc(c.findings, func(a, b Finding) int { return strings.Compare(a.Path, b.Path) })

		return warnings, slices.Compact(c.findings) // two documents of a kind may have the same problem
	}

	return warnings, nil
}

// check collects the findings.
type check struct {
	mode         Mode
	controlPlane bool
	encrypted    bool // by a KubeEtcdEncryptionConfig
	findings     Findings
	warnings     []string
	installs     bool // by an UnattendedInstallConfig
}

func (c *check) wrong(path, format string, args ...any) {
	c.findings = append(c.findings, Finding{Path: path, Text: fmt.Sprintf(format, args...)})
}

func (c *check) warn(path, format string, args ...any) {
	c.warnings = append(c.warnings, path+": "+fmt.Sprintf(format, args...))
}

func (c *check) document(main *v1alpha1.Config) {
	c.controlPlane = main.Machine.Type.IsControlPlane()

	if main.Persist != nil && !*main.Persist {
		c.warn("persist", "false has no effect: a configuration is always stored; remove the key")
	}

	c.machine(&main.Machine)
	c.network(&main.Machine.Network)
	c.kubelet(&main.Machine.Kubelet)
	c.install(&main.Machine.Install)
	c.registries(&main.Machine.Registries)
	c.encryption("machine.systemDiskEncryption.state", main.Machine.Encryption.State)
	c.encryption("machine.systemDiskEncryption.ephemeral", main.Machine.Encryption.Ephemeral)
	c.features(&main.Machine.Features)
	c.cluster(&main.Cluster)
	c.clusterNetwork(&main.Cluster.Network)

	if c.controlPlane {
		c.controlPlaneOnly(&main.Cluster)
	} else {
		c.worker(&main.Cluster)
	}

	c.discovery(main)
	c.security(main)
}

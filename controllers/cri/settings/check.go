// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"maps"
	"slices"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/config/view"
)

// Check returns the settings that the controllers could not apply.
func Check(cfg *view.Config) []validate.Finding {
	var findings []validate.Finding

	wrong := func(path string, err error) {
		findings = append(findings, validate.Finding{Path: path, Text: err.Error()})
	}

	for _, part := range cfg.ContainerdParts() {
		if _, err := DecodePart(part.Content); err != nil {
			wrong(partPath(part.Name), err)
		}
	}

	if overrides := cfg.RuntimeSpecOverrides(); len(overrides) > 0 {
		if _, err := RuntimeSpec(&specs.Spec{}, overrides); err != nil {
			wrong("machine.baseRuntimeSpecOverrides", err)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(cfg.Environment())) {
		if value := cfg.Environment()[name]; name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			findings = append(findings, validate.Finding{
				Path: "machine.env", Text: "is not the environment of a process: a name is empty or has =, or a text has a zero byte",
			})
		}
	}

	return findings
}

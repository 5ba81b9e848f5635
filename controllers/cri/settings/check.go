// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"maps"
	"net/url"
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
		decoded, err := DecodePart(part.Content)
		if err == nil && len(cfg.ImageRules()) > 0 && has(decoded, sandboxImage) {
			err = fmt.Errorf("sets %q, an image that is pulled without the rules of ImageVerificationConfig: remove it", sandboxImage)
		}

		if err != nil {
			wrong(partPath(part), err)
		}
	}

	if overrides := cfg.RuntimeSpecOverrides(); len(overrides) > 0 {
		if _, err := RuntimeSpec(&specs.Spec{}, overrides); err != nil {
			wrong("machine.baseRuntimeSpecOverrides", err)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(cfg.Environment())) {
		if err := checkVariable(name, cfg.Environment()[name]); err != nil {
			wrong("machine.env", err)
		}
	}

	return findings
}

// checkVariable refuses what cannot be in the environment of a process, and a proxy that would be ignored. The address of a proxy may have a
// password, and is not in the error.
func checkVariable(name, value string) error {
	if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
		return fmt.Errorf("%q is not the name of an environment variable, or its value has a zero byte", name)
	}

	if lower := strings.ToLower(name); value == "" || lower != "http_proxy" && lower != "https_proxy" {
		return nil
	}

	if !strings.Contains(value, "://") {
		value = "http://" + value
	}

	if u, err := url.Parse(value); err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return fmt.Errorf("%s is not the URL of a proxy: want one such as http://proxy.example.com:3128", name)
	}

	return nil
}

// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/cri"
	"github.com/seed-59268b81/talos/config/documents/security"
	"github.com/seed-59268b81/talos/layout"
)

// Registries configures the registries of container images.
func (c *Config) Registries() Registries { return c.main.Machine.Registries }

// ImageCacheEnabled reports whether images come from the image cache, if the machine has one. They do unless the configuration forbids it.
func (c *Config) ImageCacheEnabled() bool {
	return IsTrueOr(c.main.Machine.Features.ImageCache.LocalEnabled, true)
}

// RuntimeSpecOverrides are keys of the OCI runtime specification with which the containers of Kubernetes begin.
func (c *Config) RuntimeSpecOverrides() Object { return c.main.Machine.RuntimeSpec }

// ContainerdPart is a part of containerd's configuration.
type ContainerdPart struct {
	// Name of the document, or of the file.
	Name string
	// Path of a key of machine.files, or empty for a document.
	Path string
	// Content is the part, in TOML.
	Content string
}

// ContainerdParts are the parts that documents, and one file of machine.files, add to containerd's configuration, in the order of their names.
// The file is a part by its name like those of documents.
func (c *Config) ContainerdParts() []ContainerdPart {
	var parts []ContainerdPart

	for _, d := range config.All[*cri.CRICustomizationConfig](c.all) {
		parts = append(parts, ContainerdPart{Name: d.DocName, Content: d.Content})
	}

	for i, f := range c.main.Machine.Files {
		if f.Path == layout.CRICustomization {
			parts = append(parts, ContainerdPart{Name: path.Base(f.Path), Path: fmt.Sprintf("machine.files[%d].content", i), Content: f.Content})
		}
	}

	slices.SortStableFunc(parts, func(a, b ContainerdPart) int { return strings.Compare(a.Name, b.Name) })

	return parts
}

// Environment are environment variables by their names.
func (c *Config) Environment() map[string]string { return c.main.Machine.Env }

// Variables are the environment variables as NAME=VALUE, in the order of their names.
func (c *Config) Variables() []string {
	all := c.Environment()
	out := make([]string, 0, len(all))

	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+"="+all[name])
	}

	return out
}

// TrustedRoots are the certificates, in PEM, of the authorities that the machine trusts beside those of the image. It is empty without any.
func (c *Config) TrustedRoots() string {
	var out strings.Builder

	for _, d := range config.All[*security.TrustedRootsConfig](c.all) {
		out.WriteString(strings.TrimSpace(string(d.Certificates)))
		out.WriteString("\n")
	}

	return out.String()
}

// ImageRule says what is asked of images: one of Skip, Deny and PublicKey is set.
type ImageRule struct {
	// Image is the pattern of images that the rule is for.
	Image      string
	Skip, Deny bool
	// PublicKey is the key that must have signed them, in PEM.
	PublicKey string
}

// ImageRules are the rules by which images may be pulled, in their order.
func (c *Config) ImageRules() []ImageRule {
	d := config.Find[*security.ImageVerificationConfig](c.all)
	if d == nil {
		return nil
	}

	rules := make([]ImageRule, 0, len(d.Rules))

	for _, r := range d.Rules {
		rule := ImageRule{Image: r.Image, Skip: r.Skip, Deny: r.Deny}
		if r.PublicKey != nil {
			rule.PublicKey = r.PublicKey.Certificate
		}

		rules = append(rules, rule)
	}

	return rules
}

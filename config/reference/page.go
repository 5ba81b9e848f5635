// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// Page returns docs/configuration.md.
func Page() []byte {
	var b strings.Builder

	b.WriteString(`# Machine configuration

A machine configuration is a text of YAML documents. This page has every kind of document and every key, with what it does in this
version. It is generated from the code (` + "`go generate ./config/reference`" + `); the effect is derived from what controllers read.
` + "`talosctl gen config --with-docs --with-examples`" + ` writes configurations with these texts as comments, and with keys and documents that
could be added. ` + "`--talos-version`" + ` chooses the contract, the release that reads them: from 1.14 on, documents take the place of most keys of
the v1alpha1 document.
[configuration.schema.json](configuration.schema.json) is the JSON schema for editors.

A key that has no effect yet gives a warning when it is applied. A key that protects the machine is refused instead,
except for two that each configuration for 1.14 has ([configure.md](configure.md#what-a-machine-refuses)).

| Kind | Documents | For | Keys in effect |
|---|---|---|---|
`)

	all, inEffect := Kinds(), 0

	for _, k := range all {
		effective, total := 0, 0

		for _, key := range k.Keys {
			if key.isHeader() {
				continue
			}

			if total++; key.Effective {
				effective++
			}
		}

		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %d of %d |\n", k.Name, strings.ToLower(k.Name), k.count(), k.machines(), effective, total)

		if effective > 0 && k.Name != v1alpha1.Version {
			inEffect++
		}
	}

	fmt.Fprintf(&b, "\nOf the %d kinds beside the %s document, %d take effect, in whole or in part.\n", len(all)-1, v1alpha1.Version, inEffect)

	for _, k := range all {
		k.section(&b)
	}

	return []byte(b.String())
}

// isHeader reports whether a key says which document it is.
func (k *Key) isHeader() bool { return k.Path == "apiVersion" || k.Path == "kind" || k.Path == "name" }

func (k *Kind) named() bool {
	for _, key := range k.Keys {
		if key.Path == "name" {
			return true
		}
	}

	return false
}

func (k *Kind) count() string {
	if k.named() {
		return "one for each name"
	}

	return "one"
}

func (k *Kind) machines() string {
	if k.ControlPlane {
		return "control planes"
	}

	return "all machines"
}

func (k *Kind) section(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n", k.Name, k.About)

	if len(k.Replaces) > 0 {
		fmt.Fprintf(b, "\nIt takes the place of `%s` of the %s document: a configuration has the one or the other.\n", strings.Join(k.Replaces, "`, `"), v1alpha1.Version)
	}

	if k.Example != "" {
		fmt.Fprintf(b, "\n```yaml\n%s```\n", k.Example)
	}

	b.WriteString("\n| Key | Value | |\n|---|---|---|\n")

	for _, key := range k.Keys {
		if key.Path == "apiVersion" || key.Path == "kind" {
			continue
		}

		about := key.About
		switch {
		case key.Effective:
		case key.Protects:
			about = strings.TrimSpace(about + " **Refused: no effect yet.**")
		default:
			about = strings.TrimSpace(about + " **No effect yet.**")
		}

		fmt.Fprintf(b, "| `%s` | %s | %s |\n", key.Path, key.value(), strings.ReplaceAll(about, "|", `\|`))
	}
}

// value says what the value may be.
func (k *Key) value() string {
	out := k.Type

	if len(k.Values) > 0 {
		out = strings.TrimSuffix(out, "an enum") + "`" + strings.Join(k.Values, "`, `") + "`"
	}

	if k.Limited {
		out += fmt.Sprintf(", %d to %d", k.Least, k.Most)
	}

	if k.Required {
		out += "; required"
	}

	return out
}

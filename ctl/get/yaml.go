// SPDX-License-Identifier: Apache-2.0

package get

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/ctl/session"
)

// encodeYAML keeps the text of the spec as the node wrote it, comments included.
func encodeYAML(d document) ([]byte, error) {
	var b strings.Builder

	fmt.Fprintf(&b, "node: %s\n", yamlScalar(d.node))

	if d.change.event != nil {
		fmt.Fprintf(&b, "event: %s\n", strings.ToLower(d.change.event.String()))
	}

	b.WriteString("metadata:\n" + indent(yamlMetadata(d.change.resource.GetMetadata())))

	spec, err := yamlSpec(d.change.resource.GetSpec().GetYamlSpec())
	if err != nil {
		return nil, err
	}

	return []byte(b.String() + spec), nil
}

// yamlSpec nests the text of a spec below its key. The text is kept as it is if it means the same there, and is
// written again if it does not.
func yamlSpec(text string) (string, error) {
	if session.ManyDocuments(text) {
		return "spec: |\n" + indent(strings.TrimRight(text, "\n")+"\n"), nil
	}

	want, err := session.DecodePlain(text)
	if err != nil {
		return "", fmt.Errorf("decode spec: %w", err)
	}

	if want == nil {
		return "spec: {}\n", nil
	}

	text = strings.TrimPrefix(strings.TrimRight(text, "\n")+"\n", "---\n")

	for _, nested := range []string{"spec: " + text, "spec:\n" + indent(text)} {
		if got, err := session.DecodePlain(nested); err == nil && reflect.DeepEqual(got, map[string]any{"spec": want}) {
			return nested, nil
		}
	}

	return yamlValue(map[string]any{"spec": want}), nil
}

// yamlMetadata prints metadata in the order users know.
func yamlMetadata(md *cosiapi.Metadata) string {
	var b strings.Builder

	// A version is a number, or the word undefined.
	version := md.GetVersion()
	if _, err := strconv.ParseUint(version, 10, 64); err != nil {
		version = yamlScalar(version)
	}

	fmt.Fprintf(&b, "namespace: %s\n", yamlScalar(md.GetNamespace()))
	fmt.Fprintf(&b, "type: %s\n", yamlScalar(md.GetType()))
	fmt.Fprintf(&b, "id: %s\n", yamlScalar(md.GetId()))
	fmt.Fprintf(&b, "version: %s\n", version)

	if md.GetOwner() == "" {
		b.WriteString("owner:\n")
	} else {
		fmt.Fprintf(&b, "owner: %s\n", yamlScalar(md.GetOwner()))
	}

	fmt.Fprintf(&b, "phase: %s\n", yamlScalar(md.GetPhase()))
	fmt.Fprintf(&b, "created: %s\n", md.GetCreated().AsTime().Format("2006-01-02T15:04:05Z"))
	fmt.Fprintf(&b, "updated: %s\n", md.GetUpdated().AsTime().Format("2006-01-02T15:04:05Z"))

	if labels := md.GetLabels(); len(labels) > 0 {
		b.WriteString("labels:\n" + indent(yamlValue(labels)))
	}

	if annotations := md.GetAnnotations(); len(annotations) > 0 {
		b.WriteString("annotations:\n" + indent(yamlValue(annotations)))
	}

	if finalizers := md.GetFinalizers(); len(finalizers) > 0 {
		b.WriteString("finalizers:\n" + indent(yamlValue(finalizers)))
	}

	return b.String()
}

func yamlScalar(text string) string { return strings.TrimRight(yamlValue(text), "\n") }

func yamlValue(value any) string {
	content, err := yaml.Marshal(value)
	if err != nil {
		// Strings, and lists and maps of strings, always have a form.
		panic(err)
	}

	return string(content)
}

// indent shifts every line that is not empty by four spaces.
func indent(text string) string {
	out := strings.Split(text, "\n")
	for i, line := range out {
		if line != "" {
			out[i] = "    " + line
		}
	}

	return strings.Join(out, "\n")
}

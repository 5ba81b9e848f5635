// SPDX-License-Identifier: Apache-2.0

package get

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/ctl/session"
)

// encodeYAML keeps the text of the spec as the node wrote it, with its comments.
func encodeYAML(node string, c change) ([]byte, error) {
	var b strings.Builder

	b.WriteString(yamlValue(map[string]string{"node": node}))

	if c.event != nil {
		fmt.Fprintf(&b, "event: %s\n", strings.ToLower(c.event.String()))
	}

	b.WriteString("metadata:\n" + indent(yamlMetadata(c.resource.GetMetadata())))

	spec, err := yamlSpec(c.resource.GetSpec().GetYamlSpec())
	if err != nil {
		return nil, err
	}

	return []byte(b.String() + spec), nil
}

// yamlSpec nests the text of a spec below its key. It keeps the text if that has the same meaning there, and otherwise encodes the spec
// again.
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

// metadata is the metadata of a resource in the order that users know.
type metadata struct {
	Namespace, Type, ID string
	Version             any // a number, or undefined
	Owner               any
	Phase               string
	Created, Updated    time.Time
	Labels, Annotations map[string]string `yaml:",omitempty"`
	Finalizers          []string          `yaml:",omitempty"`
}

func yamlMetadata(md *cosiapi.Metadata) string {
	m := metadata{
		Namespace: md.GetNamespace(), Type: md.GetType(), ID: md.GetId(), Version: md.GetVersion(), Phase: md.GetPhase(),
		Created: md.GetCreated().AsTime().Truncate(time.Second), Updated: md.GetUpdated().AsTime().Truncate(time.Second),
		Labels: md.GetLabels(), Annotations: md.GetAnnotations(), Finalizers: md.GetFinalizers(),
	}

	if number, err := strconv.ParseUint(md.GetVersion(), 10, 64); err == nil {
		m.Version = number
	}

	if md.GetOwner() != "" {
		m.Owner = md.GetOwner()
	}

	return strings.Replace(yamlValue(m), "owner: null\n", "owner:\n", 1)
}

func yamlValue(value any) string {
	content, err := yaml.Marshal(value)
	if err != nil {
		panic(err) // strings, numbers, times, and lists and maps of strings can always be encoded
	}

	return string(content)
}

// indent indents every line that is not empty by four spaces.
func indent(text string) string {
	out := strings.Split(text, "\n")
	for i, line := range out {
		if line != "" {
			out[i] = "    " + line
		}
	}

	return strings.Join(out, "\n")
}

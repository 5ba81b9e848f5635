// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// TestSchemaTakesExamples validates configurations of existing clients and the example of each kind, and refuses an unknown key.
func TestSchemaTakesExamples(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}

	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}

	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("configuration.json", parsed); err != nil {
		t.Fatal(err)
	}

	schema, err := compiler.Compile("configuration.json")
	if err != nil {
		t.Fatal(err)
	}

	for name, text := range map[string][]byte{"control plane": configtest.ControlPlane(t), "worker": configtest.Worker(t)} {
		for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var d map[string]any
			if err := decoder.Decode(&d); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}

			if err := schema.Validate(d); err != nil {
				t.Errorf("%s of an existing client: %v", name, err)
			}
		}
	}

	for _, k := range Kinds() {
		if k.Name == v1alpha1.Version {
			continue
		}

		var example map[string]any
		if err := yaml.Unmarshal([]byte(k.Example), &example); err != nil {
			t.Fatal(err)
		}

		if err := schema.Validate(example); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}

		example["unknownKey"] = true

		if err := schema.Validate(example); err == nil {
			t.Errorf("%s: an unknown key is accepted", k.Name)
		}
	}
}

// TestExamplesOfExpressions: the example of an expression is one over what its document is about.
func TestExamplesOfExpressions(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}

	var parsed map[string]any
	if err := json.Unmarshal(text, &parsed); err != nil {
		t.Fatal(err)
	}

	for path, want := range map[string]string{
		"OOMConfig/triggerExpression": "memory_", "OOMConfig/cgroupRankingExpression": "class", "LinkAliasConfig/selector/match": "link.",
		"UserVolumeConfig/provisioning/diskSelector/match": "disk.", "UnattendedInstallConfig/provisioning/diskSelector/match": "disk.",
		"ExistingVolumeConfig/discovery/volumeSelector/match": "volume.",
	} {
		at := parsed["$defs"].(map[string]any)

		kind, keys, _ := strings.Cut(path, "/")
		at = at[kind].(map[string]any)

		for key := range strings.SplitSeq(keys, "/") {
			properties, _ := at["properties"].(map[string]any)
			if at, _ = properties[key].(map[string]any); at == nil {
				t.Fatalf("the schema has no %s", path)
			}
		}

		if got := fmt.Sprint(at["examples"]); !strings.Contains(got, want) {
			t.Errorf("%s: got the example %s, want one with %q", path, got, want)
		}
	}
}

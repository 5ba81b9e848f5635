// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/reference"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// compiled returns the schema, ready to validate documents.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()

	text, err := reference.Schema()
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

	return schema
}

// documents decodes the documents of a configuration, as an editor does.
func documents(t *testing.T, text []byte) (all []map[string]any) {
	t.Helper()

	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var d map[string]any
		if err := decoder.Decode(&d); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}

		all = append(all, d)
	}
}

// takes checks that the schema accepts a document, and refuses it with an unknown key.
func takes(t *testing.T, schema *jsonschema.Schema, name string, document map[string]any) {
	t.Helper()

	if err := schema.Validate(document); err != nil {
		t.Errorf("%s: %v", name, err)
	}

	document["unknownKey"] = true

	if err := schema.Validate(document); err == nil {
		t.Errorf("%s: an unknown key is accepted", name)
	}
}

// TestSchemaTakesExamples validates configurations of existing clients and the example of each kind.
func TestSchemaTakesExamples(t *testing.T) {
	schema := compiled(t)

	for name, text := range map[string][]byte{"control plane": configtest.ControlPlane(t), "worker": configtest.Worker(t)} {
		for _, d := range documents(t, text) {
			takes(t, schema, name+" of an existing client", d)
		}
	}

	for _, k := range reference.Kinds() {
		if k.Name == v1alpha1.Version {
			continue
		}

		for _, example := range documents(t, []byte(k.Example)) {
			takes(t, schema, k.Name, example)
		}
	}
}

// TestSchemaTakesGenerated validates what is generated at each contract, with defaults and with other options.
func TestSchemaTakesGenerated(t *testing.T) {
	schema := compiled(t)

	for contract := generate.Oldest; contract <= generate.Newest; contract++ {
		for options, opts := range map[string]generate.Options{
			"defaults": {},
			"others": {
				AdditionalSANs: []string{"api.example", "192.0.2.1"}, DNSDomain: "example.local", InstallDisk: "/dev/vda",
				RegistryMirrors: map[string][]string{"docker.io": {"http://127.0.0.1:5000"}}, LocalAPIServerPort: 7443,
				PodSubnets:     []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fc00:db8:10::/56")},
				ServiceSubnets: []netip.Prefix{netip.MustParsePrefix("10.2.0.0/16"), netip.MustParsePrefix("fc00:db8:20::/112")},
				NoInstall:      true, NoClusterDiscovery: true, AllowSchedulingOnControlPlanes: true,
			},
		} {
			opts.Contract, opts.Secrets = contract, configtest.Bundle(t)

			out, err := generate.New("demo", "https://10.5.0.2:6443", "", opts)
			if err != nil {
				t.Fatal(err)
			}

			for role, text := range map[string][]byte{"control plane": out.ControlPlane, "worker": out.Worker} {
				for _, d := range documents(t, text) {
					takes(t, schema, fmt.Sprintf("%s, %s, %s, %v", contract, options, role, d["kind"]), d)
				}
			}
		}
	}
}

// TestExamplesOfExpressions: the example of an expression is one over what its document is about.
func TestExamplesOfExpressions(t *testing.T) {
	text, err := reference.Schema()
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

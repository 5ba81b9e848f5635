// SPDX-License-Identifier: Apache-2.0

package schemas_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/controllers/k8s/schemas"
)

func TestCheck(t *testing.T) {
	for name, test := range map[string]struct {
		kind    string
		unknown schemas.Strictness
		text    string
		want    []validate.Finding
	}{
		"a pod":              {kind: schemas.Pod, text: "{metadata: {name: a, labels: {x: y}}, spec: {containers: [{name: c, ports: [{containerPort: 80}]}], hostNetwork: true}}"},
		"not an object":      {kind: schemas.Pod, text: "{spec: x}", want: []validate.Finding{{Path: "spec", Text: `want an object, got "x"`}}},
		"not a list":         {kind: schemas.Pod, text: "{spec: {containers: {name: c}}}", want: []validate.Finding{{Path: "spec.containers", Text: "want a list, got an object"}}},
		"in a list":          {kind: schemas.Pod, text: "{spec: {containers: [{name: c}, {name: 5}]}}", want: []validate.Finding{{Path: "spec.containers[1].name", Text: "want a string, got 5"}}},
		"in a map":           {kind: schemas.Pod, text: "{metadata: {labels: {x: true}}}", want: []validate.Finding{{Path: "metadata.labels.x", Text: "want a string, got true"}}},
		"not a boolean":      {kind: schemas.Pod, text: "{spec: {hostNetwork: 'yes'}}", want: []validate.Finding{{Path: "spec.hostNetwork", Text: `want true or false, got "yes"`}}},
		"a quantity":         {kind: schemas.Pod, text: "{spec: {containers: [{resources: {limits: {cpu: 1, memory: 1.5Gi}, requests: {cpu: 0.5}}}]}}"},
		"not a quantity":     {kind: schemas.Pod, text: "{spec: {containers: [{resources: {limits: {memory: 1 GB}}}]}}", want: []validate.Finding{{Path: "spec.containers[0].resources.limits.memory", Text: `want a quantity such as 500m or 1Gi, got "1 GB"`}}},
		"a port or its name": {kind: schemas.Pod, text: "{spec: {containers: [{livenessProbe: {httpGet: {port: http}, periodSeconds: 10}}, {livenessProbe: {httpGet: {port: 80}}}]}}"},
		"more than 32 bits":  {kind: schemas.Pod, text: "{spec: {priority: 4294967296}}", want: []validate.Finding{{Path: "spec.priority", Text: "want a whole number of 32 bits, got 4294967296"}}},
		"dropped":            {kind: schemas.Pod, text: "{spec: {container: []}}"},
		"nothing":            {kind: schemas.Pod, text: "{spec: {containers: }}"},
		"refused": {
			kind: schemas.KubeletConfiguration, unknown: schemas.RefuseUnknown, text: "{maxpods: 5, featureGates: {A: true}}",
			want: []validate.Finding{{Path: "maxpods", Text: "there is no such field"}},
		},
		"durations": {
			kind: schemas.KubeletConfiguration, unknown: schemas.RefuseUnknown, text: "{syncFrequency: 1m, fileCheckFrequency: 20}",
			want: []validate.Finding{{Path: "fileCheckFrequency", Text: "want a duration such as 30s, got 20"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(test.text), &object); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(test.want, schemas.Check(test.kind, object, test.unknown)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
)

// DecodeSpec decodes the fields of a resource's spec that T has.
func DecodeSpec[T any](r *cosiapi.Resource) (T, error) {
	var spec T

	if err := yaml.Unmarshal([]byte(r.GetSpec().GetYamlSpec()), &spec); err != nil {
		return spec, fmt.Errorf("decode the spec of %s: %w", r.GetMetadata().GetId(), err)
	}

	return spec, nil
}

// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"bytes"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// RuntimeSpec puts overrides over an OCI runtime specification: objects are merged, lists and other values are replaced, and null removes a
// key. A key that the specification does not have is refused.
func RuntimeSpec(base *specs.Spec, overrides map[string]any) ([]byte, error) {
	from, err := json.Marshal(base)
	if err != nil {
		return nil, fmt.Errorf("runtime specification: %w", err)
	}

	over, err := json.Marshal(overrides)
	if err != nil {
		return nil, fmt.Errorf("overrides of the runtime specification: %w", err)
	}

	merged, err := jsonpatch.MergePatch(from, over)
	if err != nil {
		return nil, fmt.Errorf("overrides of the runtime specification: %w", err)
	}

	decoder := json.NewDecoder(bytes.NewReader(merged))
	decoder.DisallowUnknownFields()

	var spec specs.Spec
	if err := decoder.Decode(&spec); err != nil {
		return nil, fmt.Errorf("is not an OCI runtime specification: %w", err)
	}

	return json.Marshal(spec)
}

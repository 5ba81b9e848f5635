// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Load parses the patches of a command line. Each argument is the patch itself, or "@" and the path of a
// file with it.
func Load(args []string) ([]Patch, error) {
	patches := make([]Patch, 0, len(args))

	for i, arg := range args {
		what, text := fmt.Sprintf("patch %d", i+1), []byte(arg)

		if path, isFile := strings.CutPrefix(arg, "@"); isFile {
			var err error

			if text, err = os.ReadFile(path); err != nil {
				return nil, fmt.Errorf("read patch: %w", err)
			}

			what = "patch " + path
		}

		patch, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}

		patches = append(patches, patch)
	}

	return patches, nil
}

// Parse parses one patch: a list is a JSON patch (in JSON or YAML), anything else is a partial configuration.
func Parse(text []byte) (patch Patch, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("the patch is empty")
	}

	// The YAML library may panic.
	defer func() {
		if r := recover(); r != nil {
			patch, err = nil, fmt.Errorf("the patch is not YAML: the parser panicked: %v", r)
		}
	}()

	var node yaml.Node

	// If the text is not YAML, parseStrategic returns the error.
	if err := yaml.Unmarshal(text, &node); err == nil && len(node.Content) == 1 && node.Content[0].Kind == yaml.SequenceNode {
		return parseJSON(node.Content[0])
	}

	return parseStrategic(text)
}

// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The output types of "gen config".
const (
	typeControlPlane = "controlplane"
	typeWorker       = "worker"
	typeTalosconfig  = "talosconfig"
)

var allTypes = []string{typeControlPlane, typeWorker, typeTalosconfig}

// destinations returns the path of each output. A single output may be written to a file or the standard output. Several outputs are
// written to a directory, which is created.
func destinations(types []string, output string) (map[string]string, error) {
	if len(types) == 0 {
		return nil, fmt.Errorf("--output-types is empty: want some of %s", strings.Join(allTypes, ", "))
	}

	for i, t := range types {
		if !slices.Contains(allTypes, t) {
			return nil, fmt.Errorf("--output-types: there is no type %q: want some of %s", t, strings.Join(allTypes, ", "))
		}

		if slices.Contains(types[:i], t) {
			return nil, fmt.Errorf("--output-types: %q is given twice", t)
		}
	}

	info, err := os.Stat(output)
	isDir := output == "" || err == nil && info.IsDir() || strings.HasSuffix(output, string(filepath.Separator))

	switch {
	case len(types) == 1 && !isDir:
		return map[string]string{types[0]: output}, nil
	case output == stdout:
		return nil, fmt.Errorf("--output - takes one output type: choose it with --output-types")
	}

	if output != "" {
		if err := os.MkdirAll(output, 0o755); err != nil {
			return nil, fmt.Errorf("create output directory: %w", err)
		}
	}

	paths := map[string]string{}

	for _, t := range types {
		name := t + ".yaml"
		if t == typeTalosconfig {
			name = t
		}

		paths[t] = filepath.Join(output, name)
	}

	return paths, nil
}

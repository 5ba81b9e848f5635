// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

var contract = regexp.MustCompile(`^v?([0-9]+)\.([0-9]+)(\.[0-9]+.*)?$`)

// checkContract checks that the named release reads what is generated.
func checkContract(version string) error {
	if version == "" {
		return nil
	}

	const oldestMinor = 12

	m := contract.FindStringSubmatch(version)
	if m == nil {
		return fmt.Errorf("--talos-version %q: want a release such as v1.12", version)
	}

	major, errMajor := strconv.Atoi(m[1])
	minor, errMinor := strconv.Atoi(m[2])

	if errMajor != nil || errMinor != nil || major < 1 || major == 1 && minor < oldestMinor {
		return fmt.Errorf("--talos-version %s: configurations are generated for v1.%d, which older releases cannot read", version, oldestMinor)
	}

	return nil
}

// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/build/hosttools"
)

// link creates a hard link, and its folders.
func link(source, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}

	return os.Link(source, target)
}

// run runs a program of the host. The error has its output. Times must come from env or options only.
func run(ctx context.Context, env []string, name string, args ...string) error {
	path, err := hosttools.LookPath(name)
	if err != nil {
		return fmt.Errorf("%s is not installed: %w", name, err)
	}

	var output bytes.Buffer

	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "SOURCE_DATE_EPOCH=")
	}), env...)
	cmd.Stdout, cmd.Stderr = &output, &output

	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(output.String()))
	}

	return nil
}

// scratch creates a folder next to a step's result, on the same file system, so that files can be linked.
func scratch(dir string) (path string, remove func(), err error) {
	path, err = os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".tree-")

	return path, func() { os.RemoveAll(path) }, err // an error leaves files that nothing uses
}

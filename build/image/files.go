// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/build/hosttools"
)

// linkOrCopy makes target the same file as source, or a copy where a link is not possible, with its folders.
func linkOrCopy(source, target string) error {
	if _, err := os.Stat(source); err != nil {
		return err
	}

	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}

	if err := os.Link(source, target); err == nil {
		return nil
	}

	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()

	info, err := in.Stat()
	if err != nil {
		return err
	}

	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}

	if _, err = io.Copy(out, in); err != nil {
		out.Close() // the copy failed already

		return fmt.Errorf("copy %s: %w", source, err)
	}

	return out.Close()
}

// linkTree makes target share the files of a tree; folders that are there are added to.
func linkTree(source, target string) error {
	return filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		rel, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}

		to := filepath.Join(target, rel)

		switch {
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case d.Type() == fs.ModeSymlink:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}

			return os.Symlink(link, to)
		default:
			return linkOrCopy(path, to)
		}
	})
}

// run calls a program of the building machine; its output is part of the error. Times come from env or
// options alone.
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

// scratch makes a folder beside a step's result, on the same file system, so that files can be linked.
func scratch(dir string) (path string, remove func(), err error) {
	path, err = os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".tree-")

	return path, func() { os.RemoveAll(path) }, err // the cache's next cleaning takes what is left
}

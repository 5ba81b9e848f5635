// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package files holds the controllers of the files in /etc that change while the machine runs.
package files

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/sys/mount"
)

// Binder bind-mounts a file; package mount has the real one.
type Binder func(source, target string) error

// Controllers of this domain.
func Controllers() []controller.Controller {
	return []controller.Controller{EtcFileController("/etc", layout.EtcDir, func(source, target string) error {
		return mount.Bind(source, target, mount.NoSuid|mount.NoDev|mount.NoExec)
	})}
}

// EtcFileController writes the files of EtcFileSpecs. The root is read-only, so each file is written to a folder in memory and
// bind-mounted over its path in /etc. Later changes are written in place, because the mount is of the file and not of its name.
//
// A file whose spec is destroyed stays as it is until the next boot: an empty /etc/hosts would help no one.
func EtcFileController(etc, shadow string, bind Binder) controller.Controller {
	c := &etcFiles{etc: etc, shadow: shadow, bind: bind, bound: map[string]bool{}}

	return transform.Map[files.EtcFileSpecSpec, files.EtcFileStatusSpec]{
		Name: "files.EtcFileController",
		Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[files.EtcFileSpecSpec], out *files.EtcFileStatusSpec) error {
			out.SpecVersion = in.Metadata().VersionString()

			return c.write(in.Metadata().ID(), in.TypedSpec())
		},
	}.Controller()
}

// elsewhere are the files outside /etc. They are written directly, without a bind mount.
var elsewhere = map[string]string{files.PodResolvConf: files.PodResolvConfPath}

type etcFiles struct {
	etc, shadow string
	bind        Binder
	bound       map[string]bool
}

func (c *etcFiles) write(name string, spec *files.EtcFileSpecSpec) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("write /etc/%s: the path is outside /etc", name)
	}

	source, target := filepath.Join(c.shadow, name), filepath.Join(c.etc, name)

	path, isElsewhere := elsewhere[name]
	if isElsewhere {
		source, target = path, path
	}

	err := os.MkdirAll(filepath.Dir(source), 0o755)
	if err == nil {
		err = writeInPlace(source, []byte(spec.Contents), cmp.Or(spec.Mode.Perm(), 0o644))
	}

	if err == nil && !isElsewhere && !c.bound[name] {
		err = c.bind(source, target)
		c.bound[name] = err == nil
	}

	if err != nil {
		return fmt.Errorf("write %s: %w", target, err)
	}

	return nil
}

// writeInPlace replaces a file's content with one write, so that no reader sees it empty, and then sets its length.
func writeInPlace(path string, content []byte, mode fs.FileMode) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return os.Chmod(path, mode)
	}

	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, mode)
	if err != nil {
		return err
	}

	_, err = f.WriteAt(content, 0)

	return errors.Join(err, f.Truncate(int64(len(content))), f.Chmod(mode), f.Close())
}

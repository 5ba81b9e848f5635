// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"crypto"
	"path/filepath"
	"strings"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/install/release"
)

// installerStep creates the release: the image with what a machine installs.
func installerStep(o Options) graph.Step {
	published := artifact.Published.Installer()
	name := strings.TrimSuffix(filepath.Base(published), ".tar")

	return graph.Step{
		Name:   artifact.TargetInstaller,
		About:  "the installer's image",
		Needs:  []string{artifact.TargetUKI, artifact.TargetInitramfs, artifact.TargetBoot, artifact.TargetGRUB},
		Inputs: o.installInputs(o.Version, o.Cmdline()),
		Run: func(_ context.Context, w *graph.Work) error {
			boot, grub := w.Needs[artifact.TargetInitramfs].Dir, w.Needs[artifact.TargetGRUB].Dir

			return MakeInstaller(w.Dir, name, release.Manifest{Version: o.Version, Cmdline: o.Cmdline()}, map[string]string{
				release.UKI:       filepath.Join(w.Needs[artifact.TargetUKI].Dir, o.ukiName()),
				release.Loader:    filepath.Join(w.Needs[artifact.TargetBoot].Dir, artifact.SystemdBoot),
				release.Kernel:    filepath.Join(boot, "vmlinuz"),
				release.Initramfs: filepath.Join(boot, "initramfs.img"),
				release.GRUBBoot:  filepath.Join(grub, artifact.GRUBBoot),
				release.GRUBCore:  filepath.Join(grub, artifact.GRUBCore),
			}, nil)
		},
		Publish: map[string]string{name + ".tar": published},
	}
}

// MakeInstaller writes the image of a release as the layout dir/name, and that as the archive dir/name.tar, for talosctl image import. The
// files, by their names in the release, are on the file system of dir. With a key, the archive has the image's signature, too.
func MakeInstaller(dir, name string, m release.Manifest, files map[string]string, key crypto.Signer) error {
	tmp, remove, err := scratch(dir)
	if err != nil {
		return err
	}
	defer remove()

	m.Arch = "amd64"

	layers, err := release.Trees(tmp, m, files)
	if err != nil {
		return err
	}

	layout := filepath.Join(dir, name)

	if err := ociimage.Write(layout, ociimage.Image{
		Reference: generate.InstallerRepository + ":" + m.Version,
		Layers:    []ociimage.Tree{ociimage.Tree(layers[0]), ociimage.Tree(layers[1])},
	}); err != nil {
		return err
	}

	if key != nil {
		if err := ociimage.Sign(layout, key); err != nil {
			return err
		}
	}

	return ociimage.Archive(layout+".tar", layout)
}

// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/build/source"
)

// recipe is the content of an image. Every image except a bare one has a base layer below: users, /tmp, the links of a
// merged /usr, and CA certificates.
type recipe struct {
	// reference is the image's name, with registry and tag.
	reference string
	// sets are steps whose whole result is a layer, lowest first.
	sets []string
	// layers are above the sets.
	layers []layer
	// bare omits the base layer.
	bare   bool
	config v1.Config
}

// layer has files from results of steps, and files, links and folders of its own.
type layer struct {
	take []taken
	// files are contents by path, links are targets by path.
	files, links map[string]string
	dirs         []string
}

// taken is a file of a step's result, and its path in the image.
type taken struct {
	step, file, target string
	// mode, if not zero, overrides the file's mode.
	mode fs.FileMode
}

const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// needs returns the steps whose results the image needs.
func (r recipe) needs() []string {
	needs := slices.Clone(r.sets)

	for _, l := range r.layers {
		for _, t := range l.take {
			needs = append(needs, t.step)
		}
	}

	if !r.bare {
		needs = append(needs, "certificates")
	}

	slices.Sort(needs)

	return slices.Compact(needs)
}

func (r recipe) step(root, name string) graph.Step {
	config, _ := json.Marshal(r.config)

	return graph.Step{
		Name:   name,
		About:  r.reference,
		Needs:  r.needs(),
		Heavy:  true, // compression
		Inputs: source.Inputs(root, imageSources, r.reference, string(config), fmt.Sprint(r.bare, r.sets, r.layers)),
		Run:    r.make,
	}
}

// make builds the image.
func (r recipe) make(ctx context.Context, w *graph.Work) error {
	scratch, err := os.MkdirTemp(filepath.Dir(w.Dir), "layers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)

	img := ociimage.Image{Reference: r.reference, Config: r.config}
	img.Config.Env = append([]string{searchPath}, img.Config.Env...)

	if !r.bare {
		base := filepath.Join(scratch, "base")
		if err := baseTree(base, w.Needs["certificates"].Dir); err != nil {
			return err
		}

		img.Layers = append(img.Layers, ociimage.Tree(base))
	}

	for _, s := range r.sets {
		tree := filepath.Join(scratch, s)
		if err := graph.LinkTree(w.Needs[s].Dir, tree); err != nil {
			return err
		}

		if err := linkSet(ctx, s, tree); err != nil {
			return err
		}

		img.Layers = append(img.Layers, ociimage.Tree(tree))
	}

	for i, l := range r.layers {
		tree := filepath.Join(scratch, fmt.Sprintf("layer-%d", i))
		if err := l.lay(tree, w.Needs); err != nil {
			return fmt.Errorf("image %s: %w", r.reference, err)
		}

		img.Layers = append(img.Layers, ociimage.Tree(tree))
	}

	w.Progress("packing %s", path.Base(r.reference))

	return ociimage.Write(w.Dir, img)
}

// lay adds the layer's content to dir.
func (l layer) lay(dir string, from graph.Results) error {
	var errs []error

	put := func(name string, write func(to string) error) {
		to := filepath.Join(dir, name)

		err := os.MkdirAll(filepath.Dir(to), 0o755)
		if err == nil {
			err = write(to)
		}

		errs = append(errs, err)
	}

	for _, t := range l.take {
		put(t.target, func(to string) error { return t.place(filepath.Join(from[t.step].Dir, t.file), to) })
	}

	for name, content := range l.files {
		put(name, func(to string) error { return os.WriteFile(to, []byte(content), 0o644) })
	}

	for name, target := range l.links {
		put(name, func(to string) error { return os.Symlink(target, to) })
	}

	for _, name := range l.dirs {
		put(name, func(to string) error { return os.MkdirAll(to, 0o755) })
	}

	return errors.Join(errs...)
}

// place links the file. It copies a file with another mode: a link would change the mode in the step's result too.
func (t taken) place(from, to string) error {
	if t.mode == 0 {
		return os.Link(from, to)
	}

	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}

	// Set the mode last: writing to a file clears set-user-ID.
	return errors.Join(os.WriteFile(to, raw, 0o755), os.Chmod(to, t.mode))
}

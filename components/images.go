// SPDX-License-Identifier: Apache-2.0

package components

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/seed-59268b81/talos/components/graph"
	"github.com/seed-59268b81/talos/components/ociimage"
	"github.com/seed-59268b81/talos/config/images"
)

// recipe says what an image of one repository is made of. Every image but pause has a base below this: users, a /tmp,
// the merged layout and CA certificates.
type recipe struct {
	repository string
	// module and program are the step and its result that the image is for; target is where the program goes.
	module, program, target string
	// more are programs of the module that go beside it.
	more []string
	// sets are Debian sets, each a layer, below the program.
	sets []string
	// bare leaves the base out.
	bare   bool
	config v1.Config
}

// recipes are keyed by step name, image-NAME. That they are just those of images.Cache is checked at the start.
func imageRecipes() map[string]recipe {
	// Kubernetes' own manifests name the program by its path, and so do ours.
	program := func(repository, module, name string, sets ...string) recipe {
		target := "usr/local/bin/" + name

		return recipe{
			repository: repository, module: module, program: name, target: target, sets: sets,
			config: v1.Config{Entrypoint: []string{"/" + target}},
		}
	}

	return map[string]recipe{
		"image-kube-apiserver":          program(images.KubeAPIServer, "kubernetes", "kube-apiserver"),
		"image-kube-controller-manager": program(images.KubeControllerManager, "kubernetes", "kube-controller-manager"),
		"image-kube-scheduler":          program(images.KubeScheduler, "kubernetes", "kube-scheduler"),
		"image-kube-proxy":              program(images.KubeProxy, "kubernetes", "kube-proxy", "firewall-files"),
		// busybox for the shell that fsck.xfs is written for; the tools above it hide its own mount and the like.
		"image-kubelet": program(images.Kubelet, "kubernetes", "kubelet", "busybox", "firewall-files", "kubelet-files"),
		"image-etcd": {
			// etcdutl restores snapshots.
			repository: images.Etcd, module: "etcd", program: "etcd", target: "usr/local/bin/etcd", more: []string{"etcdutl"},
			config: v1.Config{Entrypoint: []string{"/usr/local/bin/etcd"}},
		},
		"image-pause": {
			repository: images.Pause, module: "pause", program: "pause", target: "pause", bare: true,
			config: v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535"},
		},
		"image-coredns": {
			repository: images.CoreDNS, module: "coredns", program: "coredns", target: "coredns",
			config: v1.Config{Entrypoint: []string{"/coredns"}, User: "65532:65532", WorkingDir: "/"},
		},
		"image-flannel": {
			// busybox for the shell and cp, by which its DaemonSet installs the CNI configuration.
			repository: images.Flannel, module: "flannel", program: "flanneld", target: "opt/bin/flanneld",
			sets:   []string{"firewall-files", "busybox"},
			config: v1.Config{Entrypoint: []string{"/opt/bin/flanneld"}},
		},
		"image-agnhost": {
			// busybox for a shell, wget and nslookup, which people use to look around in a cluster.
			repository: images.Agnhost, module: "kubernetes", program: "agnhost", target: "agnhost",
			sets:   []string{"busybox"},
			config: v1.Config{Entrypoint: []string{"/agnhost"}, Cmd: []string{"pause"}},
		},
	}
}

const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// imageSteps returns a step for each image, and one that joins them into a layout.
func imageSteps(root string) ([]graph.Step, error) {
	references, err := byRepository(images.Cache())
	if err != nil {
		return nil, err
	}

	var (
		steps   []graph.Step
		recipes = imageRecipes()
		names   = slices.Sorted(maps.Keys(recipes))
	)

	for _, name := range names {
		r := recipes[name]

		reference, ok := references[r.repository]
		if !ok {
			return nil, fmt.Errorf("%s: config/images does not list %s in the cache", name, r.repository)
		}

		delete(references, r.repository)

		steps = append(steps, imageStep(root, name, reference, r))
	}

	for _, reference := range references {
		return nil, fmt.Errorf("config/images lists %s in the cache, and components has no recipe for it", reference)
	}

	return append(steps, graph.Step{
		Name:  TargetImages,
		About: "all container images as one layout",
		Needs: names,
		Inputs: func(context.Context, graph.Results) ([]string, error) {
			hash, err := recipeHash(root, imageRecipe)

			return []string{hash}, err
		},
		Run: func(_ context.Context, w *graph.Work) error {
			var layouts []string
			for _, name := range names {
				layouts = append(layouts, w.Needs[name].Dir)
			}

			return ociimage.Merge(w.Dir, layouts...)
		},
		Publish: map[string]string{".": "components/image-layout"},
	}), nil
}

// byRepository splits references into repositories; one of two tags is an error, since a recipe has one version.
func byRepository(references []string) (map[string]string, error) {
	found := map[string]string{}

	for _, ref := range references {
		repository, _, ok := strings.Cut(ref, ":")
		if !ok {
			return nil, fmt.Errorf("image reference %q has no tag", ref)
		}

		if other, twice := found[repository]; twice {
			return nil, fmt.Errorf("images %s and %s are one repository in two versions", other, ref)
		}

		found[repository] = ref
	}

	return found, nil
}

func imageStep(root, name, reference string, r recipe) graph.Step {
	needs := append([]string{r.module}, r.sets...)
	if !r.bare {
		needs = append(needs, "certificates")
	}

	return graph.Step{
		Name:  name,
		About: reference,
		Needs: needs,
		Heavy: true, // compression
		Inputs: func(context.Context, graph.Results) ([]string, error) {
			hash, err := recipeHash(root, imageRecipe)
			config, _ := json.Marshal(r.config)

			return []string{reference, hash, string(config)}, err
		},
		Run: func(ctx context.Context, w *graph.Work) error {
			return r.make(ctx, reference, w)
		},
	}
}

// make packs the image.
func (r recipe) make(ctx context.Context, reference string, w *graph.Work) error {
	scratch, err := os.MkdirTemp(filepath.Dir(w.Dir), "layers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)

	img := ociimage.Image{Reference: reference, Config: r.config}
	img.Config.Env = []string{searchPath}

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

		if link := setLinks[s]; link != nil {
			if err := link(ctx, tree); err != nil {
				return err
			}
		}

		img.Layers = append(img.Layers, ociimage.Tree(tree))
	}

	own := filepath.Join(scratch, "program")
	target := filepath.Join(own, r.target)

	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}

	if err := os.Link(filepath.Join(w.Needs[r.module].Dir, r.program), target); err != nil {
		return err
	}

	for _, name := range r.more {
		if err := os.Link(filepath.Join(w.Needs[r.module].Dir, name), filepath.Join(filepath.Dir(target), name)); err != nil {
			return err
		}
	}

	img.Layers = append(img.Layers, ociimage.Tree(own))

	w.Progress("packing %s", path.Base(reference))

	return ociimage.Write(w.Dir, img)
}

// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/build/source"
	"github.com/seed-59268b81/talos/config/images"
)

// imageRecipes are keyed by step name, image-NAME. That they are just those of images.Cache is checked at the start.
func imageRecipes() map[string]recipe {
	// Kubernetes' own manifests name the program by its path, and so do ours.
	program := func(repository, name string, sets ...string) recipe {
		target := "usr/local/bin/" + name

		return recipe{
			repository: repository, sets: sets, layers: []layer{{take: []taken{{"kubernetes", name, target, 0}}}},
			config: v1.Config{Entrypoint: []string{"/" + target}},
		}
	}

	return map[string]recipe{
		"image-kube-apiserver":          program(images.KubeAPIServer, "kube-apiserver"),
		"image-kube-controller-manager": program(images.KubeControllerManager, "kube-controller-manager"),
		"image-kube-scheduler":          program(images.KubeScheduler, "kube-scheduler"),
		"image-kube-proxy":              program(images.KubeProxy, "kube-proxy", "firewall-files"),
		// busybox for the shell that fsck.xfs is written for; the tools above it hide its own mount and the like.
		"image-kubelet": program(images.Kubelet, "kubelet", "busybox", "firewall-files", "kubelet-files"),
		"image-etcd":    etcdRecipe(),
		"image-pause": {
			repository: images.Pause, layers: []layer{{take: []taken{{"pause", "pause", "pause", 0}}}}, bare: true,
			config: v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535"},
		},
		"image-coredns": {
			repository: images.CoreDNS, layers: []layer{corednsLayer},
			config: v1.Config{Entrypoint: []string{"/coredns"}, User: "65532:65532", WorkingDir: "/"},
		},
		"image-flannel": {
			// busybox for the shell and cp, by which its DaemonSet installs the CNI configuration.
			repository: images.Flannel, sets: []string{"firewall-files", "busybox"},
			layers: []layer{{take: []taken{{"flannel", "flanneld", "opt/bin/flanneld", 0}}}},
			config: v1.Config{Entrypoint: []string{"/opt/bin/flanneld"}},
		},
		"image-agnhost": agnhostRecipe(),
	}
}

func etcdRecipe() recipe {
	return recipe{
		repository: images.Etcd,
		// etcdutl restores snapshots.
		layers: []layer{{take: []taken{
			{"etcd", "etcd", "usr/local/bin/etcd", 0}, {"etcd", "etcdutl", "usr/local/bin/etcdutl", 0},
		}}},
		config: v1.Config{Entrypoint: []string{"/usr/local/bin/etcd"}},
	}
}

// corednsLayer is of two images, in whose layout it is one blob.
var corednsLayer = layer{take: []taken{{"coredns", "coredns", "coredns", 0}}}

// agnhostRecipe makes what the Dockerfile in test/images/agnhost of the Kubernetes release makes: busybox and the tools
// that tests call in it, CoreDNS, and the program with what its subcommands read. There is one image of this name, not a
// small one for users and a full one for tests: what `kubectl exec` finds in it must not depend on how a cluster was made.
func agnhostRecipe() recipe {
	return recipe{
		repository: images.Agnhost,
		sets:       []string{"busybox", "test-tools", "pause-registry"},
		layers: []layer{corednsLayer, {
			take: []taken{
				{"kubernetes", "agnhost", "agnhost", 0},
				{"test-files", "localhost.crt", "localhost.crt", 0},
				{"test-files", "localhost.key", "localhost.key", 0},
			},
			links: map[string]string{"agnhost-2": "agnhost"},
			dirs:  []string{"uploads"},
			files: map[string]string{
				"etc/passwd": baseFiles["etc/passwd"] +
					"user-defined-in-image:x:1000:1000:user-defined-in-image:/home/user-defined-in-image:/bin/sh\n",
				"etc/group": baseFiles["etc/group"] +
					"user-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n",
			},
		}},
		config: v1.Config{
			Entrypoint: []string{"/agnhost"}, Cmd: []string{"pause"},
			ExposedPorts: ports("80/tcp", "8080/tcp", "8081/tcp", "9376/tcp", "5000/tcp"),
		},
	}
}

func ports(names ...string) map[string]struct{} {
	set := map[string]struct{}{}
	for _, name := range names {
		set[name] = struct{}{}
	}

	return set
}

// Steps returns a step for each image of a node and of Kubernetes' tests, and those that join them into layouts.
func Steps(root string) ([]graph.Step, error) {
	steps, err := imageSteps(root)

	return append(append(steps, conformanceSteps(root)...), registryStep(root)), err
}

// imageSteps returns a step for each image of a node, and one that joins them into a layout.
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
		return nil, fmt.Errorf("config/images lists %s in the cache, and build has no recipe for it", reference)
	}

	return append(steps, layoutStep(root, artifact.TargetImages, "all container images as one layout", artifact.Published.ImageLayout(), names)), nil
}

// imageSources make container images.
var imageSources = []string{
	"containerimage/images.go", "containerimage/recipe.go", "containerimage/trees.go", "ociimage/layer.go", "ociimage/layout.go", "debian/selection.go",
}

// layoutStep merges the layouts of steps into one, and publishes it.
func layoutStep(root, name, about, published string, needs []string) graph.Step {
	return graph.Step{
		Name:  name,
		About: about,
		Needs: needs,
		Inputs: func(context.Context, graph.Results) ([]string, error) {
			hash, err := source.Of(root, imageSources...)

			return []string{hash}, err
		},
		Run: func(_ context.Context, w *graph.Work) error {
			var layouts []string
			for _, name := range needs {
				layouts = append(layouts, w.Needs[name].Dir)
			}

			return ociimage.Merge(w.Dir, layouts...)
		},
		Publish: map[string]string{".": published},
	}
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

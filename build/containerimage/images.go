// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/build/source"
	"github.com/seed-59268b81/talos/config/images"
)

// imageRecipes are keyed by step name, image-NAME. A test checks that they are exactly the images of images.Cache.
func imageRecipes() map[string]recipe {
	// Kubernetes' manifests name the program by its path, and so do ours.
	program := func(reference, name string, sets ...string) recipe {
		target := "usr/local/bin/" + name

		return recipe{
			reference: reference, sets: sets, layers: []layer{{take: []taken{{"kubernetes", name, target, 0}}}},
			config: v1.Config{Entrypoint: []string{"/" + target}},
		}
	}

	return map[string]recipe{
		"image-kube-apiserver":          program(images.DefaultKubeAPIServer, "kube-apiserver"),
		"image-kube-controller-manager": program(images.DefaultKubeControllerManager, "kube-controller-manager"),
		"image-kube-scheduler":          program(images.DefaultKubeScheduler, "kube-scheduler"),
		"image-kube-proxy":              program(images.DefaultKubeProxy, "kube-proxy", "firewall-files"),
		// fsck.xfs is a shell script and needs busybox. The tools in the layers above hide busybox' own mount and others.
		"image-kubelet": program(images.DefaultKubelet, "kubelet", "busybox", "firewall-files", "kubelet-files"),
		"image-etcd":    etcdRecipe(images.DefaultEtcd),
		"image-pause": {
			reference: images.DefaultPause, layers: []layer{{take: []taken{{"pause", "pause", "pause", 0}}}}, bare: true,
			config: v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535"},
		},
		"image-coredns": {
			reference: images.DefaultCoreDNS, layers: []layer{corednsLayer},
			config: v1.Config{Entrypoint: []string{"/coredns"}, User: "65532:65532", WorkingDir: "/"},
		},
		"image-flannel": {
			// Its DaemonSet installs the CNI configuration with busybox' shell and cp.
			reference: images.DefaultFlannel, sets: []string{"firewall-files", "busybox"},
			layers: []layer{{take: []taken{{"flannel", "flanneld", "opt/bin/flanneld", 0}}}},
			config: v1.Config{Entrypoint: []string{"/opt/bin/flanneld"}},
		},
		"image-kube-network-policies": {
			reference: images.DefaultKubeNetworkPolicies, layers: []layer{{take: []taken{{"kube-network-policies", "netpol", "bin/netpol", 0}}}},
			// It removes its rules when it is interrupted, but not when it is terminated: after that, nothing would answer for packets that
			// they pass to it.
			config: v1.Config{Cmd: []string{"/bin/netpol"}, StopSignal: "SIGINT"},
		},
		"image-agnhost": agnhostRecipe(images.DefaultAgnhost),
	}
}

func etcdRecipe(reference string) recipe {
	return recipe{
		reference: reference,
		// etcdutl restores snapshots.
		layers: []layer{{take: []taken{
			{"etcd", "etcd", "usr/local/bin/etcd", 0}, {"etcd", "etcdutl", "usr/local/bin/etcdutl", 0},
		}}},
		config: v1.Config{Entrypoint: []string{"/usr/local/bin/etcd"}},
	}
}

// corednsLayer is shared by two images, so that the layout has it once.
var corednsLayer = layer{take: []taken{{"coredns", "coredns", "coredns", 0}}}

// agnhostRecipe has the content of the Dockerfile test/images/agnhost in the Kubernetes release: busybox and the tools that
// tests call, CoreDNS, and the program with the files that its subcommands read. There is one image with this name, not a
// small one for users and a full one for tests: the tools in the image must be the same in every cluster.
func agnhostRecipe(reference string) recipe {
	return recipe{
		reference: reference,
		sets:      []string{"busybox", "test-tools", "pause-registry"},
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

// Steps returns a step for each image of a node and of Kubernetes' tests, and the steps that merge them into layouts.
func Steps(root string) []graph.Step {
	tests := conformanceRecipes()

	return slices.Concat(
		imageSteps(root, imageRecipes(), artifact.TargetImages, "all container images as one layout", artifact.Published.ImageLayout()),
		imageSteps(root, tests, artifact.TargetConformanceImages,
			fmt.Sprintf("the images of nodes and of Kubernetes' end-to-end tests, %d more, as one layout", len(tests)),
			artifact.Published.ConformanceImageLayout(), artifact.TargetImages),
		[]graph.Step{registryStep(root)},
	)
}

// imageSources are the sources that build container images.
var imageSources = []string{
	"containerimage/images.go", "containerimage/recipe.go", "containerimage/trees.go", "ociimage/layer.go", "ociimage/layout.go", "debian/selection.go",
}

// imageSteps returns a step for each recipe, and one that merges their layouts with those of other steps and publishes the result.
func imageSteps(root string, recipes map[string]recipe, name, about, published string, others ...string) []graph.Step {
	var (
		steps []graph.Step
		names = slices.Sorted(maps.Keys(recipes))
		needs = append(others, names...)
	)

	for _, name := range names {
		steps = append(steps, recipes[name].step(root, name))
	}

	return append(steps, graph.Step{
		Name:   name,
		About:  about,
		Needs:  needs,
		Inputs: source.Inputs(root, imageSources),
		Run: func(_ context.Context, w *graph.Work) error {
			var layouts []string
			for _, name := range needs {
				layouts = append(layouts, w.Needs[name].Dir)
			}

			return ociimage.Merge(w.Dir, layouts...)
		},
		Publish: map[string]string{".": published},
	})
}

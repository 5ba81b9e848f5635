// SPDX-License-Identifier: Apache-2.0

package program

import (
	"strings"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/config/images"
)

// module is a folder with its own go.mod, and the programs built from it.
type module struct {
	// folder, below modules/, is also the step's name.
	folder string
	about  string
	// upstream is the released module, and version its release. A test checks that the folder's go.mod has the same.
	upstream, version string
	programs          []program
	tags              []string
	// variables are set by the linker. The value {built} is replaced by the time of the upstream release.
	variables map[string]string
	// cgo links statically with C libraries.
	cgo bool
	// joined makes one file of the programs, which have most of their code in common.
	joined bool
	// onDemand modules are not built by `make build`.
	onDemand bool
}

// program is a main package and the name of its program.
type program struct {
	name, pkg string
	tags      []string
	// bin publishes the program for users.
	bin bool
	// test builds the test program of pkg.
	test bool
}

const cniPlugins = "github.com/containernetworking/plugins/plugins/"

// modules returns all modules of third-party Go programs. Tags and variables are those of each project's release build,
// except as noted.
func modules() []module { return append(nodeModules(), testModules()...) }

// nodeModules returns those of programs that nodes run.
func nodeModules() []module {
	return []module{
		kubernetes(),
		{
			// Without the snapshotters for file systems that we do not use, and without the trace exporters.
			folder: "containerd", about: "container runtime",
			upstream: "github.com/containerd/containerd/v2", version: images.ContainerdVersion,
			tags: []string{
				"urfave_cli_no_docs", "osusergo", "netgo", "static_build",
				"no_btrfs", "no_devmapper", "no_zfs", "no_tracing",
			},
			variables: map[string]string{
				"github.com/containerd/containerd/v2/version.Version": images.ContainerdVersion,
			},
			programs: []program{
				{name: "containerd", pkg: "github.com/containerd/containerd/v2/cmd/containerd"},
				{
					name: "containerd-shim-runc-v2", pkg: "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
					tags: []string{"no_grpc"},
				},
			},
		},
		{
			// Without libpathrs, which Debian does not have: runc then uses the same checks in Go.
			folder: "runc", about: "low-level container runtime",
			upstream: "github.com/opencontainers/runc", version: images.RuncVersion,
			tags:     []string{"seccomp", "urfave_cli_no_docs", "netgo", "osusergo"},
			cgo:      true,
			programs: []program{{name: "runc", pkg: "github.com/opencontainers/runc"}},
		},
		{
			folder: "cni", about: "CNI plugins",
			upstream: "github.com/containernetworking/plugins", version: images.CNIPluginsVersion,
			variables: map[string]string{
				"github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion": images.CNIPluginsVersion,
			},
			joined:   true,
			programs: programsIn(cniPlugins, "ipam/host-local", "main/bridge", "main/loopback", "meta/bandwidth", "meta/firewall", "meta/portmap"),
		},
		{
			folder: "flannel-cni", about: "flannel's CNI plugin",
			upstream: "github.com/containernetworking/plugins", version: images.FlannelCNIVersion,
			variables: map[string]string{
				"github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion": images.FlannelCNIVersion,
			},
			programs: programsIn(cniPlugins, "meta/flannel"),
		},
		{
			folder: "etcd", about: "etcd",
			upstream: "go.etcd.io/etcd/server/v3", version: images.EtcdVersion,
			programs: []program{{name: "etcd", pkg: "go.etcd.io/etcd/server/v3"}, {name: "etcdutl", pkg: "go.etcd.io/etcd/etcdutl/v3"}},
		},
		{
			folder: "coredns", about: "CoreDNS",
			upstream: "github.com/coredns/coredns", version: images.CoreDNSVersion,
			programs: []program{{name: "coredns", pkg: "github.com/seed-59268b81/talos/build/modules/coredns"}},
		},
		{
			// Its udp backend is C.
			folder: "flannel", about: "flannel daemon",
			upstream: "github.com/flannel-io/flannel", version: images.FlannelVersion,
			tags: []string{"netgo", "osusergo"},
			cgo:  true,
			variables: map[string]string{
				"github.com/flannel-io/flannel/pkg/version.Version": images.FlannelVersion,
			},
			programs: []program{{name: "flanneld", pkg: "github.com/flannel-io/flannel"}},
		},
		{
			folder: "kube-network-policies", about: "enforces NetworkPolicies",
			upstream: "sigs.k8s.io/kube-network-policies", version: images.KubeNetworkPoliciesVersion,
			programs: []program{{name: "netpol", pkg: "sigs.k8s.io/kube-network-policies/cmd"}},
		},
	}
}

// testModules returns those of programs that only tests use.
func testModules() []module {
	return []module{
		{
			folder: "cloud", about: "cloud controller manager of tests",
			upstream: "k8s.io/cloud-provider", version: strings.Replace(images.KubernetesVersion, "v1.", "v0.", 1),
			tags:     kubernetesTags,
			programs: []program{{name: "cloud-controller-manager", pkg: "github.com/seed-59268b81/talos/build/modules/cloud"}},
		},
		{
			folder: "conformance", about: "programs of Kubernetes' test images", onDemand: true,
			upstream: "k8s.io/kubernetes", version: images.KubernetesVersion,
			programs: programsIn("k8s.io/kubernetes/test/images/", "nonewprivs", "regression-issue-74839", "resource-consumer", "resource-consumer/consume-cpu"),
		},
		{
			folder: "sample-apiserver", about: "API server that Kubernetes' tests aggregate", onDemand: true,
			upstream: "k8s.io/sample-apiserver", version: images.SampleAPIServerVersion,
			programs: []program{{name: "sample-apiserver", pkg: "k8s.io/sample-apiserver"}},
		},
		{
			// The name e2e.test is that of the release's build.
			folder: artifact.TargetConformanceTests, about: "Kubernetes' end-to-end tests", onDemand: true,
			upstream: "k8s.io/kubernetes", version: images.KubernetesVersion,
			tags: kubernetesTags, variables: kubernetesVariables(),
			programs: []program{
				{name: "e2e.test", pkg: "k8s.io/kubernetes/test/e2e", test: true},
				{name: "ginkgo", pkg: "github.com/onsi/ginkgo/v2/ginkgo"},
			},
		},
	}
}

// programsIn returns the programs of packages below a path, named for their folders.
func programsIn(path string, folders ...string) []program {
	var programs []program

	for _, f := range folders {
		programs = append(programs, program{name: f[strings.LastIndex(f, "/")+1:], pkg: path + f})
	}

	return programs
}

// kubernetesTags are the tags of the release's build.
var kubernetesTags = []string{"selinux", "notest", "grpcnotrace"}

func kubernetes() module {
	return module{
		folder: "kubernetes", about: "control plane, kubelet, kube-proxy, kubectl, agnhost",
		upstream: "k8s.io/kubernetes", version: images.KubernetesVersion,
		tags: kubernetesTags, variables: kubernetesVariables(),
		programs: append([]program{
			{name: "kubectl", pkg: "k8s.io/kubernetes/cmd/kubectl", bin: true},
			{name: "agnhost", pkg: "k8s.io/kubernetes/test/images/agnhost"},
		}, programsIn("k8s.io/kubernetes/cmd/", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet")...),
	}
}

// kubernetesVariables returns the variables with the version that Kubernetes' programs report.
func kubernetesVariables() map[string]string {
	variables := map[string]string{}
	number := strings.Split(strings.TrimPrefix(images.KubernetesVersion, "v"), ".")

	for _, pkg := range []string{"k8s.io/client-go/pkg/version", "k8s.io/component-base/version"} {
		variables[pkg+".gitVersion"] = images.KubernetesVersion
		variables[pkg+".gitMajor"] = number[0]
		variables[pkg+".gitMinor"] = number[1]
		variables[pkg+".gitTreeState"] = "clean"
		variables[pkg+".gitCommit"] = "" // a module has no commit
		variables[pkg+".buildDate"] = "{built}"
	}

	return variables
}

// SPDX-License-Identifier: Apache-2.0

package program

import (
	"path"
	"strings"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/config/images"
)

// module is a folder with a go.mod of its own, and the programs built from it.
type module struct {
	// folder, below modules/, is the step's name too.
	folder string
	about  string
	// upstream is the module whose release this is, and version that release. The folder's go.mod must say the same;
	// a test holds it.
	upstream, version string
	programs          []program
	tags              []string
	// variables are set by the linker. {built} in a value becomes the time of the upstream release.
	variables map[string]string
	// cgo links with C libraries, statically.
	cgo bool
	// onDemand modules are no part of what `make build` makes.
	onDemand bool
}

// program is a main package, and the name that the built program gets.
type program struct {
	name, pkg string
	tags      []string
	// bin publishes it for people as well.
	bin bool
	// test says that pkg is a package with tests, and that these are the program.
	test bool
}

// modules are all third-party Go programs. Tags and variables are those of each project's own release build, less what
// they name below.
func modules() []module {
	return []module{
		kubernetes(),
		{
			// Without the snapshotters that need other file systems than ours, and the trace exporters.
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
			// Without libpathrs, which Debian does not have; runc then has the same checks in Go.
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
			programs: cniPlugins("ipam/host-local", "main/bridge", "main/loopback", "meta/bandwidth", "meta/firewall", "meta/portmap"),
		},
		{
			folder: "flannel-cni", about: "flannel's CNI plugin",
			upstream: "github.com/containernetworking/plugins", version: images.FlannelCNIVersion,
			variables: map[string]string{
				"github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion": images.FlannelCNIVersion,
			},
			programs: cniPlugins("meta/flannel"),
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
			// Its udp back end is C.
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
			folder: "conformance", about: "programs of Kubernetes' test images", onDemand: true,
			upstream: "k8s.io/kubernetes", version: images.KubernetesVersion,
			programs: testImagePrograms("nonewprivs", "regression-issue-74839", "resource-consumer", "resource-consumer/consume-cpu"),
		},
		{
			folder: "sample-apiserver", about: "API server that Kubernetes' tests aggregate", onDemand: true,
			upstream: "k8s.io/sample-apiserver", version: images.SampleAPIServerVersion,
			programs: []program{{name: "sample-apiserver", pkg: "k8s.io/sample-apiserver"}},
		},
		{
			// The release's own build calls it e2e.test.
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

func testImagePrograms(folders ...string) []program {
	var programs []program
	for _, f := range folders {
		programs = append(programs, program{name: path.Base(f), pkg: "k8s.io/kubernetes/test/images/" + f})
	}

	return programs
}

// kubernetesTags are those of the release's build, without the tests' own programs in those of the control plane.
var kubernetesTags = []string{"selinux", "notest", "grpcnotrace"}

func kubernetes() module {
	m := module{
		folder: "kubernetes", about: "control plane, kubelet, kube-proxy, kubectl, agnhost",
		upstream: "k8s.io/kubernetes", version: images.KubernetesVersion,
		tags: kubernetesTags, variables: kubernetesVariables(),
		programs: []program{
			{name: "kubectl", pkg: "k8s.io/kubernetes/cmd/kubectl", bin: true},
			{name: "agnhost", pkg: "k8s.io/kubernetes/test/images/agnhost"},
		},
	}

	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet"} {
		m.programs = append(m.programs, program{name: name, pkg: "k8s.io/kubernetes/cmd/" + name})
	}

	return m
}

// kubernetesVariables are the version as Kubernetes' programs tell it.
func kubernetesVariables() map[string]string {
	variables := map[string]string{}
	number := strings.Split(strings.TrimPrefix(images.KubernetesVersion, "v"), ".")

	for _, pkg := range []string{"k8s.io/client-go/pkg/version", "k8s.io/component-base/version"} {
		variables[pkg+".gitVersion"] = images.KubernetesVersion
		variables[pkg+".gitMajor"] = number[0]
		variables[pkg+".gitMinor"] = number[1]
		variables[pkg+".gitTreeState"] = "clean"
		variables[pkg+".gitCommit"] = "" // a module does not say
		variables[pkg+".buildDate"] = "{built}"
	}

	return variables
}

func cniPlugins(folders ...string) []program {
	var programs []program

	for _, f := range folders {
		name := f[strings.LastIndex(f, "/")+1:]
		programs = append(programs, program{name: name, pkg: "github.com/containernetworking/plugins/plugins/" + f})
	}

	return programs
}

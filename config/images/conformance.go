// SPDX-License-Identifier: Apache-2.0

package images

// SampleAPIServerVersion is the release of the module k8s.io/sample-apiserver in the image of Kubernetes 1.29.
const SampleAPIServerVersion = "v0.29.2"

const testImages = "registry.k8s.io/e2e-test-images/"

// The images that Kubernetes' end-to-end tests use besides agnhost, by the references in the release
// (test/utils/image/manifest.go). The tags are upstream's; docs/conformance.md says which program each image has.
const (
	TestAgnhostPrevious      = Agnhost + ":2.55"
	TestBusybox              = testImages + "busybox:1.37.0-1"
	TestDistrolessIptables   = "registry.k8s.io/build-image/distroless-iptables:v0.9.6"
	TestEtcd                 = Etcd + ":3.6.8-0"
	TestGlibcDNS             = testImages + "glibc-dns-testing:2.0.0"
	TestIPCUtils             = testImages + "ipc-utils:1.4"
	TestKitten               = testImages + "kitten:1.8"
	TestNautilus             = testImages + "nautilus:1.8"
	TestNginx                = testImages + "nginx:1.15-4"
	TestNginxNew             = testImages + "nginx:1.27-0"
	TestNonewprivs           = testImages + "nonewprivs:1.4"
	TestNonRoot              = testImages + "nonroot:1.5"
	TestPerl                 = testImages + "perl:5.26"
	TestRegressionIssue74839 = testImages + "regression-issue-74839:1.4"
	TestResourceConsumer     = testImages + "resource-consumer:1.14"
	TestSampleAPIServer      = testImages + "sample-apiserver:1.29.2"
)

// Conformance returns the images that the cache for Kubernetes' end-to-end tests has besides those of Cache. The conformance
// tests pull no others.
func Conformance() []string {
	return []string{
		TestAgnhostPrevious, TestBusybox, TestDistrolessIptables, TestEtcd, TestGlibcDNS, TestIPCUtils, TestKitten,
		TestNautilus, TestNginx, TestNginxNew, TestNonewprivs, TestNonRoot, TestPerl, TestRegressionIssue74839,
		TestResourceConsumer, TestSampleAPIServer,
	}
}

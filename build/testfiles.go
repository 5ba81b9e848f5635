// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/build/source"
	"github.com/seed-59268b81/talos/config/images"
)

// testSets are what the images of Kubernetes' tests have from Debian.
var testSets = []set{
	{
		// The list is that of test/images/agnhost/Dockerfile, and getent, which Alpine has in its C library's package. Of
		// util-linux those that tests call or that people look around with.
		name: "test-tools", about: "curl, dig, netcat, ip, iperf, bash and ipcs for agnhost",
		packages: []string{
			"bash", "bind9-dnsutils", "bind9-host", "bind9-libs", "curl", "iperf", "iproute2", "libc-bin", "netcat-openbsd",
			"util-linux", "libaudit1", "libblkid1", "libbpf1", "libbrotli1", "libbsd0", "libc6", "libcap-ng0", "libcap2",
			"libcom-err2", "libcrypt1", "libcurl4", "libdb5.3", "libedit2", "libelf1", "libffi8", "libfstrm0", "libgcc-s1",
			"libgmp10", "libgnutls30", "libgssapi-krb5-2", "libhogweed6", "libicu72", "libidn2-0", "libjemalloc2", "libjson-c5",
			"libk5crypto3", "libkeyutils1", "libkrb5-3", "libkrb5support0", "libldap-2.5-0", "liblmdb0", "liblzma5",
			"libmaxminddb0", "libmd0", "libmnl0", "libmount1", "libnettle8", "libnghttp2-14", "libp11-kit0", "libpcre2-8-0",
			"libprotobuf-c1", "libpsl5", "librtmp1", "libsasl2-2", "libselinux1", "libsmartcols1", "libssh2-1", "libssl3",
			"libstdc++6", "libtasn1-6", "libtinfo6", "libtirpc3", "libudev1", "libunistring2", "libuuid1", "libuv1", "libxml2",
			"libxtables12", "libzstd1", "zlib1g",
		},
		files: []string{
			"usr/bin/bash", "usr/bin/curl", "usr/bin/dig", "usr/bin/host", "usr/bin/nslookup", "usr/bin/nsupdate", "usr/bin/delv",
			"usr/bin/iperf", "usr/bin/nc.openbsd", "usr/bin/getent", "usr/bin/ip", "usr/bin/ss", "usr/sbin/bridge", "usr/sbin/tc",
			"usr/bin/ipcs", "usr/bin/ipcmk", "usr/bin/ipcrm", "usr/bin/lsipc", "usr/bin/lsns", "usr/bin/nsenter",
			"usr/bin/unshare", "usr/bin/setpriv", "usr/bin/prlimit", "usr/bin/taskset", "usr/bin/lscpu", "usr/bin/findmnt",
		},
	},
	{
		name: "conntrack-files", about: "conntrack",
		packages: []string{"conntrack", "libnetfilter-conntrack3", "libnfnetlink0", "libmnl0", "libc6"},
		files:    []string{"usr/sbin/conntrack"},
	},
	{
		name: "nginx-files", about: "nginx",
		packages: []string{"nginx", "nginx-common", "libc6", "libcrypt1", "libpcre2-8-0", "libssl3", "zlib1g"},
		files:    []string{"usr/sbin/nginx", "etc/nginx/mime.types", "usr/share/nginx/html/index.html"},
	},
	{
		name: "perl-files", about: "Perl and its essential modules",
		packages: []string{"perl-base", "libc6", "libcrypt1"},
		files:    []string{"usr/bin/perl", "usr/lib/x86_64-linux-gnu/perl-base"},
	},
	{
		name: "stress-files", about: "stress",
		packages: []string{"stress", "libc6"},
		files:    []string{"usr/bin/stress"},
	},
}

// testFiles are files of the Kubernetes release, below test/images, that its images carry, by their names in the result.
var testFiles = map[string]string{
	"localhost.crt": "agnhost/porter/localhost.crt",
	"localhost.key": "agnhost/porter/localhost.key",
	"kitten.jpg":    "kitten/html/kitten.jpg",
	"kitten.json":   "kitten/html/data.json",
	"nautilus.jpg":  "nautilus/html/nautilus.jpg",
	"nautilus.json": "nautilus/html/data.json",
}

func testFilesStep(root string) graph.Step {
	return graph.Step{
		Name:  "test-files",
		About: "files of Kubernetes' test images " + images.KubernetesVersion,
		Inputs: func(context.Context, graph.Results) ([]string, error) {
			return []string{images.KubernetesVersion, fmt.Sprint(testFiles)}, nil
		},
		Run: func(ctx context.Context, w *graph.Work) error {
			source, err := kubernetesSource(ctx, root)
			if err != nil {
				return err
			}

			for name, from := range testFiles {
				raw, err := os.ReadFile(filepath.Join(source, "test/images", from))
				if err != nil {
					return err
				}

				if err := os.WriteFile(filepath.Join(w.Dir, name), raw, 0o644); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

// kubernetesSource returns the folder of the Kubernetes release in Go's module cache.
func kubernetesSource(ctx context.Context, root string) (string, error) {
	dir := modulePath(root, "kubernetes")

	if _, err := output(ctx, dir, "go", "mod", "download", "k8s.io/kubernetes"); err != nil {
		return "", err
	}

	return output(ctx, dir, "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
}

// registryStep lays the pause image out as `agnhost fake-registry-server` reads it: below /var/registry/NAME, tags in
// manifests/TAG, which hold a digest, and everything else by its digest.
func registryStep(root string) graph.Step {
	const dir = "var/registry/pause"

	return graph.Step{
		Name:  "pause-registry",
		About: "the image that agnhost's registry serves",
		Needs: []string{"image-pause"},
		Inputs: func(context.Context, graph.Results) ([]string, error) {
			hash, err := source.Of(root, "testfiles.go")

			return []string{hash}, err
		},
		Run: func(_ context.Context, w *graph.Work) error {
			layout := w.Needs["image-pause"].Dir

			index, err := os.ReadFile(filepath.Join(layout, "index.json"))
			if err != nil {
				return err
			}

			top, _, err := v1.SHA256(bytes.NewReader(index))
			if err != nil {
				return err
			}

			put := func(kind, digest string, content []byte) error {
				hex := strings.TrimPrefix(digest, "sha256:")
				to := filepath.Join(w.Dir, dir, kind, "sha256", hex[:2], hex, "data")

				if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
					return err
				}

				return os.WriteFile(to, content, 0o644)
			}

			if err := put("manifests", top.String(), index); err != nil {
				return err
			}

			if err := os.WriteFile(filepath.Join(w.Dir, dir, "manifests/testing"), []byte(top.String()+"\n"), 0o644); err != nil {
				return err
			}

			return copyBlobs(layout, put)
		},
	}
}

// copyBlobs gives each blob of a layout to put: the manifests of its images, and all others.
func copyBlobs(layout string, put func(kind, digest string, content []byte) error) error {
	descriptors, err := ociimage.ReadIndex(layout)
	if err != nil {
		return err
	}

	kinds := map[string]string{}
	for _, d := range descriptors {
		kinds[d.Digest.Hex] = "manifests"
	}

	blobs, err := os.ReadDir(filepath.Join(layout, "blobs/sha256"))
	if err != nil {
		return err
	}

	for _, b := range blobs {
		raw, err := os.ReadFile(filepath.Join(layout, "blobs/sha256", b.Name()))
		if err != nil {
			return err
		}

		kind := "blobs"
		if kinds[b.Name()] != "" {
			kind = kinds[b.Name()]
		}

		if err := put(kind, "sha256:"+b.Name(), raw); err != nil {
			return err
		}
	}

	return nil
}

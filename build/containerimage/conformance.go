// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"io/fs"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/seed-59268b81/talos/config/images"
)

// conformanceRecipes are the images that Kubernetes' end-to-end tests use besides agnhost, keyed by step name. The released
// images have programs of Alpine where ours have those of Debian: tests call these programs but do not check their versions.
func conformanceRecipes() map[string]recipe {
	shell := v1.Config{Cmd: []string{"sh"}}
	tools := []string{"busybox", "test-tools"}

	return map[string]recipe{
		// The tests update a workload from this version to the new one. They need no difference but the tag.
		"image-test-agnhost-previous":    agnhostRecipe(images.TestAgnhostPrevious),
		"image-test-busybox":             busyboxRecipe(),
		"image-test-distroless-iptables": {reference: images.TestDistrolessIptables, sets: []string{"busybox", "firewall-files", "conntrack-files"}},
		"image-test-etcd":                etcdRecipe(images.TestEtcd),
		"image-test-glibc-dns":           {reference: images.TestGlibcDNS, sets: tools, layers: []layer{corednsLayer}, config: v1.Config{Cmd: []string{"bash"}}},
		"image-test-ipc-utils":           {reference: images.TestIPCUtils, sets: tools, config: shell},
		"image-test-kitten":              petRecipe(images.TestKitten, "kitten"),
		"image-test-nautilus":            petRecipe(images.TestNautilus, "nautilus"),
		"image-test-nginx":               nginxRecipe(images.TestNginx),
		"image-test-nginx-new":           nginxRecipe(images.TestNginxNew),
		"image-test-nonewprivs": {
			reference: images.TestNonewprivs,
			sets:      []string{"busybox"},
			// The tests check whether set-user-ID and set-group-ID take effect.
			layers: []layer{{take: []taken{
				{"conformance", "nonewprivs", "usr/local/bin/nnp", 0o755 | fs.ModeSetuid | fs.ModeSetgid},
			}}},
			config: v1.Config{Cmd: []string{"nnp"}},
		},
		"image-test-nonroot": {
			reference: images.TestNonRoot,
			sets:      []string{"busybox"}, config: v1.Config{Cmd: []string{"sh"}, User: "1234"},
		},
		"image-test-perl": {
			reference: images.TestPerl,
			sets:      []string{"busybox", "perl-files"}, config: v1.Config{Cmd: []string{"perl", "-v"}},
		},
		"image-test-regression-issue-74839": {
			reference: images.TestRegressionIssue74839,
			layers:    []layer{{take: []taken{{"conformance", "regression-issue-74839", "regression-issue-74839", 0}}}},
			config:    v1.Config{Entrypoint: []string{"/regression-issue-74839"}},
		},
		"image-test-resource-consumer": {
			reference: images.TestResourceConsumer,
			sets:      []string{"busybox", "stress-files"},
			layers: []layer{{take: []taken{
				{"conformance", "resource-consumer", "consumer", 0}, {"conformance", "consume-cpu", "consume-cpu", 0},
			}}},
			config: v1.Config{Entrypoint: []string{"/consumer"}, ExposedPorts: ports("8080/tcp")},
		},
		"image-test-sample-apiserver": {
			reference: images.TestSampleAPIServer,
			layers:    []layer{{take: []taken{{"sample-apiserver", "sample-apiserver", "sample-apiserver", 0}}}},
			config:    v1.Config{Entrypoint: []string{"/sample-apiserver"}},
		},
	}
}

// busyboxRecipe uses bash as its shell. Tests set variables such as data-1 and let a shell print them. The shell of Debian's
// busybox drops variables whose names are not valid in a shell.
func busyboxRecipe() recipe {
	return recipe{
		reference: images.TestBusybox,
		sets:      []string{"busybox", "test-tools"},
		layers:    []layer{{links: map[string]string{"usr/bin/sh": "bash"}}},
		config:    v1.Config{Cmd: []string{"sh"}},
	}
}

// petRecipe is agnhost, which serves a picture and its description.
func petRecipe(reference, name string) recipe {
	r := agnhostRecipe(reference)
	r.layers = append(r.layers, layer{take: []taken{
		{"test-files", name + ".jpg", name + ".jpg", 0}, {"test-files", name + ".json", "data.json", 0},
	}})
	r.config.Cmd = []string{"test-webserver"}

	return r
}

// nginxConf serves the package's page on port 80, as the released image does, and logs to standard output and error.
const nginxConf = `user nobody nobody;
worker_processes 1;
error_log /dev/stderr notice;
pid /run/nginx.pid;

events {
    worker_connections 1024;
}

http {
    include mime.types;
    default_type application/octet-stream;
    access_log /dev/stdout;
    sendfile on;

    server {
        listen 80;
        listen [::]:80;

        location / {
            root /usr/share/nginx/html;
            index index.html;
        }
    }
}
`

func nginxRecipe(reference string) recipe {
	return recipe{
		reference: reference,
		sets:      []string{"busybox", "nginx-files"},
		layers: []layer{{
			files: map[string]string{"etc/nginx/nginx.conf": nginxConf},
			dirs:  []string{"var/lib/nginx", "var/log/nginx"},
		}},
		config: v1.Config{
			Cmd: []string{"nginx", "-g", "daemon off;"}, ExposedPorts: ports("80/tcp"), StopSignal: "SIGQUIT",
		},
	}
}

// unfilled are images in the release's list that this build does not build, with the reason. Conformance tests do not use them.
var unfilled = map[string]string{
	"AgnhostPrivate":          "must not be pullable: tests see that a pull without credentials fails",
	"InvalidRegistryImage":    "must not be pullable: its registry does not exist",
	"AppArmorLoader":          "loads AppArmor profiles, which containerd does not apply on a node without apparmor_parser",
	"NFSProvisioner":          "tests mount NFS on the node, and the kubelet image has no mount.nfs",
	"VolumeNFSServer":         "tests mount NFS on the node, and the kubelet image has no mount.nfs",
	"VolumeISCSIServer":       "tests attach iSCSI disks to the node, which has no iscsid",
	"NodePerfNpbEp":           "only of the node tests (test/e2e_node), which start a kubelet of their own",
	"NodePerfNpbIs":           "only of the node tests (test/e2e_node), which start a kubelet of their own",
	"NodePerfPytorchWideDeep": "only of the node tests (test/e2e_node), which start a kubelet of their own",
}

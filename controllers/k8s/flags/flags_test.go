// SPDX-License-Identifier: Apache-2.0

package flags_test

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/controllers/k8s/flags"
)

func TestCheck(t *testing.T) {
	const api, kubelet = "kube-apiserver", "kubelet"

	for name, test := range map[string]struct {
		program, image string
		line           []string
		err            string
	}{
		"nothing":                     {program: api, image: images.DefaultKubeAPIServer},
		"known":                       {program: api, image: images.DefaultKubeAPIServer, line: []string{"--etcd-servers=https://x", "--profiling=false", "--audit-log-maxage=30"}},
		"removed from the program":    {program: api, image: images.DefaultKubeAPIServer, line: []string{"--cloud-provider=external"}, err: "kube-apiserver 1.36 has no flag --cloud-provider"},
		"of another program":          {program: kubelet, image: images.DefaultKubelet, line: []string{"--cloud-provider=external"}},
		"misspelt":                    {program: api, image: images.DefaultKubeAPIServer, line: []string{"--auditLogMaxAge=30"}, err: "write audit-log-maxage"},
		"another version":             {program: api, image: "registry.k8s.io/kube-apiserver:v1.31.4", line: []string{"--cloud-provider=external"}},
		"another patch release":       {program: api, image: "registry.k8s.io/kube-apiserver:v1.36.99", line: []string{"--cloud-provider=external"}, err: "has no flag"},
		"a digest beside the tag":     {program: api, image: "registry.k8s.io/kube-apiserver:v1.31.4@sha256:00", line: []string{"--cloud-provider=external"}},
		"a digest alone is current":   {program: api, image: "registry.k8s.io/kube-apiserver@sha256:00", line: []string{"--cloud-provider=external"}, err: "has no flag"},
		"a port is not a tag":         {program: api, image: "registry:5000/kube-apiserver", line: []string{"--cloud-provider=external"}, err: "has no flag"},
		"a program without a list":    {program: "other", line: []string{"--x=y"}},
		"not a boolean":               {program: api, line: []string{"--profiling=no"}, err: `--profiling: "no" is not valid: want true or false`},
		"not a number":                {program: api, line: []string{"--audit-log-maxage=x"}, err: "want a whole number"},
		"beyond 32 bits":              {program: kubelet, line: []string{"--port=4294967296"}, err: "want a whole number"},
		"not a duration":              {program: kubelet, line: []string{"--sync-frequency=10"}, err: "want a duration"},
		"not an address":              {program: kubelet, line: []string{"--address=x"}, err: "want an IP address"},
		"a variable of the container": {program: api, line: []string{"--advertise-address=$(POD_IP)"}},
		"a feature gate":              {program: kubelet, line: []string{"--feature-gates=AllAlpha=false"}},
		"a gate of a component":       {program: api, line: []string{"--feature-gates=kube:AllAlpha=false,AllBeta=true"}},
		"an unknown gate":             {program: kubelet, line: []string{"--feature-gates=Nonsense=true"}, err: `has no feature gate "Nonsense"`},
		"a gate without a value":      {program: kubelet, line: []string{"--feature-gates=AllAlpha"}, err: "want NAME=true or NAME=false"},
		"a locked gate":               {program: api, line: []string{"--feature-gates=APIServerTracing=false"}, err: "is always true"},
		"and one that may be missing": {program: api, line: []string{"--feature-gates=APIServerTracing=true"}},
		"etcd":                        {program: "etcd", image: images.DefaultEtcd, line: []string{"--data-dir=/x", "--feature-gates=InitialCorruptCheck=true"}},
		"a flag that etcd has lost":   {program: "etcd", image: images.DefaultEtcd, line: []string{"--enable-v2=true"}, err: "etcd 3.6 has no flag --enable-v2"},
		"etcd's gates are its own":    {program: "etcd", image: images.DefaultEtcd, line: []string{"--feature-gates=NodeSwap=true"}, err: "has no feature gate"},
	} {
		t.Run(name, func(t *testing.T) {
			err := flags.Check(test.program, test.image, test.line)

			if test.err == "" && err != nil {
				t.Errorf("got error %v, want none", err)
			}

			if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("got error %v, want %q", err, test.err)
			}
		})
	}
}

// TestVersions checks that the list is for the versions that are built.
func TestVersions(t *testing.T) {
	for program, image := range map[string]string{
		"etcd": images.DefaultEtcd, "kube-apiserver": images.DefaultKubeAPIServer, "kube-controller-manager": images.DefaultKubeControllerManager,
		"kube-proxy": images.DefaultKubeProxy, "kube-scheduler": images.DefaultKubeScheduler, "kubelet": images.DefaultKubelet,
	} {
		if err := flags.Check(program, image, []string{"--no-such-flag=x"}); err == nil {
			t.Errorf("%s: the list is not for the version of %s: run go generate ./controllers/k8s/flags", program, image)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s

import (
	"slices"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/seed-59268b81/talos/controllers/k8s/settings"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/platform"
)

// In a container the kubelet gets the machine's /proc, where it cannot write kernel parameters.
func TestKubeletProc(t *testing.T) {
	for _, tt := range []struct {
		mode platform.Mode
		want bool
	}{{platform.Metal, false}, {platform.Container, true}} {
		service := kubeletContainer(k8s.KubeletSpecSpec{}, nil, "", nil, platform.Platform{Mode: tt.mode}, func(string) bool { return true })

		c, ok := service.Runner.(*container.Container)
		if !ok {
			t.Fatalf("the runner is a %T", service.Runner)
		}

		got := slices.ContainsFunc(c.Mounts, func(m specs.Mount) bool { return m.Source == "/proc" && m.Destination == "/proc" })
		if got != tt.want || !c.HostPID {
			t.Errorf("%s: got the machine's /proc: %t, want %t", tt.mode, got, tt.want)
		}
	}
}

// The kubelet has the environment variables of the configuration, and starts again when they change.
func TestKubeletEnvironment(t *testing.T) {
	of := func(env ...string) supervisor.Service {
		return kubeletContainer(k8s.KubeletSpecSpec{}, env, "", nil, platform.Platform{}, func(string) bool { return true })
	}

	c, ok := of("HTTPS_PROXY=http://proxy.example").Runner.(*container.Container)
	if !ok || !slices.Equal(c.Env, []string{"HTTPS_PROXY=http://proxy.example"}) {
		t.Errorf("got %+v", c)
	}

	if of("A=1").Fingerprint == of("A=2").Fingerprint {
		t.Error("the fingerprint does not follow the variables")
	}
}

// kube-proxy does not set the size of a connection table that is the host's, unless the configuration does.
func TestProxyConntrack(t *testing.T) {
	inContainer := platform.Platform{Mode: platform.Container}

	for _, tt := range []struct {
		name, patch string
		place       platform.Platform
		want        []string
	}{
		{"a machine with its own kernel", `{cluster: {clusterName: a}}`, platform.Platform{}, nil},
		{"a container", `{cluster: {clusterName: a}}`, inContainer, []string{"--conntrack-max-per-core=0", "--conntrack-min=0"}},
		{
			"a container with a request", `{cluster: {proxy: {extraArgs: {conntrack-min: "9"}}}}`, inContainer,
			[]string{"--conntrack-max-per-core=0", "--conntrack-min=9"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec, err := settings.BootstrapManifests(controlPlane(t, tt.patch), tt.place)
			if err != nil {
				t.Fatal(err)
			}

			got := slices.DeleteFunc(slices.Clone(spec.ProxyArgs), func(a string) bool { return !strings.HasPrefix(a, "--conntrack") })
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/platform"
)

// controlPlane returns a generated configuration with patches.
func controlPlane(t *testing.T, patches ...string) *view.Config {
	t.Helper()

	loaded, err := patch.Load(patches)
	if err != nil {
		t.Fatal(err)
	}

	out, err := generate.New("demo", "https://lb.example.org:6443", "", generate.Options{Patches: loaded})
	if err != nil {
		t.Fatal(err)
	}

	cfg, err := config.Decode(out.ControlPlane)
	if err != nil {
		t.Fatal(err)
	}

	return view.Of(cfg)
}

// TestImages checks that the images of a generated configuration are in the image cache.
func TestImages(t *testing.T) {
	cfg := controlPlane(t)

	var got []string

	api := APIServer(cfg)

	manager := ControllerManager(cfg)

	scheduler := Scheduler(cfg)

	boot, err := BootstrapManifests(cfg, platform.Platform{})
	if err != nil {
		t.Fatal(err)
	}

	got = append(got, api.Image, manager.Image, scheduler.Image, boot.FlannelImage, boot.FlannelKubeNetworkPoliciesImage, boot.ProxyImage, boot.CoreDNSImage, Kubelet(cfg).Image)
	cached := strings.Join(images.Cache(), "\n")

	for _, image := range got {
		if !strings.Contains(cached, image) {
			t.Errorf("image %s is not in the image cache", image)
		}
	}
}

func TestKubeletConfig(t *testing.T) {
	for name, test := range map[string]struct {
		patch string
		check func(k8s.KubeletConfigSpec) any
		want  any
	}{
		"DNS is the tenth service address": {
			check: func(s k8s.KubeletConfigSpec) any { return s.ClusterDNS }, want: []string{"10.96.0.10"},
		},
		"or what is configured": {
			patch: "machine: {kubelet: {clusterDNS: [10.5.5.5]}}",
			check: func(s k8s.KubeletConfigSpec) any { return s.ClusterDNS }, want: []string{"10.5.5.5"},
		},
		"a control plane keeps pods off": {
			check: func(s k8s.KubeletConfigSpec) any { return s.RegisterWithTaints }, want: map[string]string{ControlPlaneTaint: ":NoSchedule"},
		},
		"unless it is disabled": {
			patch: "cluster: {allowSchedulingOnControlPlanes: true}",
			check: func(s k8s.KubeletConfigSpec) any { return len(s.RegisterWithTaints) }, want: 0,
		},
		"other taints": {
			patch: "{cluster: {allowSchedulingOnControlPlanes: true}, machine: {nodeTaints: {a: \"b:NoExecute\"}}}",
			check: func(s k8s.KubeletConfigSpec) any { return s.RegisterWithTaints }, want: map[string]string{"a": "b:NoExecute"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var patches []string
			if test.patch != "" {
				patches = []string{test.patch}
			}

			if diff := cmp.Diff(test.want, test.check(Kubelet(controlPlane(t, patches...)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNodeEndpoint checks how pods of the host's network connect to the API servers.
func TestNodeEndpoint(t *testing.T) {
	if host, port := nodeEndpoint(controlPlane(t)); host != "127.0.0.1" || port != "7445" {
		t.Errorf("KubePrism: got %s:%s", host, port)
	}

	off := controlPlane(t, "machine: {features: {kubePrism: {enabled: false}}}")
	if host, port := nodeEndpoint(off); host != "lb.example.org" || port != "6443" {
		t.Errorf("no KubePrism: got %s:%s", host, port)
	}
}

func TestStaticPodID(t *testing.T) {
	for name, test := range map[string]struct {
		pod  view.Object
		want string
		err  string
	}{
		"in a namespace": {pod: view.Object{"kind": "Pod", "metadata": map[string]any{"name": "x", "namespace": "n"}}, want: "n-x"},
		"by default":     {pod: view.Object{"kind": "Pod", "metadata": map[string]any{"name": "x"}}, want: "default-x"},
		"another kind":   {pod: view.Object{"kind": "Job"}, err: "kind is Job, want Pod"},
		"no name":        {pod: view.Object{"kind": "Pod"}, err: "metadata.name is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := StaticPodID(test.pod)
			if got != test.want || test.err != "" && (err == nil || err.Error() != test.err) {
				t.Errorf("got %q, %v; want %q, %q", got, err, test.want, test.err)
			}
		})
	}
}

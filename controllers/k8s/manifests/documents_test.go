// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/k8s/manifests"
	"github.com/seed-59268b81/talos/controllers/k8s/render"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// find returns the object of a kind and name in rendered manifests.
func find(t *testing.T, cfg k8s.BootstrapManifestsConfigSpec, kind, name string) render.Object {
	t.Helper()

	rendered, err := manifests.Builtin(cfg, root)
	if err != nil {
		t.Fatal(err)
	}

	for _, object := range slices.Concat(manifests.Stages(rendered)...) {
		if _, k, _, n := kube.Identity(object); k == kind && n == name {
			return object
		}
	}

	return nil
}

// TestFlannelBackend checks what flannel reads about its backend.
func TestFlannelBackend(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*k8s.BootstrapManifestsConfigSpec)
		want   map[string]any
	}{
		"default": {func(*k8s.BootstrapManifestsConfigSpec) {}, map[string]any{"Type": "vxlan", "Port": 4789.0}},
		"another port, MTU and more": {func(c *k8s.BootstrapManifestsConfigSpec) {
			c.FlannelBackendPort, c.FlannelBackendMTU, c.FlannelBackendExtraConfig = 8472, 1400, map[string]any{"VNI": 5}
		}, map[string]any{"Type": "vxlan", "Port": 8472.0, "MTU": 1400.0, "VNI": 5.0}},
		"no tunnel": {func(c *k8s.BootstrapManifestsConfigSpec) { c.FlannelBackendType = "host-gw" }, map[string]any{"Type": "host-gw"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := settings
			test.change(&cfg)

			var conf struct{ Backend map[string]any }

			text := kube.At[string](find(t, cfg, "ConfigMap", "kube-flannel-cfg"), "data", "net-conf.json")
			if err := json.Unmarshal([]byte(text), &conf); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(test.want, conf.Backend); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestResources checks the resources of flannel and kube-proxy: a limit lowers the default request.
func TestResources(t *testing.T) {
	cfg := settings
	cfg.FlannelResources = k8s.Resources{Limits: map[string]string{"memory": "40Mi"}}
	cfg.ProxyResources = k8s.Resources{Requests: map[string]string{"cpu": "50m"}}

	for name, want := range map[string]render.Object{
		"kube-flannel": {"requests": render.Object{"cpu": "100m", "memory": "40Mi"}, "limits": render.Object{"memory": "40Mi"}},
		"kube-proxy":   {"requests": render.Object{"cpu": "50m"}},
	} {
		container := kube.Items(find(t, cfg, "DaemonSet", name), "spec", "template", "spec", "containers")[0]
		if diff := cmp.Diff(want, container["resources"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestProxyFile checks that kube-proxy's pods mount its configuration file, and are replaced when it changes.
func TestProxyFile(t *testing.T) {
	if find(t, settings, "ConfigMap", "kube-proxy") != nil {
		t.Error("without a file there is a ConfigMap")
	}

	cfg := settings
	cfg.ProxyConfig, cfg.ProxyConfigChecksum = map[string]any{"mode": "ipvs"}, "1"

	daemons := find(t, cfg, "DaemonSet", "kube-proxy")
	decodeStrictly(t, "10-kube-proxy", daemons)

	file := kube.At[string](find(t, cfg, "ConfigMap", "kube-proxy"), "data", "config.yaml")
	pod := kube.At[render.Object](daemons, "spec", "template")
	mounts := kube.Items(kube.Items(pod, "spec", "containers")[0], "volumeMounts")

	if file != "{\n  \"mode\": \"ipvs\"\n}\n" ||
		!slices.ContainsFunc(mounts, func(m render.Object) bool { return m["mountPath"] == "/etc/kube-proxy" && m["name"] == "config" }) {
		t.Errorf("got the file %q and the pod %v", file, pod)
	}
}

// TestReplacesPods checks that the pods of a program that reads its configuration only once are replaced when it changes, and only then.
func TestReplacesPods(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*k8s.BootstrapManifestsConfigSpec)
		want   []string // the daemon sets whose pods are replaced
	}{
		"nothing":                     {func(*k8s.BootstrapManifestsConfigSpec) {}, nil},
		"DNS":                         {func(c *k8s.BootstrapManifestsConfigSpec) { c.CoreDNSImage = "other" }, nil},
		"flannel's backend":           {func(c *k8s.BootstrapManifestsConfigSpec) { c.FlannelBackendMTU = 1400 }, []string{"kube-flannel"}},
		"kube-proxy's file":           {func(c *k8s.BootstrapManifestsConfigSpec) { c.ProxyConfigChecksum = "other" }, []string{"kube-proxy"}},
		"the address of API servers":  {func(c *k8s.BootstrapManifestsConfigSpec) { c.Server = "https://127.0.0.1:7446" }, []string{"kube-proxy"}},
		"the networks of pods (IPv4)": {func(c *k8s.BootstrapManifestsConfigSpec) { c.PodCIDRs = []string{"198.51.100.0/24"} }, []string{"kube-flannel"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := settings
			test.change(&cfg)

			var replaced []string

			for _, name := range []string{"kube-flannel", "kube-proxy"} {
				before := kube.At[render.Object](find(t, settings, "DaemonSet", name), "spec", "template")
				after := kube.At[render.Object](find(t, cfg, "DaemonSet", name), "spec", "template")

				if !cmp.Equal(before, after) {
					replaced = append(replaced, name)
				}
			}

			if !slices.Equal(replaced, test.want) {
				t.Errorf("got %q, want %q", replaced, test.want)
			}
		})
	}
}

// TestStages checks that what others need comes first.
func TestStages(t *testing.T) {
	var got [][]string

	named := func(kind, name string) render.Object {
		return render.Object{"kind": kind, "metadata": render.Object{"name": name}}
	}

	for _, stage := range manifests.Stages([]manifests.Manifest{
		{Objects: []render.Object{named("DaemonSet", "a"), named("ConfigMap", "twice")}},
		{Objects: []render.Object{named("Secret", "b"), named("Namespace", "c"), named("ConfigMap", "twice")}},
	}) {
		var names []string
		for _, object := range stage {
			names = append(names, object["kind"].(string)+"/"+kube.At[string](object, "metadata", "name"))
		}

		got = append(got, names)
	}

	if diff := cmp.Diff([][]string{{"Namespace/c"}, {"Secret/b", "ConfigMap/twice"}, {"DaemonSet/a"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTalosAccess checks the Service and the definition for pods that use the API of the machines.
func TestTalosAccess(t *testing.T) {
	if find(t, settings, "Service", "talos") != nil {
		t.Error("there is a Service without the access")
	}

	cfg := settings
	cfg.TalosAPIServiceEnabled = true

	service := find(t, cfg, "Service", "talos")
	decodeStrictly(t, "13-talos-service", service)

	definition := find(t, cfg, "CustomResourceDefinition", "serviceaccounts.talos.dev")
	if kube.Items(service, "spec", "ports")[0]["port"] != 50000 || kube.At[string](definition, "spec", "group") != "talos.dev" {
		t.Errorf("got %v and %v", service, definition)
	}
}

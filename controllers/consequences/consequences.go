// SPDX-License-Identifier: Apache-2.0

// Package consequences says what a machine does when one configuration replaces another: which services restart, which pods are replaced,
// and which settings wait for an installation.
//
// It is not a list of settings. It builds what the controllers build from a configuration, with the same functions, for both
// configurations: what differs is restarted. So a setting that the functions do not read has no consequence here either.
package consequences

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/plan"
	"github.com/seed-59268b81/talos/config/view"
	crisettings "github.com/seed-59268b81/talos/controllers/cri/settings"
	etcdsettings "github.com/seed-59268b81/talos/controllers/etcd/settings"
	k8ssettings "github.com/seed-59268b81/talos/controllers/k8s/settings"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/platform"
)

// part is something that a machine runs by its configuration.
type part struct {
	controlPlane bool
	does         string
	// build returns what it is run by.
	build func(*view.Config) any
}

var parts = []part{
	{false, "restarts containerd; containers go on", containerd},
	{false, "restarts the kubelet", func(c *view.Config) any {
		return []any{k8ssettings.Kubelet(c), k8ssettings.NodeIP(c), c.Variables(), c.TrustedRoots()}
	}},
	{true, "restarts etcd", func(c *view.Config) any {
		spec, err := etcdsettings.Config(c)

		return []any{spec, err}
	}},
	{true, "replaces the pod of kube-apiserver", func(c *view.Config) any {
		return []any{
			k8ssettings.APIServer(c), k8ssettings.AdmissionControl(c), k8ssettings.AuditPolicy(c), k8ssettings.Authentication(c), k8ssettings.Authorization(c),
		}
	}},
	{true, "replaces the pod of kube-controller-manager", func(c *view.Config) any { return k8ssettings.ControllerManager(c) }},
	{true, "replaces the pod of kube-scheduler", func(c *view.Config) any { return k8ssettings.Scheduler(c) }},
	{true, "applies the manifests of the cluster (network, proxy, DNS) again, which may roll their pods", func(c *view.Config) any {
		spec, err := k8ssettings.BootstrapManifests(c, platform.Platform{})

		return []any{spec, err}
	}},
	{true, "applies the additional manifests again", func(c *view.Config) any {
		spec, err := k8ssettings.ExtraManifests(c)

		return []any{spec, err}
	}},
}

// containerd returns what containerd reads only at its start. It reads the mirrors of registries at each pull.
func containerd(c *view.Config) any {
	customization, err := crisettings.Customization(c.ContainerdParts())

	overrides := c.RuntimeSpecOverrides()
	if len(overrides) == 0 {
		overrides = nil
	}

	return []any{crisettings.Registries(c.Registries(), "").RegistryAuths, overrides, customization, err, c.Variables(), c.TrustedRoots()}
}

// Of returns what a machine does when a configuration replaces its own, one line each. Both describe a machine.
func Of(from, to *config.Config) []string {
	before, after := view.Of(from), view.Of(to)

	var out []string

	for _, p := range parts {
		if (!p.controlPlane || after.Type().IsControlPlane()) && !reflect.DeepEqual(p.build(before), p.build(after)) {
			out = append(out, p.does)
		}
	}

	if after.Type().IsControlPlane() && before.CNI().Name == view.CNIFlannel && after.CNI().Name != view.CNIFlannel {
		out = append(out, "deletes flannel from the cluster: new pods have no network until another one is installed")
	}

	out = append(out, name(before, after)...)
	out = append(out, staticPods(before, after)...)

	changed := plan.Compare(from, to).Changed
	if later := slices.DeleteFunc(slices.Clone(changed), func(path string) bool { return !ofInstallation(path) }); len(later) > 0 {
		out = append(out, "keeps for the next installation or upgrade: "+strings.Join(later, ", "))
	}

	if len(changed) == 0 {
		return append(out, "changes no setting: only the text differs")
	}

	return append(out, "needs no reboot")
}

// ofInstallation reports whether a path is of a setting that only an installation reads.
func ofInstallation(path string) bool {
	return strings.HasPrefix(path, "machine.install.") || strings.HasPrefix(path, "UnattendedInstallConfig.")
}

// name returns what becomes of the machine's name, which may be that already: without a configured one the network or the hardware gives it.
func name(before, after *view.Config) []string {
	const registers = "if that is a new name, it registers as another node, the kubelet and etcd restart, and the old node stays until it is deleted " +
		"(kubectl delete node)"

	switch was, is := before.Hostname(), after.Hostname(); {
	case was != is && is == "":
		return []string{"lets the network or the hardware name the machine; a registered node keeps its name"}
	case was != is:
		return []string{"names the machine " + is + "; " + registers}
	case view.IsTrue(before.Kubelet().RegisterWithFQDN) != view.IsTrue(after.Kubelet().RegisterWithFQDN) && is != "":
		return []string{"names the node with or without the domain; " + registers}
	default:
		return nil
	}
}

// staticPods compares the pods of the configuration.
func staticPods(before, after *view.Config) (out []string) {
	had, has := podsOf(before), podsOf(after)

	all := maps.Clone(had)
	maps.Copy(all, has)

	for _, id := range slices.Sorted(maps.Keys(all)) {
		old, existed := had[id]
		now, exists := has[id]

		switch {
		case !existed:
			out = append(out, fmt.Sprintf("starts the static pod %s", id))
		case !exists:
			out = append(out, fmt.Sprintf("ends the static pod %s", id))
		case !reflect.DeepEqual(old, now):
			out = append(out, fmt.Sprintf("replaces the static pod %s", id))
		}
	}

	return out
}

func podsOf(c *view.Config) map[string]k8s.StaticPodSpec {
	out := map[string]k8s.StaticPodSpec{}

	for _, pod := range c.StaticPods() {
		if id, err := k8ssettings.StaticPodID(pod); err == nil { // others are left out
			out[id] = k8s.StaticPodSpec{Pod: pod}
		}
	}

	return out
}

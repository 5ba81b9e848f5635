// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/seed-59268b81/talos/controllers/k8s/render"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// Versions are the versions of what a pod depends on; each becomes an annotation.
type Versions struct {
	Settings, Secrets, ConfigFiles string
	// KubeletCA is for an API server that reads the authorities of kubelets only at its start.
	KubeletCA string
}

// component has the differences between the three pods.
type component struct {
	name         string
	binary       string
	image        string
	args         []string
	uid          int
	capabilities []any
	env          map[string]string
	podIP        bool
	volumes      []k8s.ExtraVolume
	resources    k8s.Resources
	requests     render.Object
	probes       render.Object
}

func (c component) pod(v Versions) render.Object {
	command := []any{c.binary}
	for _, arg := range c.args {
		command = append(command, arg)
	}

	volumes, mounts := make([]any, 0, len(c.volumes)), make([]any, 0, len(c.volumes))

	for _, volume := range c.volumes {
		volumes = append(volumes, render.Object{"name": volume.Name, "hostPath": render.Object{"path": volume.HostPath}})
		mounts = append(mounts, render.Object{"name": volume.Name, "mountPath": volume.MountPath, "readOnly": volume.ReadOnly})
	}

	container := render.Object{
		"name":      c.name,
		"image":     c.image,
		"command":   command,
		"env":       c.environment(),
		"resources": Resources(c.requests, c.resources),
		"securityContext": render.Object{
			"allowPrivilegeEscalation": false,
			"capabilities":             render.Object{"drop": []any{"ALL"}, "add": c.capabilities},
			"seccompProfile":           render.Object{"type": "RuntimeDefault"},
		},
		"volumeMounts": mounts,
	}

	for name, probe := range c.probes {
		container[name] = probe
	}

	labels := render.Object{
		"tier": "control-plane", "k8s-app": c.name, "component": c.name,
		"app.kubernetes.io/name": c.name, "app.kubernetes.io/component": "control-plane",
		"app.kubernetes.io/managed-by": "talos",
	}

	return render.Object{
		"apiVersion": "v1",
		"kind":       "Pod",
		"metadata": render.Object{
			"name": c.name, "namespace": "kube-system", "labels": labels,
			"annotations": render.Object{
				"talos.dev/config-version":      v.Settings,
				"talos.dev/secrets-version":     v.Secrets,
				"talos.dev/config-file-version": v.ConfigFiles,
			},
		},
		"spec": render.Object{
			"priority":          2000000000,
			"priorityClassName": "system-cluster-critical",
			"hostNetwork":       true,
			"containers":        []any{container},
			"volumes":           volumes,
			"securityContext": render.Object{
				"runAsNonRoot": true, "runAsUser": c.uid, "runAsGroup": c.uid,
				"seccompProfile": render.Object{"type": "RuntimeDefault"},
			},
		},
	}
}

func (c component) environment() []any {
	env := []any{}

	if c.podIP {
		env = append(env, render.Object{"name": "POD_IP", "valueFrom": render.Object{"fieldRef": render.Object{"fieldPath": "status.podIP"}}})
	}

	// A Go program's garbage collector does not read the limit of its cgroup.
	if limit, ok := c.resources.Limits["memory"]; ok && c.env["GOMEMLIMIT"] == "" {
		if quantity, err := resource.ParseQuantity(limit); err == nil {
			env = append(env, variable("GOMEMLIMIT", fmt.Sprint(quantity.Value()*95/100)))
		}
	}

	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		env = append(env, variable(name, c.env[name]))
	}

	return env
}

// Image returns the image of a pod's first container.
func Image(pod render.Object) string {
	for _, container := range kube.Items(pod, "spec", "containers") {
		return kube.At[string](container, "image")
	}

	return ""
}

func variable(name, value string) render.Object { return render.Object{"name": name, "value": value} }

// Resources returns the resources of the configuration over a container's default requests.
func Resources(defaults render.Object, c k8s.Resources) render.Object {
	requests, limits := render.Object{}, render.Object{}

	// A limit below the default request lowers the request.
	for name, quantity := range defaults {
		requests[name] = smaller(quantity, c.Limits[name])
	}

	for name, quantity := range c.Requests {
		requests[name] = quantity
	}

	for name, quantity := range c.Limits {
		limits[name] = quantity
	}

	out := render.Object{}
	if len(requests) > 0 {
		out["requests"] = requests
	}

	if len(limits) > 0 {
		out["limits"] = limits
	}

	return out
}

// smaller returns the request, or the limit if that is lower.
func smaller(request any, limit string) any {
	wanted, err1 := resource.ParseQuantity(fmt.Sprint(request))
	most, err2 := resource.ParseQuantity(limit)

	if err1 != nil || err2 != nil || wanted.Cmp(most) <= 0 {
		return request
	}

	return limit
}

// folders returns the component's own folders, read-only, and then the configuration's extra volumes.
func folders(name string, withConfig bool, extra []k8s.ExtraVolume, own ...k8s.ExtraVolume) []k8s.ExtraVolume {
	out := []k8s.ExtraVolume{{Name: "secrets", HostPath: SecretsDir(name), MountPath: SecretsDir(name), ReadOnly: true}}

	if withConfig {
		out = append(out, k8s.ExtraVolume{Name: "config", HostPath: ConfigDir(name), MountPath: ConfigDir(name), ReadOnly: true})
	}

	return slices.Concat(out, own, extra)
}

func httpsGet(path string, port int) render.Object {
	return render.Object{"path": path, "port": port, "host": "127.0.0.1", "scheme": "HTTPS"}
}

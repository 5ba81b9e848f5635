// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/controllers/k8s/render"
	"github.com/seed-59268b81/talos/controllers/k8s/schemas"
	"github.com/seed-59268b81/talos/kube"
)

var (
	dnsLabel     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	dnsSubdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

// Check returns why the kubelet would not run a static pod: what it cannot decode, what the rules of the API forbid, and what needs the API
// server. The kubelet's own code is too large to be linked. A test checks that both decide the same about some hundred pods.
func Check(pod render.Object) []validate.Finding {
	if problems := schemas.Check(schemas.Pod, pod, schemas.DropUnknown); len(problems) > 0 {
		return problems
	}

	c := &check{volumes: map[string]bool{}, names: map[string]bool{}, hostPorts: map[string]bool{}}
	c.identity(pod)

	spec := kube.At[render.Object](pod, "spec")
	c.spec(spec)
	c.together(spec)

	for _, path := range slices.Sorted(maps.Keys(rules)) {
		each(pod, path, "", func(at string, value any) {
			if text := rules[path](value); text != "" {
				c.wrong(at, "%s", text)
			}
		})
	}

	return c.problems
}

type check struct {
	volumes, names, hostPorts map[string]bool
	problems                  []validate.Finding
}

func (c *check) wrong(at, format string, args ...any) {
	c.problems = append(c.problems, validate.Finding{Path: at, Text: fmt.Sprintf(format, args...)})
}

func (c *check) identity(pod render.Object) {
	if pod["apiVersion"] != "v1" {
		c.wrong("apiVersion", "want v1")
	}

	if pod["kind"] != "Pod" {
		c.wrong("kind", "want Pod")
	}

	_, _, namespace, name := kube.Identity(pod)

	// The kubelet adds a dash and the name of the node.
	if name == "" {
		c.wrong("metadata.name", "is missing")
	} else if !dnsSubdomain.MatchString(name) || len(name) > 180 {
		c.wrong("metadata.name", "%q is not a name: want lower-case letters, digits, dashes and dots", name)
	}

	if namespace != "" && !dnsLabel.MatchString(namespace) {
		c.wrong("metadata.namespace", "%q is not a name: want up to 63 lower-case letters, digits and dashes", namespace)
	}
}

func (c *check) spec(spec render.Object) {
	for i, volume := range kube.Items(spec, "volumes") {
		at := fmt.Sprintf("spec.volumes[%d]", i)
		c.name(at+".name", kube.At[string](volume, "name"), c.volumes)

		if hostPath, ok := volume["hostPath"].(render.Object); ok {
			c.hostPath(at+".hostPath.path", kube.At[string](hostPath, "path"))
		}

		for _, kind := range []string{"secret", "configMap", "persistentVolumeClaim", "ephemeral", "csi"} {
			if volume[kind] != nil {
				c.wrong(at+"."+kind, onlyAPIServer)
			}
		}
	}

	if len(kube.Items(spec, "containers")) == 0 {
		c.wrong("spec.containers", "is missing: want at least one")
	}

	for _, key := range []string{"initContainers", "containers"} {
		for i, container := range kube.Items(spec, key) {
			at := fmt.Sprintf("spec.%s[%d]", key, i)
			c.container(at, container)
			c.containerTogether(at, container, spec["hostNetwork"] == true)
		}
	}

	for _, key := range []string{"ephemeralContainers", "imagePullSecrets", "resourceClaims", "serviceAccountName", "serviceAccount"} {
		if value := spec[key]; value != nil && value != "" {
			c.wrong("spec."+key, onlyAPIServer)
		}
	}
}

func (c *check) hostPath(at, path string) {
	switch {
	case path == "":
		c.wrong(at, "is missing")
	case slices.Contains(strings.Split(path, "/"), ".."):
		c.wrong(at, "%q must not contain ..", path)
	}
}

// name checks the name of a container or volume, which must be unique.
func (c *check) name(at, name string, taken map[string]bool) {
	switch {
	case !dnsLabel.MatchString(name):
		c.wrong(at, "%q is not a name: want up to 63 lower-case letters, digits and dashes", name)
	case taken[name]:
		c.wrong(at, "%q is used twice", name)
	}

	taken[name] = true
}

func (c *check) container(at string, container render.Object) {
	c.name(at+".name", kube.At[string](container, "name"), c.names)

	if image := kube.At[string](container, "image"); image == "" || strings.TrimSpace(image) != image {
		c.wrong(at+".image", "%q is not an image", image)
	}

	mounted := map[string]bool{}

	for i, mount := range kube.Items(container, "volumeMounts") {
		mountAt := fmt.Sprintf("%s.volumeMounts[%d]", at, i)
		path := kube.At[string](mount, "mountPath")

		if name := kube.At[string](mount, "name"); !c.volumes[name] {
			c.wrong(mountAt+".name", "there is no volume %q", name)
		}

		switch {
		case path == "":
			c.wrong(mountAt+".mountPath", "is missing")
		case mounted[path]:
			c.wrong(mountAt+".mountPath", "%q is used twice", path)
		}

		mounted[path] = true
	}

	for i, variable := range kube.Items(container, "env") {
		if name := kube.At[string](variable, "name"); name == "" || strings.ContainsAny(name, "=\x00\n") {
			c.wrong(fmt.Sprintf("%s.env[%d].name", at, i), "%q is not the name of a variable", name)
		}
	}

	for i, port := range kube.Items(container, "ports") {
		if port["containerPort"] == nil {
			c.wrong(fmt.Sprintf("%s.ports[%d].containerPort", at, i), "is missing")
		}
	}

	c.resources(at+".resources", container)
}

// resources checks that a request is not above its limit, that no quantity is negative, and that the resource exists.
func (c *check) resources(at string, container render.Object) {
	requests := kube.At[render.Object](container, "resources", "requests")
	limits := kube.At[render.Object](container, "resources", "limits")

	for name, quantities := range map[string]render.Object{"requests": requests, "limits": limits} {
		for _, what := range slices.Sorted(maps.Keys(quantities)) {
			if quantity, err := resource.ParseQuantity(fmt.Sprint(quantities[what])); err != nil || quantity.Sign() < 0 {
				c.wrong(at+"."+name+"."+what, "%v is not a quantity such as 500m or 1Gi", quantities[what])
			} else if wrong := resourceName(what, quantity, requests, limits); wrong != "" {
				c.wrong(at+"."+name+"."+what, "%s", wrong)
			}
		}
	}

	for _, what := range slices.Sorted(maps.Keys(requests)) {
		if limits[what] == nil {
			continue
		}

		request, err1 := resource.ParseQuantity(fmt.Sprint(requests[what]))
		limit, err2 := resource.ParseQuantity(fmt.Sprint(limits[what]))

		if err1 == nil && err2 == nil && request.Cmp(limit) > 0 {
			c.wrong(at+".limits."+what, "%v is below the request of %v", limits[what], requests[what])
		}
	}
}

// resourceName returns what is wrong with a resource of this name: a container cannot request pods, for example, and devices are counted.
func resourceName(name string, quantity resource.Quantity, requests, limits render.Object) string {
	domain, _, extended := strings.Cut(name, "/")

	switch {
	case name == "cpu", name == "memory", name == "ephemeral-storage":
		return ""
	case strings.HasPrefix(name, "hugepages-"):
		for _, other := range []string{"cpu", "memory"} {
			if requests[other] != nil || limits[other] != nil {
				return ""
			}
		}

		return "huge pages require a request or limit of cpu or memory"
	case !extended:
		return "there is no such resource"
	case domain == "kubernetes.io", strings.HasSuffix(domain, ".kubernetes.io"):
		return ""
	case quantity.MilliValue()%1000 != 0:
		return "want a whole number"
	case limits[name] == nil, requests[name] != nil && fmt.Sprint(requests[name]) != fmt.Sprint(limits[name]):
		return "want a limit, and an equal request, if any"
	default:
		return ""
	}
}

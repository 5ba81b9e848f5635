// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/controllers/k8s/render"
	"github.com/seed-59268b81/talos/controllers/k8s/schemas"
	"github.com/seed-59268b81/talos/kube"
)

// seccomp checks a seccomp profile, which is a file; appArmor checks an AppArmor profile, which is a name.
var seccomp, appArmor = profile(inside), profile(func(any) string { return "" })

func profile(local rule) rule {
	return func(value any) string {
		object, _ := value.(render.Object)
		kind, name := kube.At[string](object, "type"), kube.At[string](object, "localhostProfile")

		if wrong := oneOf("Unconfined", "RuntimeDefault", "Localhost")(kind); wrong != "" {
			return "type: " + wrong
		}

		if (kind == "Localhost") != (name != "") {
			return "localhostProfile is required for type Localhost, and not allowed for others"
		}

		return local(name)
	}
}

// only returns the one key that an object has of some, "" if it has none or several of them.
func only(object render.Object, keys ...string) string {
	found := ""

	for _, key := range keys {
		if object[key] == nil {
			continue
		}

		if found != "" {
			return ""
		}

		found = key
	}

	return found
}

func hook(value any) string { return handler(value, "exec", "httpGet", "tcpSocket", "sleep") }

// handler checks the action of a hook or a probe.
func handler(value any, known ...string) string {
	object, _ := value.(render.Object)
	kind := only(object, known...)
	action, _ := object[kind].(render.Object)

	switch kind {
	case "exec":
		if items, _ := action["command"].([]any); len(items) == 0 {
			return "exec.command is empty"
		}
	case "httpGet":
		if wrong := oneOf("", "HTTP", "HTTPS")(kube.At[string](action, "scheme")); wrong != "" {
			return "httpGet.scheme: " + wrong
		}

		for _, header := range kube.Items(action, "httpHeaders") {
			if wrong := form(headerName)(kube.At[string](header, "name")); wrong != "" {
				return "httpGet.httpHeaders: " + wrong
			}
		}

		return port(action["port"])
	case "tcpSocket", "grpc":
		return port(action["port"])
	case "sleep":
		return between(0, math.MaxInt32)(action["seconds"])
	default:
		return "want one of " + strings.Join(known, ", ")
	}

	return ""
}

func port(value any) string {
	if n, ok := schemas.Integer(value); ok && n > 0 && n <= math.MaxUint16 {
		return ""
	}

	if s, ok := value.(string); ok && len(portName(s)) == 0 {
		return ""
	}

	return fmt.Sprintf("port: %v is neither a port nor the name of a port", value)
}

func probe(value any) string {
	if wrong := handler(value, "exec", "httpGet", "tcpSocket", "grpc"); wrong != "" {
		return wrong
	}

	object, _ := value.(render.Object)
	for _, key := range []string{"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"} {
		if wrong := between(0, math.MaxInt32)(object[key]); wrong != "" {
			return key + ": " + wrong
		}
	}

	return ""
}

// The sources of a variable.
var (
	variableFields = []string{
		"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs",
		"status.podIP", "status.podIPs",
	}
	variableResources = []string{
		"limits.cpu", "limits.memory", "limits.ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
	}
)

func variableSource(value any) string {
	object, _ := value.(render.Object)
	kind := only(object, "fieldRef", "resourceFieldRef")
	source, _ := object[kind].(render.Object)

	switch kind {
	case "fieldRef":
		at := kube.At[string](source, "fieldPath")
		if slices.Contains(variableFields, at) || strings.HasPrefix(at, "metadata.labels['") || strings.HasPrefix(at, "metadata.annotations['") {
			return ""
		}

		return fmt.Sprintf("fieldRef.fieldPath: %q is not known: want one of %s", at, strings.Join(variableFields, ", "))
	case "resourceFieldRef":
		of := kube.At[string](source, "resource")
		if slices.Contains(variableResources, of) || strings.Contains(of, ".hugepages-") {
			return ""
		}

		return fmt.Sprintf("resourceFieldRef.resource: %q is not known: want one of %s", of, strings.Join(variableResources, ", "))
	default:
		return "want one of fieldRef, resourceFieldRef: " + onlyAPIServer
	}
}

// maxNameservers is the number of servers that resolvers in C use.
const maxNameservers = 3

// together checks fields that depend on each other.
func (c *check) together(spec render.Object) {
	servers := kube.At[[]any](spec, "dnsConfig", "nameservers")

	switch {
	case kube.At[string](spec, "dnsPolicy") == "None" && len(servers) == 0:
		c.wrong("spec.dnsConfig.nameservers", "is missing: dnsPolicy is None")
	case len(servers) > maxNameservers:
		c.wrong("spec.dnsConfig.nameservers", "has %d: want %d at most", len(servers), maxNameservers)
	}

	for i, option := range kube.Items(spec, "dnsConfig", "options") {
		if kube.At[string](option, "name") == "" {
			c.wrong(fmt.Sprintf("spec.dnsConfig.options[%d].name", i), "is missing")
		}
	}

	if spec["hostPID"] == true && spec["shareProcessNamespace"] == true {
		c.wrong("spec.shareProcessNamespace", "cannot be used with hostPID")
	}

	if spec["hostUsers"] == false && (spec["hostNetwork"] == true || spec["hostPID"] == true || spec["hostIPC"] == true) {
		c.wrong("spec.hostUsers", "false cannot be used with hostNetwork, hostPID or hostIPC")
	}

	for i, toleration := range kube.Items(spec, "tolerations") {
		at := fmt.Sprintf("spec.tolerations[%d]", i)

		if kube.At[string](toleration, "operator") == "Exists" && kube.At[string](toleration, "value") != "" {
			c.wrong(at+".value", "cannot be used with operator Exists")
		}

		if toleration["tolerationSeconds"] != nil && kube.At[string](toleration, "effect") != "NoExecute" {
			c.wrong(at+".tolerationSeconds", "requires effect NoExecute")
		}

		if kube.At[string](toleration, "key") == "" && kube.At[string](toleration, "operator") != "Exists" {
			c.wrong(at+".operator", "want Exists when there is no key")
		}
	}

	for i, volume := range kube.Items(spec, "volumes") {
		at := fmt.Sprintf("spec.volumes[%d]", i)

		if sources := len(slices.DeleteFunc(slices.Collect(maps.Keys(volume)), func(k string) bool { return k == "name" || volume[k] == nil })); sources > 1 {
			c.wrong(at, "has %d sources, want one", sources)
		}

		for j, source := range kube.Items(volume, "projected", "sources") {
			if only(source, "downwardAPI") == "" || len(source) > 1 {
				c.wrong(fmt.Sprintf("%s.projected.sources[%d]", at, j), onlyAPIServer)
			}
		}
	}
}

// containerTogether checks fields of a container that depend on each other.
func (c *check) containerTogether(at string, container render.Object, hostNetwork bool) {
	security, _ := container["securityContext"].(render.Object)
	added := kube.At[[]any](security, "capabilities", "add")

	if security["allowPrivilegeEscalation"] == false && (security["privileged"] == true || slices.Contains(added, any("CAP_SYS_ADMIN"))) {
		c.wrong(at+".securityContext.allowPrivilegeEscalation", "false cannot be used with privileged or CAP_SYS_ADMIN")
	}

	for i, mount := range kube.Items(container, "volumeMounts") {
		if kube.At[string](mount, "mountPropagation") == "Bidirectional" && security["privileged"] != true {
			c.wrong(fmt.Sprintf("%s.volumeMounts[%d].mountPropagation", at, i), "Bidirectional requires a privileged container")
		}

		if recursive := kube.At[string](mount, "recursiveReadOnly"); (recursive == "Enabled" || recursive == "IfPossible") && mount["readOnly"] != true {
			c.wrong(fmt.Sprintf("%s.volumeMounts[%d].recursiveReadOnly", at, i), "%s requires readOnly", recursive)
		}

		if kube.At[string](mount, "subPath") != "" && kube.At[string](mount, "subPathExpr") != "" {
			c.wrong(fmt.Sprintf("%s.volumeMounts[%d].subPathExpr", at, i), "cannot be used with subPath")
		}
	}

	for i, variable := range kube.Items(container, "env") {
		if kube.At[string](variable, "value") != "" && variable["valueFrom"] != nil {
			c.wrong(fmt.Sprintf("%s.env[%d].valueFrom", at, i), "cannot be used with value")
		}
	}

	if strings.HasPrefix(at, "spec.initContainers") && kube.At[string](container, "restartPolicy") != "Always" {
		for _, key := range []string{"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"} {
			if container[key] != nil {
				c.wrong(at+"."+key, "is not allowed in an init container unless its restartPolicy is Always")
			}
		}
	}

	names := map[string]bool{}

	for i, p := range kube.Items(container, "ports") {
		portAt := fmt.Sprintf("%s.ports[%d]", at, i)

		if name := kube.At[string](p, "name"); name != "" && names[name] {
			c.wrong(portAt+".name", "%q is used twice", name)
		} else {
			names[name] = true
		}

		host, _ := schemas.Integer(p["hostPort"])
		inner, _ := schemas.Integer(p["containerPort"])

		if hostNetwork && host != 0 && host != inner {
			c.wrong(portAt+".hostPort", "%d must equal containerPort when hostNetwork is true", host)
		}

		if hostNetwork {
			host = inner
		}

		if strings.HasPrefix(at, "spec.initContainers") || host == 0 {
			continue
		}

		key := fmt.Sprint(host, "/", cmp.Or(kube.At[string](p, "protocol"), "TCP"), "/", kube.At[string](p, "hostIP"))
		if c.hostPorts[key] {
			c.wrong(portAt+".hostPort", "%d is used twice", host)
		}

		c.hostPorts[key] = true
	}
}

// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/seed-59268b81/talos/controllers/k8s/render"
	"github.com/seed-59268b81/talos/controllers/k8s/schemas"
)

// A rule returns what is wrong with a value, "" if nothing is.
type rule func(value any) string

// rules are the rules for single values, by the path of the field. In a path [] is each item of a list, {} each value of a map and {=} each of
// its keys. A test checks that the kubelet's own code decides the same (TestKubeletTakes).
var rules = withContainers(map[string]rule{
	"metadata.generateName":    form(orEmpty(func(s string) []string { return content.IsDNS1123Subdomain(strings.TrimSuffix(s, "-")) })),
	"metadata.labels{=}":       form(content.IsLabelKey),
	"metadata.labels{}":        form(content.IsLabelValue),
	"metadata.annotations{=}":  form(func(s string) []string { return content.IsLabelKey(strings.ToLower(s)) }),
	"metadata.finalizers[]":    finalizer,
	"metadata.ownerReferences": absent,

	"spec.volumes[].emptyDir.sizeLimit":       quantity,
	"spec.volumes[].hostPath.type":            oneOf("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"),
	"spec.volumes[].downwardAPI.items[].path": inside,
	"spec.volumes[].nfs.server":               form(notEmpty),
	"spec.volumes[].nfs.path":                 absolute,
	"spec.volumes[].iscsi.iqn":                matches(`^(iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)|eui\.[[:xdigit:]]{16}|naa\.[[:xdigit:]]{32})$`),

	"spec.restartPolicy":                       oneOf("", "Always", "OnFailure", "Never"),
	"spec.dnsPolicy":                           oneOf("", "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
	"spec.preemptionPolicy":                    oneOf("", "PreemptLowerPriority", "Never"),
	"spec.os.name":                             oneOf("linux", "windows"),
	"spec.hostname":                            form(orEmpty(content.IsDNS1123Label)),
	"spec.priorityClassName":                   form(orEmpty(content.IsDNS1123Subdomain)),
	"spec.tolerations[].value":                 form(content.IsLabelValue),
	"spec.subdomain":                           form(orEmpty(content.IsDNS1123Label)),
	"spec.runtimeClassName":                    form(content.IsDNS1123Subdomain),
	"spec.activeDeadlineSeconds":               between(1, math.MaxInt32),
	"spec.schedulingGates":                     absent,
	"spec.dnsConfig.nameservers[]":             address,
	"spec.dnsConfig.searches[]":                form(searchDomain),
	"spec.hostAliases[].ip":                    address,
	"spec.hostAliases[].hostnames[]":           form(content.IsDNS1123Subdomain),
	"spec.nodeSelector{=}":                     form(content.IsLabelKey),
	"spec.nodeSelector{}":                      form(content.IsLabelValue),
	"spec.tolerations[].key":                   form(orEmpty(content.IsLabelKey)),
	"spec.tolerations[].operator":              oneOf("", "Exists", "Equal"),
	"spec.tolerations[].effect":                oneOf("", "NoSchedule", "PreferNoSchedule", "NoExecute"),
	"spec.readinessGates[].conditionType":      form(content.IsLabelKey),
	"spec.topologySpreadConstraints[].maxSkew": between(1, math.MaxInt32),

	"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms": notNone,

	"spec.securityContext.runAsUser":            between(0, math.MaxInt32),
	"spec.securityContext.runAsGroup":           between(0, math.MaxInt32),
	"spec.securityContext.fsGroup":              between(0, math.MaxInt32),
	"spec.securityContext.supplementalGroups[]": between(0, math.MaxInt32),
	"spec.securityContext.sysctls[].name":       matches(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`),
	"spec.securityContext.seccompProfile":       seccomp,
	"spec.securityContext.appArmorProfile":      appArmor,
})

// containerRules are the rules for each container.
var containerRules = map[string]rule{
	"imagePullPolicy":                              oneOf("", "Always", "Never", "IfNotPresent"),
	"terminationMessagePolicy":                     oneOf("", "File", "FallbackToLogsOnError"),
	"restartPolicy":                                oneOf("Always", "OnFailure", "Never"),
	"volumeMounts[].mountPropagation":              oneOf("None", "HostToContainer", "Bidirectional"),
	"volumeMounts[].recursiveReadOnly":             oneOf("Disabled", "IfPossible", "Enabled"),
	"volumeMounts[].subPath":                       inside,
	"volumeMounts[].subPathExpr":                   inside,
	"volumeDevices":                                absent,
	"ports[].containerPort":                        between(1, math.MaxUint16),
	"ports[].hostPort":                             between(0, math.MaxUint16),
	"ports[].name":                                 form(orEmpty(portName)),
	"ports[].protocol":                             oneOf("", "TCP", "UDP", "SCTP"),
	"env[].valueFrom":                              variableSource,
	"envFrom[].secretRef":                          absent,
	"envFrom[].configMapRef":                       absent,
	"resources.claims":                             absent,
	"lifecycle.postStart":                          hook,
	"lifecycle.preStop":                            hook,
	"livenessProbe":                                probe,
	"readinessProbe":                               probe,
	"startupProbe":                                 probe,
	"livenessProbe.successThreshold":               between(0, 1),
	"livenessProbe.terminationGracePeriodSeconds":  between(1, math.MaxInt32),
	"startupProbe.terminationGracePeriodSeconds":   between(1, math.MaxInt32),
	"startupProbe.successThreshold":                between(0, 1),
	"securityContext.runAsUser":                    between(0, math.MaxInt32),
	"securityContext.runAsGroup":                   between(0, math.MaxInt32),
	"securityContext.procMount":                    oneOf("Default", "Unmasked"),
	"securityContext.seccompProfile":               seccomp,
	"securityContext.appArmorProfile":              appArmor,
	"readinessProbe.terminationGracePeriodSeconds": absent,
}

func withContainers(out map[string]rule) map[string]rule {
	for field, r := range containerRules {
		out["spec.containers[]."+field], out["spec.initContainers[]."+field] = r, r
	}

	return out
}

// each calls fn for each value at a path of rules, with the path of the value.
func each(value any, rest, at string, fn func(at string, value any)) {
	if value == nil {
		return
	}

	if rest == "" {
		fn(at, value)

		return
	}

	switch object, _ := value.(render.Object); {
	case strings.HasPrefix(rest, "[]"):
		items, _ := value.([]any)
		for i, item := range items {
			each(item, rest[2:], fmt.Sprintf("%s[%d]", at, i), fn)
		}
	case rest == "{=}":
		for _, key := range slices.Sorted(maps.Keys(object)) {
			fn(at, key)
		}
	case rest == "{}":
		for _, key := range slices.Sorted(maps.Keys(object)) {
			fn(at+"."+key, object[key])
		}
	default:
		rest = strings.TrimPrefix(rest, ".")

		end := strings.IndexAny(rest, ".[{")
		if end < 0 {
			end = len(rest)
		}

		each(object[rest[:end]], rest[end:], strings.TrimPrefix(at+"."+rest[:end], "."), fn)
	}
}

func form(check func(string) []string) rule {
	return func(value any) string {
		s, _ := value.(string)
		if wrong := check(s); len(wrong) > 0 {
			return fmt.Sprintf("%q is not allowed: %s", s, wrong[0])
		}

		return ""
	}
}

func orEmpty(check func(string) []string) func(string) []string {
	return func(s string) []string {
		if s == "" {
			return nil
		}

		return check(s)
	}
}

func notEmpty(s string) []string {
	if s == "" {
		return []string{"it is empty"}
	}

	return nil
}

func matches(pattern string) rule { return form(like(pattern, math.MaxInt)) }

// like checks a text by its form and length.
func like(pattern string, longest int) func(string) []string {
	compiled := regexp.MustCompile(pattern)

	return func(s string) []string {
		switch {
		case len(s) > longest:
			return []string{fmt.Sprintf("it is longer than %d", longest)}
		case !compiled.MatchString(s):
			return []string{"it does not match " + pattern}
		default:
			return nil
		}
	}
}

var (
	domain     = like(`^_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$`, 253)
	headerName = like(`^[-A-Za-z0-9]+$`, math.MaxInt)
	portForm   = like(`^[-a-z0-9]*$`, 15)
)

func searchDomain(s string) []string {
	if s == "." {
		return nil
	}

	return domain(strings.TrimSuffix(s, "."))
}

// portName checks a service name as IANA defines it: at least one letter, and hyphens only inside.
func portName(s string) []string {
	if wrong := portForm(s); len(wrong) > 0 {
		return wrong
	}

	if !strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") || strings.Contains(s, "--") || strings.Trim(s, "-") != s {
		return []string{"want a letter, and hyphens only between letters and digits"}
	}

	return nil
}

func oneOf(all ...string) rule {
	return func(value any) string {
		if s, _ := value.(string); !slices.Contains(all, s) {
			return fmt.Sprintf("%q is not known: want one of %s", s, strings.Join(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == "" }), ", "))
		}

		return ""
	}
}

func between(low, high int64) rule {
	return func(value any) string {
		if n, ok := schemas.Integer(value); ok && (n < low || n > high) {
			return fmt.Sprintf("%d is out of range (%d to %d)", n, low, high)
		}

		return ""
	}
}

// onlyAPIServer is the text for fields that a static pod cannot use.
const onlyAPIServer = "a static pod cannot use this: it needs the API server"

func absent(value any) string {
	if items, ok := value.([]any); ok && len(items) == 0 {
		return ""
	}

	return onlyAPIServer
}

func notNone(value any) string {
	if items, _ := value.([]any); len(items) == 0 {
		return "is empty: want at least one"
	}

	return ""
}

func quantity(value any) string {
	if q, err := resource.ParseQuantity(fmt.Sprint(value)); err != nil || q.Sign() < 0 {
		return fmt.Sprintf("%v is not a quantity such as 500m or 1Gi", value)
	}

	return ""
}

func address(value any) string {
	s, _ := value.(string)
	if _, err := netip.ParseAddr(s); err != nil {
		return fmt.Sprintf("%q is not an address", s)
	}

	return ""
}

// inside checks a relative path.
func inside(value any) string {
	if s, _ := value.(string); path.IsAbs(s) || slices.Contains(strings.Split(s, "/"), "..") {
		return fmt.Sprintf("%q must be relative, without ..", s)
	}

	return ""
}

func absolute(value any) string {
	if s, _ := value.(string); !path.IsAbs(s) {
		return fmt.Sprintf("%q must begin with a slash", s)
	}

	return ""
}

func finalizer(value any) string {
	s, _ := value.(string)
	if wrong := content.IsLabelKey(s); len(wrong) > 0 {
		return fmt.Sprintf("%q is not allowed: %s", s, wrong[0])
	}

	if !strings.Contains(s, "/") && !slices.Contains([]string{"kubernetes", "orphan", "foregroundDeletion"}, s) {
		return fmt.Sprintf("%q is not allowed: want a name with a domain", s)
	}

	return ""
}

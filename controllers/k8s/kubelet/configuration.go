// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/platform"
)

type object = map[string]any

// The kubelet pulls images through process 1 while there are rules about images: a setting of the kubelet, and its value.
const (
	ImageServiceKey      = "imageServiceEndpoint"
	ImageServiceEndpoint = "unix://" + contract.ImageSocket
)

// configuration returns the KubeletConfiguration: the defaults, which the machine configuration overrides, which the settings that the node
// depends on override.
func configuration(cfg k8s.KubeletConfigSpec, node Node) (object, error) {
	forced := alwaysSet(cfg)

	for key := range cfg.ExtraConfig {
		if _, ok := forced[key]; ok {
			return nil, fmt.Errorf("machine.kubelet.extraConfig: field %q is not allowed: the system sets it", key)
		}
	}

	if at, ok := cfg.ExtraConfig[ImageServiceKey]; ok && at != ImageServiceEndpoint {
		return nil, fmt.Errorf("machine.kubelet.extraConfig: field %q is not allowed: the system sets it", ImageServiceKey)
	}

	return merge(merge(defaults(cfg, node), cfg.ExtraConfig), merge(forced, inPlace(node.Platform))), nil
}

// inPlace returns the settings for a platform whose resources are not all the machine's own.
func inPlace(p platform.Platform) object {
	out := object{}

	// The kubelet refuses to start on cgroup v1. The system's services have no cgroups there that it could measure.
	if !p.Owns(platform.CgroupReservations) {
		out["failCgroupV1"] = false
		out["systemCgroups"], out["kubeletCgroups"] = "", ""
	}

	if !p.Owns(platform.OOMScores) {
		out["oomScoreAdj"] = 0
	}

	if !p.Owns(platform.RootUser) {
		out["featureGates"] = object{"KubeletInUserNamespace": true}
		out["protectKernelDefaults"] = false
	}

	return out
}

// alwaysSet returns the settings that nothing overrides.
func alwaysSet(cfg k8s.KubeletConfigSpec) object {
	out := object{
		"apiVersion":               "kubelet.config.k8s.io/v1beta1",
		"kind":                     "KubeletConfiguration",
		"port":                     Port,
		"cgroupRoot":               "/",
		"cgroupDriver":             "cgroupfs",
		"systemCgroups":            systemCgroups,
		"kubeletCgroups":           kubeletCgroups,
		"protectKernelDefaults":    true,
		"rotateCertificates":       true,
		"containerRuntimeEndpoint": "unix://" + layout.ContainerdSocket,
		"resolvConf":               ResolvConf,
		"authentication": object{
			"x509":      object{"clientCAFile": CAFile},
			"webhook":   object{"enabled": !cfg.SkipNodeRegistration},
			"anonymous": object{"enabled": false},
		},
		"authorization": object{"mode": "Webhook", "webhook": object{"cacheUnauthorizedTTL": unauthorizedTTL}},
	}

	if cfg.SkipNodeRegistration {
		out["authorization"] = object{"mode": "AlwaysAllow"}
	}

	// The kubelet reads one folder; the system's pods are in both. It would accept a list from a URL as a whole or not at all.
	out["staticPodURL"] = ""

	if cfg.DisableManifestsDirectory {
		out["staticPodPath"] = StaticPodsDir
	} else {
		out["staticPodPath"] = ManifestsDir
	}

	return out
}

// unauthorizedTTL is how long the kubelet remembers that the API server has denied a request. A new cluster's API server denies what it has no roles for
// yet, also that a control plane reads the state of its static pods. The kubelet's default, 30 s, would go on with that when the roles are there.
const unauthorizedTTL = "2s"

// podPidsLimit is a sixteenth of kernel.pid_max as the system sets it: more than a pod needs, and far less than a node has.
const podPidsLimit = 16384

// foreignDiskReserve must stay free on a file system that is not the machine's.
const foreignDiskReserve = "1Gi"

// defaults returns the settings that the machine configuration may change.
func defaults(cfg k8s.KubeletConfigSpec, node Node) object {
	memory := 384
	if node.ControlPlane {
		memory = 512
	}

	// The kubelet counts all memory that the kernel reports as the node's.
	if !node.Platform.Owns(platform.Memory) {
		memory += int(node.Platform.Limits.ForeignMemory >> 20)
	}

	out := object{
		"address": "0.0.0.0",
		// The kubelet watches the folder of static pods. After this time it sees a change that it missed.
		"fileCheckFrequency":  "5s",
		"oomScoreAdj":         -450,
		"clusterDomain":       cfg.ClusterDomain,
		"clusterDNS":          list(cfg.ClusterDNS),
		"failSwapOn":          false,
		"serializeImagePulls": false,
		"systemReserved": object{
			"cpu": "50m", "memory": fmt.Sprintf("%dMi", memory), "pid": "100", "ephemeral-storage": "256Mi",
		},
		"logging":                         object{"format": "json"},
		"shutdownGracePeriod":             "30s",
		"shutdownGracePeriodCriticalPods": "10s",
		"streamingConnectionIdleTimeout":  "5m",
		"tlsMinVersion":                   "VersionTLS13",
	}

	// The file system is the host's, which may keep it nearly full: the share that must be free by default may never be. Pods are evicted and
	// images removed only when almost nothing is left.
	if !node.Platform.Owns(platform.Disks) {
		out["evictionHard"] = object{"memory.available": "100Mi", "nodefs.available": foreignDiskReserve, "imagefs.available": foreignDiskReserve}
		out["imageGCHighThresholdPercent"] = 100 // never
	}

	// One pod must not use up the node's process ids.
	if node.Platform.Owns(platform.CgroupReservations) {
		out["podPidsLimit"] = podPidsLimit
	}

	if cfg.DefaultRuntimeSeccompEnabled {
		out["seccompDefault"] = true
	}

	if asksToServe(cfg) {
		out["serverTLSBootstrap"] = true
	}

	if cfg.EnableFSQuotaMonitoring {
		out["featureGates"] = object{"LocalStorageCapacityIsolationFSQuotaMonitoring": true}
	}

	if cfg.SkipNodeRegistration {
		out["registerNode"] = false
	} else if len(cfg.RegisterWithTaints) > 0 {
		out["registerWithTaints"] = taints(cfg.RegisterWithTaints)
	}

	return out
}

// taints converts key → value:effect to objects.
func taints(in map[string]string) []any {
	out := make([]any, 0, len(in))

	for _, key := range slices.Sorted(maps.Keys(in)) {
		value, effect, ok := strings.Cut(in[key], ":")
		if !ok {
			value, effect = "", in[key]
		}

		taint := object{"key": key, "effect": effect}
		if value != "" {
			taint["value"] = value
		}

		out = append(out, taint)
	}

	return out
}

// merge overrides one object with another, recursively; lists and scalars are replaced.
func merge(under, over object) object {
	out := maps.Clone(under)

	for key, value := range over {
		below, isObject := out[key].(object)
		above, overObject := value.(object)

		if isObject && overObject {
			out[key] = merge(below, above)
		} else {
			out[key] = value
		}
	}

	return out
}

func list(in []string) []any {
	out := make([]any, 0, len(in))
	for _, v := range in {
		out = append(out, v)
	}

	return out
}

// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/platform"
)

type object = map[string]any

// configuration is the KubeletConfiguration: defaults, over them what the machine configuration says, over that what
// the node depends on.
func configuration(cfg k8s.KubeletConfigSpec, node Node) (object, error) {
	forced := alwaysSet(cfg)

	for key := range cfg.ExtraConfig {
		if _, ok := forced[key]; ok {
			return nil, fmt.Errorf("machine.kubelet.extraConfig: field %q is not allowed: the system sets it", key)
		}
	}

	return merge(merge(defaults(cfg, node), cfg.ExtraConfig), merge(forced, inPlace(node.Platform))), nil
}

// inPlace is what the kubelet must know of a place that is not all the machine's own.
func inPlace(p platform.Platform) object {
	out := object{}

	// It warns of cgroup v1 by not starting. Services of the system have no groups there that it could measure.
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

// alwaysSet is what nothing overrides.
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
		"authorization": object{"mode": "Webhook"},
	}

	if cfg.SkipNodeRegistration {
		out["authorization"] = object{"mode": "AlwaysAllow"}
	}

	// The kubelet reads one folder. Ours are in both. A list over the network would be taken as a whole or not at all.
	out["staticPodURL"] = ""

	if cfg.DisableManifestsDirectory {
		out["staticPodPath"] = StaticPodsDir
	} else {
		out["staticPodPath"] = ManifestsDir
	}

	return out
}

// podPidsLimit is a sixteenth of kernel.pid_max as the system sets it: more than a pod needs, and far less than a node has.
const podPidsLimit = 16384

// foreignDiskReserve is what has to stay free of a file system that is not the machine's.
const foreignDiskReserve = "1Gi"

// defaults is what the machine configuration may change.
func defaults(cfg k8s.KubeletConfigSpec, node Node) object {
	memory := 384
	if node.ControlPlane {
		memory = 512
	}

	// The kubelet takes all that the kernel shows for its own.
	if !node.Platform.Owns(platform.Memory) {
		memory += int(node.Platform.Limits.ForeignMemory >> 20)
	}

	out := object{
		"address": "0.0.0.0",
		// It watches the folder of static pods. Should it miss a change, this is how long it takes.
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

	// The file system is another's, and however full that keeps it, it is not the kubelet's to make room there: a share of it,
	// as by default, may never be free. Pods and images go when there is next to nothing left.
	if !node.Platform.Owns(platform.Disks) {
		out["evictionHard"] = object{"memory.available": "100Mi", "nodefs.available": foreignDiskReserve, "imagefs.available": foreignDiskReserve}
		out["imageGCHighThresholdPercent"] = 100 // never
	}

	// One pod does not take all that the node has.
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

// taints turns key → value:effect into objects.
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

// merge lays one object over another, recursively; lists and scalars are replaced.
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

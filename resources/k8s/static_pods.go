// SPDX-License-Identifier: Apache-2.0

package k8s

import "github.com/seed-59268b81/talos/cosi/resource"

var staticPodDefinition = domain.Sensitive().Type("StaticPods")

// StaticPodSpec is a pod that the kubelet runs without the API server.
type StaticPodSpec struct {
	Pod map[string]any `yaml:"pod" protobuf:"1"`
}

// Definition implements resource.Spec.
func (StaticPodSpec) Definition() *resource.Definition { return staticPodDefinition }

// MarshalYAML prints the object itself.
func (s StaticPodSpec) MarshalYAML() (any, error) { return s.Pod, nil }

var staticPodServerStatusDefinition = domain.Type("StaticPodServerStatuses", "URL={.url}")

// StaticPodServerStatusSpec is the folder where the kubelet finds the static pods.
type StaticPodServerStatusSpec struct {
	URL string `yaml:"url" protobuf:"1"`
}

// Definition implements resource.Spec.
func (StaticPodServerStatusSpec) Definition() *resource.Definition {
	return staticPodServerStatusDefinition
}

// StaticPodStatusOf returns the id of the status of a pod of the control plane: its namespace, and the name that the kubelet gives it.
func StaticPodStatusOf(id, nodename string) string { return "kube-system/" + id + "-" + nodename }

var staticPodStatusDefinition = domain.Alias("podstatus").Type("StaticPodStatuses", `Ready={.conditions[?(@.type=="Ready")].status}`)

// StaticPodStatusSpec is the status of a static pod as the kubelet reports it.
type StaticPodStatusSpec struct {
	PodStatus map[string]any `yaml:"podStatus" protobuf:"1"`
}

// Definition implements resource.Spec.
func (StaticPodStatusSpec) Definition() *resource.Definition { return staticPodStatusDefinition }

// MarshalYAML prints the object itself.
func (s StaticPodStatusSpec) MarshalYAML() (any, error) { return s.PodStatus, nil }

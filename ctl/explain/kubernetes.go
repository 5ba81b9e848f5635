// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// podStatus has the fields of a Kubernetes PodStatus that rules read.
type podStatus struct {
	Phase             string            `yaml:"phase"`
	Reason            string            `yaml:"reason"`
	Message           string            `yaml:"message"`
	Conditions        []podCondition    `yaml:"conditions"`
	Containers        []containerStatus `yaml:"containerStatuses"`
	InitContainerRuns []containerStatus `yaml:"initContainerStatuses"`
}

type podCondition struct {
	Type    string `yaml:"type"`
	Status  string `yaml:"status"`
	Message string `yaml:"message"`
}

type containerStatus struct {
	Name         string         `yaml:"name"`
	Image        string         `yaml:"image"`
	Ready        bool           `yaml:"ready"`
	RestartCount int            `yaml:"restartCount"`
	State        containerState `yaml:"state"`
	LastState    containerState `yaml:"lastState"`
}

type containerState struct {
	Waiting    *stateReason `yaml:"waiting"`
	Terminated *stateReason `yaml:"terminated"`
}

type stateReason struct {
	Reason   string `yaml:"reason"`
	Message  string `yaml:"message"`
	ExitCode int    `yaml:"exitCode"`
}

// imageReasons are the kubelet's reasons of a container whose image cannot be pulled.
var imageReasons = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}

// podRule explains a static pod that is not ready.
func podRule(f *Facts, s Symptom) *Finding {
	r := f.pod(s.ID)

	var status podStatus
	if r == nil || yaml.Unmarshal([]byte(r.Spec), &status) != nil {
		return nil
	}

	if status.ready() {
		return f.outdated(component(r.ID)).finding("static pod " + r.ID)
	}

	finding := &Finding{
		Says:    fmt.Sprintf("static pod %s is not ready", r.ID),
		Try:     "see the log of its container: talosctl containers -k, talosctl logs -k CONTAINER",
		Because: podCauses(component(r.ID)),
	}

	for _, c := range slices.Concat(status.InitContainerRuns, status.Containers) {
		if f.podContainer(finding, *r, c) {
			return finding
		}
	}

	if status.Message != "" {
		finding.Evidence = append(finding.Evidence, r.Name()+": "+status.Message)
	}

	if len(finding.Evidence) == 0 {
		finding.Evidence = []string{r.Name() + ": phase " + status.Phase + ", Ready is not True"}
	}

	return finding
}

// podContainer adds the status of a container to the finding, and reports whether it is the cause.
func (f *Facts) podContainer(finding *Finding, r Resource, c containerStatus) bool {
	waiting := c.State.Waiting

	if waiting != nil && slices.Contains(imageReasons, waiting.Reason) {
		*finding = Finding{
			Says:     fmt.Sprintf("the image of static pod %s cannot be pulled: %s", r.ID, c.Image),
			Evidence: []string{r.Name() + ": " + waiting.Reason + ": " + waiting.Message},
			Try:      "correct the image in the machine configuration (" + imageField(component(r.ID)) + "), or let the machine reach its registry",
			Because:  unreachable(waiting.Message),
		}
		f.describePod(finding, c.Image, waiting.Message)

		return true
	}

	if waiting != nil && waiting.Reason != "" {
		finding.Evidence = append(finding.Evidence, strings.TrimSuffix(fmt.Sprintf("%s: container %s: %s: %s", r.Name(), c.Name, waiting.Reason, waiting.Message), ": "))
	}

	for _, ended := range []*stateReason{c.State.Terminated, c.LastState.Terminated} {
		if ended != nil && ended.ExitCode != 0 {
			finding.Evidence = append(finding.Evidence, fmt.Sprintf("%s: container %s ended with code %d after %s: %s",
				r.Name(), c.Name, ended.ExitCode, english.Plural(c.RestartCount, "restart", ""), ended.Message))

			break
		}
	}

	return false
}

func (p podStatus) ready() bool {
	return slices.ContainsFunc(p.Conditions, func(c podCondition) bool { return c.Type == "Ready" && c.Status == "True" })
}

// component returns the control plane component of a pod by its id, such as kube-system/kube-apiserver-NODE.
func component(id string) string {
	_, pod, _ := strings.Cut(id, "/")

	for _, c := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		if strings.HasPrefix(pod, c) {
			return c
		}
	}

	return pod
}

// podCauses returns what a component of the control plane depends on.
func podCauses(component string) []Symptom {
	switch component {
	case "kube-apiserver":
		return []Symptom{{Kind: ServiceOf, ID: "etcd"}, {Kind: Quorum}}
	case "kube-controller-manager", "kube-scheduler":
		return []Symptom{{Kind: PodOf, ID: "kube-apiserver"}}
	default:
		return nil
	}
}

// nodeRule explains a Node that is not registered or not ready.
func nodeRule(f *Facts, s Symptom) *Finding {
	status, ok := find[k8s.NodeStatusSpec](f, s.ID)
	if ok && status.NodeReady {
		return nil
	}

	because := []Symptom{{Kind: ServiceOf, ID: "kubelet"}, {Kind: Endpoint}}
	if f.controlPlane() {
		because = append(because, Symptom{Kind: ServiceOf, ID: "etcd"}, Symptom{Kind: PodOf, ID: "kube-apiserver"})
	}

	finding := &Finding{
		Says:     fmt.Sprintf("node %q is not registered with Kubernetes", s.ID),
		Evidence: []string{s.String() + " does not exist"},
		Try:      "see why the kubelet does not register: talosctl logs kubelet",
		Because:  because,
	}

	switch kubelet := instance[k8s.KubeletKubeconfigSpec](k8s.NamespaceName, k8s.KubeletID); {
	case ok:
		finding.Says = fmt.Sprintf("Kubernetes says that node %q is not ready", s.ID)
		finding.Evidence = []string{s.String() + ": nodeReady is false"}
		finding.Try = "see the conditions of the node: kubectl describe node " + s.ID + "; and talosctl logs kubelet"
		finding.Because = append(finding.Because, unpulled(f)...) // such as that of a CNI
	case f.resource(kubelet.Type, "", kubelet.ID) == nil:
		finding.Evidence = append(finding.Evidence, kubelet.String()+" does not exist: the kubelet has no certificate of its own yet")
	}

	if s := f.service("kubelet"); s != nil && len(s.Log) > 0 {
		finding.Evidence = append(finding.Evidence, "log of kubelet: "+s.Log[len(s.Log)-1])
	}

	return finding
}

// controlPlane reports whether the machine is a control plane node.
func (f *Facts) controlPlane() bool {
	r := f.resource(typeOf[config.MachineTypeSpec](), "", config.MachineTypeID)

	return r != nil && strings.Contains(r.Spec, config.TypeControlPlane.String())
}

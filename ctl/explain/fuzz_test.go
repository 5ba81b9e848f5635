// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"io"
	"testing"

	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// FuzzExplain: Explain and Print do not fail, with any specs, messages and logs.
func FuzzExplain(f *testing.F) {
	f.Add("stage: booting\nstatus: {ready: false, unmetConditions: [{name: services, reason: 'etcd not healthy, , x'}]}", "dst: x", "pull image : ", `{"msg":"prober detected unhealthy","remote-peer-id":"1","error":"e"}`)
	f.Add("[]", "endpoints: [{host: a.b, port: 1}]", "Waiting for service \"etcd\" to be up", "dial a.b: EOF a.b.")
	f.Add("[]", "endpoints: [{port: 1}]", "an API server does not answer", "EOF")
	f.Add("stage: 7", "phase: 1\nconditions: {}", "\x00", "\xff")

	f.Fuzz(func(t *testing.T, status, spec, message, log string) {
		facts := &Facts{
			Resources: []Resource{
				{Namespace: "runtime", Type: typeOf[runtime.MachineStatusSpec](), ID: runtime.MachineStatusID, Spec: status},
				{Namespace: "network", Type: typeOf[network.StatusSpec](), ID: network.StatusID, Spec: spec},
				{Namespace: "network", Type: typeOf[network.RouteStatusSpec](), ID: "r", Spec: spec},
				{Namespace: "k8s", Type: typeOf[k8s.KubePrismEndpointsSpec](), ID: k8s.KubePrismEndpointsID, Spec: spec},
				{Namespace: "k8s", Type: typeOf[k8s.StaticPodStatusSpec](), ID: "kube-system/kube-apiserver-x", Spec: spec},
				{Namespace: "meta", Type: typeOf[meta.ControllerStatusSpec](), ID: "c", Spec: "error: " + message},
			},
			Services: []Service{
				{ID: "etcd", State: "Running", HasHealth: true, Health: message, Messages: []string{message}, Log: []string{log}},
				{ID: "kubelet", State: "Waiting", Messages: []string{message}, Log: []string{log}},
				{ID: "cri", State: "Running", Log: []string{log, `time=x msg="PullImage \"` + message + `\" failed" error="` + log + `"`}},
			},
			Edges: []Edge{{Controller: "c", Type: typeOf[network.StatusSpec](), Output: true}},
		}

		for _, s := range []Symptom{{Kind: Machine}, {Kind: Condition, ID: "services"}, {Kind: PodOf, ID: "kube-apiserver"}, {Kind: Endpoint}, {Kind: Quorum}} {
			if err := Print(io.Discard, "n", facts, s, Explain(facts, s)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package pods_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/build/flags"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/controllers/k8s/pods"
)

// plainPod is a pod that every kubelet accepts.
const plainPod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "annotations": {}},
"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/v"}}],
"containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]}}`

// podCases are changes of plainPod: paths of fields and their values, null to remove a field.
var podCases = []string{
	`{}`,
	// Names.
	`{"metadata.name": "a.b-c"}`, `{"metadata.name": "A"}`, `{"metadata.name": "a_b"}`, `{"metadata.name": "-a"}`, `{"metadata.name": ""}`,
	`{"metadata.namespace": "kube-system"}`, `{"metadata.namespace": "a.b"}`, `{"metadata.namespace": "A"}`, `{"kind": "Deployment"}`, `{"apiVersion": "v2"}`,
	`{"metadata.labels": {"app": "x", "a.b/c": "1"}}`, `{"metadata.labels": {"a b": "x"}}`, `{"metadata.labels": {"a": "x y"}}`, `{"metadata.labels": {"/a": "x"}}`,
	`{"metadata.labels": {"a": 1}}`, `{"metadata.annotations.A/b": "x y"}`, `{"metadata.annotations.a b": "x"}`, `{"metadata.finalizers": ["x"]}`, `{"metadata.finalizers": ["a.b/x"]}`,
	`{"metadata.generateName": "A_"}`, `{"metadata.ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n"}]}`,
	// Volumes.
	`{"spec.volumes.0.name": "V"}`, `{"spec.volumes.0": {"name": "v", "emptyDir": {}}}`, `{"spec.volumes.0": {"name": "v"}}`,
	`{"spec.volumes.0": {"name": "v", "emptyDir": {"sizeLimit": "-1"}}}`, `{"spec.volumes.0": {"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}}`,
	`{"spec.volumes.0.hostPath.path": ""}`, `{"spec.volumes.0.hostPath.path": "/a/../b"}`, `{"spec.volumes.0.hostPath.path": "relative"}`,
	`{"spec.volumes.0.hostPath.type": "Directory"}`, `{"spec.volumes.0.hostPath.type": "Folder"}`, `{"spec.volumes.0.hostPath.type": ""}`,
	`{"spec.volumes.0.emptyDir": {}}`, `{"spec.volumes.0": {"name": "v", "secret": {"secretName": "x"}}}`, `{"spec.volumes.0": {"name": "v", "configMap": {"name": "x"}}}`,
	`{"spec.volumes.0": {"name": "v", "persistentVolumeClaim": {"claimName": "x"}}}`, `{"spec.volumes.0": {"name": "v", "projected": {"sources": [{"secret": {"name": "x"}}]}}}`,
	`{"spec.volumes.0": {"name": "v", "projected": {"sources": [{"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]}}]}}}`,
	`{"spec.volumes.0": {"name": "v", "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.labels"}}]}}}`,
	`{"spec.volumes.0": {"name": "v", "downwardAPI": {"items": [{"path": "../a", "fieldRef": {"fieldPath": "metadata.labels"}}]}}}`,
	`{"spec.volumes.0": {"name": "v", "nfs": {"server": "s", "path": "/p"}}}`, `{"spec.volumes.0": {"name": "v", "nfs": {"server": "", "path": "/p"}}}`, `{"spec.volumes.0": {"name": "v", "nfs": {"server": "s", "path": "p"}}}`,
	`{"spec.volumes.0": {"name": "v", "iscsi": {"targetPortal": "x", "iqn": "bad", "lun": 0}}}`, `{"spec.volumes.0": {"name": "v", "csi": {"driver": "x.y"}}}`,
	`{"spec.volumes.0": {"name": "v", "image": {"reference": "x"}}}`, `{"spec.volumes.0": {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}}`,
	// Containers.
	`{"spec.containers": []}`, `{"spec.containers": null}`, `{"spec.containers.0.name": ""}`, `{"spec.containers.0.name": "C"}`, `{"spec.containers.0.image": ""}`, `{"spec.containers.0.image": " i"}`,
	`{"spec.containers.1": {"name": "c", "image": "i"}}`, `{"spec.containers.1": {"name": "d", "image": "i"}}`, `{"spec.initContainers": [{"name": "c", "image": "i"}]}`,
	`{"spec.initContainers": [{"name": "d", "image": "i"}]}`, `{"spec.initContainers": [{"name": "d", "image": "i", "restartPolicy": "Always"}]}`, `{"spec.initContainers": [{"name": "d", "image": "i", "restartPolicy": "Sometimes"}]}`,
	`{"spec.initContainers": [{"name": "d", "image": "i", "livenessProbe": {"exec": {"command": ["x"]}}}]}`, `{"spec.containers.0.restartPolicy": "Always"}`, `{"spec.containers.0.restartPolicy": "Sometimes"}`,
	`{"spec.containers.0.imagePullPolicy": "Never"}`, `{"spec.containers.0.imagePullPolicy": "Sometimes"}`, `{"spec.containers.0.terminationMessagePolicy": "File"}`, `{"spec.containers.0.terminationMessagePolicy": "X"}`,
	`{"spec.containers.0.volumeMounts.0.name": "w"}`, `{"spec.containers.0.volumeMounts.0.mountPath": ""}`, `{"spec.containers.0.volumeMounts.1": {"name": "v", "mountPath": "/v"}}`, `{"spec.containers.0.volumeMounts.1": {"name": "v", "mountPath": "/w"}}`,
	`{"spec.containers.0.volumeMounts.0.subPath": "../x"}`, `{"spec.containers.0.volumeMounts.0.subPath": "/x"}`, `{"spec.containers.0.volumeMounts.0.subPath": "x/y"}`,
	`{"spec.containers.0.volumeMounts.0.mountPropagation": "HostToContainer"}`, `{"spec.containers.0.volumeMounts.0.mountPropagation": "Bidirectional"}`, `{"spec.containers.0.volumeMounts.0.mountPropagation": "X"}`,
	`{"spec.containers.0.volumeMounts.0.mountPropagation": "Bidirectional", "spec.containers.0.securityContext": {"privileged": true}}`, `{"spec.containers.0.volumeMounts.0.recursiveReadOnly": "X"}`,
	`{"spec.containers.0.env": [{"name": "A", "value": "b"}]}`, `{"spec.containers.0.env": [{"name": "A.b-c", "value": "b"}]}`, `{"spec.containers.0.env": [{"name": "", "value": "b"}]}`, `{"spec.containers.0.env": [{"name": "A=B", "value": "b"}]}`,
	`{"spec.containers.0.env": [{"name": "1", "value": "b"}]}`, `{"spec.containers.0.env": [{"name": "A", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}`,
	`{"spec.containers.0.env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]}`, `{"spec.containers.0.env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.x"}}}]}`,
	`{"spec.containers.0.env": [{"name": "A", "valueFrom": {}}]}`, `{"spec.containers.0.env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "x", "key": "y"}}}]}`, `{"spec.containers.0.env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "x", "key": "y"}}}]}`,
	`{"spec.containers.0.env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]}`, `{"spec.containers.0.env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.x"}}}]}`,
	`{"spec.containers.0.envFrom": [{"secretRef": {"name": "x"}}]}`, `{"spec.containers.0.envFrom": [{"configMapRef": {"name": "x"}}]}`,
	`{"spec.containers.0.ports": [{"containerPort": 80}]}`, `{"spec.containers.0.ports": [{"containerPort": 0}]}`, `{"spec.containers.0.ports": [{"containerPort": 70000}]}`, `{"spec.containers.0.ports": [{"containerPort": 80, "name": "http"}]}`,
	`{"spec.containers.0.ports": [{"containerPort": 80, "name": "a-name-of-seventeen"}]}`, `{"spec.containers.0.ports": [{"containerPort": 80, "name": "80"}]}`, `{"spec.containers.0.ports": [{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}]}`,
	`{"spec.containers.0.ports": [{"containerPort": 80, "protocol": "SCTP"}]}`, `{"spec.containers.0.ports": [{"containerPort": 80, "protocol": "tcp"}]}`, `{"spec.containers.0.ports": [{"containerPort": 80, "hostPort": 70000}]}`, `{"spec.containers.0.ports": [{"containerPort": 80, "hostPort": 8080}]}`,
	`{"spec.containers.0.ports": [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 81, "hostPort": 8080}]}`, `{"spec.hostNetwork": true, "spec.containers.0.ports": [{"containerPort": 80, "hostPort": 81}]}`, `{"spec.hostNetwork": true, "spec.containers.0.ports": [{"containerPort": 80}]}`,
	`{"spec.containers.0.ports": [{"containerPort": 80, "hostPort": 80, "hostIP": "x"}]}`,
	// Resources.
	`{"spec.containers.0.resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}`, `{"spec.containers.0.resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}`, `{"spec.containers.0.resources": {"requests": {"cpu": "-1"}}}`,
	`{"spec.containers.0.resources": {"requests": {"disk": "1"}}}`, `{"spec.containers.0.resources": {"limits": {"example.org/gpu": "1"}}}`, `{"spec.containers.0.resources": {"requests": {"example.org/gpu": "1"}}}`, `{"spec.containers.0.resources": {"limits": {"example.org/gpu": "1.5"}}}`,
	`{"spec.containers.0.resources": {"requests": {"example.org/gpu": "1"}, "limits": {"example.org/gpu": "2"}}}`, `{"spec.containers.0.resources": {"limits": {"hugepages-2Mi": "2Mi"}}}`, `{"spec.containers.0.resources": {"limits": {"hugepages-2Mi": "2Mi", "cpu": "1"}}}`, `{"spec.containers.0.resources": {"limits": {"pods": "1"}}}`,
	`{"spec.containers.0.resources": {"claims": [{"name": "x"}]}}`, `{"spec.overhead": {"cpu": "1"}}`,
	// Probes and hooks.
	`{"spec.containers.0.livenessProbe": {"httpGet": {"path": "/", "port": 80}}}`, `{"spec.containers.0.livenessProbe": {"httpGet": {"path": "/", "port": 0}}}`, `{"spec.containers.0.livenessProbe": {"httpGet": {"path": "", "port": 80}}}`, `{"spec.containers.0.livenessProbe": {"httpGet": {"path": "/", "port": "x y"}}}`,
	`{"spec.containers.0.livenessProbe": {"httpGet": {"path": "/", "port": 80, "scheme": "ftp"}}}`, `{"spec.containers.0.livenessProbe": {}}`, `{"spec.containers.0.livenessProbe": {"exec": {"command": []}}}`, `{"spec.containers.0.livenessProbe": {"exec": {"command": ["x"]}, "periodSeconds": -1}}`,
	`{"spec.containers.0.livenessProbe": {"exec": {"command": ["x"]}, "tcpSocket": {"port": 80}}}`, `{"spec.containers.0.livenessProbe": {"exec": {"command": ["x"]}, "successThreshold": 2}}`, `{"spec.containers.0.readinessProbe": {"exec": {"command": ["x"]}, "successThreshold": 2}}`, `{"spec.containers.0.startupProbe": {"tcpSocket": {"port": 70000}}}`,
	`{"spec.containers.0.readinessProbe": {"exec": {"command": ["x"]}, "terminationGracePeriodSeconds": 5}}`, `{"spec.containers.0.livenessProbe": {"grpc": {"port": 0}}}`, `{"spec.containers.0.lifecycle": {"preStop": {"exec": {"command": ["x"]}}}}`, `{"spec.containers.0.lifecycle": {"preStop": {}}}`, `{"spec.containers.0.lifecycle": {"postStart": {"sleep": {"seconds": -1}}}}`,
	// Security.
	`{"spec.securityContext": {"runAsUser": 1000}}`, `{"spec.securityContext": {"runAsUser": -1}}`, `{"spec.securityContext": {"fsGroup": -1}}`, `{"spec.securityContext": {"runAsNonRoot": true, "supplementalGroups": [1]}}`, `{"spec.securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}`,
	`{"spec.securityContext": {"seccompProfile": {"type": "X"}}}`, `{"spec.securityContext": {"seccompProfile": {"type": "Localhost"}}}`, `{"spec.securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "../x"}}}`, `{"spec.securityContext": {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}}`,
	`{"spec.securityContext": {"sysctls": [{"name": "a b", "value": "1"}]}}`, `{"spec.securityContext": {"appArmorProfile": {"type": "X"}}}`, `{"spec.containers.0.securityContext": {"privileged": true}}`, `{"spec.containers.0.securityContext": {"privileged": true, "allowPrivilegeEscalation": false}}`,
	`{"spec.containers.0.securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}, "allowPrivilegeEscalation": false}}`, `{"spec.containers.0.securityContext": {"capabilities": {"add": ["CAP_SYS_ADMIN"]}, "allowPrivilegeEscalation": false}}`, `{"spec.containers.0.securityContext": {"runAsUser": -1}}`, `{"spec.containers.0.securityContext": {"procMount": "X"}}`,
	`{"spec.containers.0.securityContext": {"seccompProfile": {"type": "X"}}}`,
	// The pod.
	`{"spec.restartPolicy": "Never"}`, `{"spec.restartPolicy": "Sometimes"}`, `{"spec.dnsPolicy": "Default"}`, `{"spec.dnsPolicy": "X"}`, `{"spec.dnsPolicy": "None"}`, `{"spec.dnsPolicy": "None", "spec.dnsConfig": {"nameservers": ["1.1.1.1"]}}`, `{"spec.dnsConfig": {"nameservers": ["x"]}}`,
	`{"spec.dnsConfig": {"searches": ["a_b c"]}}`, `{"spec.hostname": "a"}`, `{"spec.hostname": "A_"}`, `{"spec.subdomain": "a.b"}`, `{"spec.terminationGracePeriodSeconds": 30}`, `{"spec.terminationGracePeriodSeconds": -1}`, `{"spec.activeDeadlineSeconds": 0}`, `{"spec.activeDeadlineSeconds": 10}`,
	`{"spec.nodeSelector": {"a": "b"}}`, `{"spec.nodeSelector": {"a b": "c"}}`, `{"spec.tolerations": [{"operator": "Exists"}]}`, `{"spec.tolerations": [{"operator": "Exists", "value": "x"}]}`, `{"spec.tolerations": [{"key": "a", "operator": "X"}]}`, `{"spec.tolerations": [{"key": "a b", "operator": "Exists"}]}`, `{"spec.tolerations": [{"key": "a", "effect": "X"}]}`,
	`{"spec.hostAliases": [{"ip": "127.0.0.1", "hostnames": ["a"]}]}`, `{"spec.hostAliases": [{"ip": "x", "hostnames": ["a"]}]}`, `{"spec.hostAliases": [{"ip": "127.0.0.1", "hostnames": ["a b"]}]}`, `{"spec.priorityClassName": "system-node-critical"}`, `{"spec.priority": 2000001000}`, `{"spec.preemptionPolicy": "X"}`,
	`{"spec.serviceAccountName": "x"}`, `{"spec.imagePullSecrets": [{"name": "x"}]}`, `{"spec.ephemeralContainers": [{"name": "e", "image": "i"}]}`, `{"spec.resourceClaims": [{"name": "x", "resourceClaimName": "y"}]}`, `{"spec.hostPID": true, "spec.shareProcessNamespace": true}`, `{"spec.hostPID": true, "spec.hostIPC": true}`,
	`{"spec.schedulerName": "x"}`, `{"spec.runtimeClassName": "A_"}`, `{"spec.runtimeClassName": "runc"}`, `{"spec.readinessGates": [{"conditionType": "a b"}]}`, `{"spec.topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}]}`, `{"spec.schedulingGates": [{"name": "x"}]}`, `{"spec.os": {"name": "linux"}}`, `{"spec.os": {"name": "plan9"}}`, `{"spec.os": {"name": "windows"}}`,
	`{"spec.affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}}`, `{"spec.hostUsers": false}`, `{"spec.hostUsers": false, "spec.hostNetwork": true}`, `{"spec.nodeName": "other"}`, `{"spec.automountServiceAccountToken": false}`, `{"spec.enableServiceLinks": false}`, `{"spec.setHostnameAsFQDN": true}`,
	`{"status": {"phase": "Running"}}`, `{"spec.unknown": 1}`, `{"metadata.creationTimestamp": null}`, `{"spec.containers.0.workingDir": "relative"}`, `{"spec.containers.0.stdin": true, "spec.containers.0.tty": true}`, `{"spec.containers.0.volumeDevices": [{"name": "v", "devicePath": "/d"}]}`,
	// More fields that depend on each other.
	`{"spec.securityContext": {"appArmorProfile": {"type": "Localhost", "localhostProfile": "/usr/bin/x"}}}`, `{"spec.securityContext": {"appArmorProfile": {"type": "Localhost"}}}`, `{"spec.securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "a/b.json"}}}`,
	`{"spec.initContainers": [{"name": "d", "image": "i", "restartPolicy": "Never"}]}`, `{"spec.containers.0.restartPolicy": "OnFailure"}`, `{"spec.initContainers": [{"name": "d", "image": "i", "restartPolicy": "Always", "startupProbe": {"exec": {"command": ["x"]}}}]}`,
	`{"spec.containers.0.env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}}]}`, `{"spec.containers.0.env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}]}`, `{"spec.containers.0.env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.hugepages-2Mi"}}}]}`,
	`{"spec.tolerations": [{"value": "x"}]}`, `{"spec.tolerations": [{"key": "a", "value": "x", "effect": "NoExecute", "tolerationSeconds": 1}]}`, `{"spec.tolerations": [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1}]}`, `{"spec.tolerations": [{"key": "a", "value": "x y"}]}`,
	`{"spec.dnsConfig": {"nameservers": ["fd00::1", "1.1.1.1"], "options": [{"name": "ndots", "value": "2"}]}}`, `{"spec.dnsConfig": {"nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"]}}`, `{"spec.dnsConfig": {"options": [{"value": "2"}]}}`, `{"spec.dnsConfig": {"searches": ["a.b."]}}`,
	`{"spec.hostNetwork": true, "spec.containers.0.ports": [{"containerPort": 80}], "spec.containers.1": {"name": "d", "image": "i", "ports": [{"containerPort": 80}]}}`, `{"spec.containers.0.ports": [{"containerPort": 80, "hostPort": 80}, {"containerPort": 80, "hostPort": 80, "protocol": "UDP"}]}`,
	`{"spec.containers.0.ports": [{"containerPort": 80, "hostPort": 80}, {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]}`,
	`{"spec.hostNetwork": true, "spec.hostPID": true, "spec.containers.0.securityContext": {"privileged": true, "runAsUser": 0}}`, `{"spec.hostUsers": false, "spec.hostPID": true}`, `{"spec.hostUsers": true, "spec.hostNetwork": true}`,
	`{"spec.containers.0.resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}`, `{"spec.containers.0.resources": {"requests": {"cpu": 0.5}}}`, `{"spec.containers.0.resources": {"limits": {"kubernetes.io/x": "1"}}}`, `{"spec.containers.0.resources": {"limits": {"example.org/gpu": "2"}, "requests": {"example.org/gpu": "2"}}}`, `{"spec.containers.0.resources": {"limits": {"hugepages-3Mi": "3Mi", "cpu": "1"}}}`,
	`{"spec.volumes.1": {"name": "v", "emptyDir": {}}}`, `{"spec.volumes.1": {"name": "w", "hostPath": {"path": "/w", "type": "DirectoryOrCreate"}}}`, `{"spec.volumes.0": {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}}`, `{"spec.volumes.0": {"name": "v", "projected": {"sources": []}}}`,
	`{"spec.volumes.0": {"name": "v", "emptyDir": {"medium": "X"}}}`, `{"spec.containers.0.volumeMounts.0": {"name": "v", "mountPath": "/v", "readOnly": true, "recursiveReadOnly": "Enabled"}}`, `{"spec.containers.0.volumeMounts.0.recursiveReadOnly": "Enabled"}`, `{"spec.containers.0.volumeMounts.0": {"name": "v", "mountPath": "/v", "subPath": "a", "subPathExpr": "b"}}`,
	`{"spec.containers.0.livenessProbe": {"tcpSocket": {"port": "http"}, "terminationGracePeriodSeconds": 5}}`, `{"spec.containers.0.livenessProbe": {"tcpSocket": {"port": 80}, "terminationGracePeriodSeconds": 0}}`, `{"spec.containers.0.lifecycle": {"preStop": {"httpGet": {"port": 80, "path": "/"}}}}`, `{"spec.containers.0.lifecycle": {"postStart": {"sleep": {"seconds": 1}}}}`,
	`{"spec.containers.0.lifecycle": {"preStop": {"grpc": {"port": 80}}}}`, `{"spec.containers.0.livenessProbe": {"sleep": {"seconds": 1}}}`, `{"spec.containers.0.livenessProbe": {"httpGet": {"port": 80, "httpHeaders": [{"name": "a b", "value": "x"}]}}}`,
	`{"spec.affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]}}}}`, `{"spec.topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}]}`,
	`{"metadata.ownerReferences": []}`, `{"metadata.finalizers": []}`, `{"metadata.labels": null}`, `{"spec.priorityClassName": "A_"}`, `{"spec.dnsConfig": {"searches": ["_a.b_c", "a"]}}`, `{"spec.dnsConfig": {"searches": ["a_"]}}`, `{"spec.dnsConfig": {"searches": ["."]}}`, `{"spec.dnsConfig": {"searches": [""]}}`, `{"spec.containers.0.ports": [{"containerPort": 80, "name": "a--b"}]}`, `{"spec.containers.0.ports": [{"containerPort": 80, "name": "-b"}]}`, `{"spec.containers.0.ports": [{"containerPort": 80, "name": "8-b"}]}`, `{"spec.containers.0.ports": [{"containerPort": 80, "name": "A"}]}`, `{"spec.containers.0.volumeMounts.0.recursiveReadOnly": "IfPossible"}`, `{"spec.containers.0.volumeMounts.0.recursiveReadOnly": "Disabled"}`, `{"spec.tolerations": [{"key": "a", "value": "x", "tolerationSeconds": 1}]}`, `{"spec.priorityClassName": ""}`, `{"spec.hostname": ""}`, `{"spec.subdomain": ""}`, `{"spec.runtimeClassName": ""}`, `{"metadata.generateName": ""}`, `{"spec.restartPolicy": "", "spec.dnsPolicy": ""}`, `{"spec.containers.0.imagePullPolicy": "", "spec.containers.0.terminationMessagePolicy": ""}`, `{"spec.containers.0.ports": [{"containerPort": 80, "name": "", "hostPort": 0, "protocol": ""}]}`, `{"spec.containers.0.volumeMounts.0": {"name": "v", "mountPath": "/v", "subPath": "", "mountPropagation": ""}}`, `{"spec.schedulerName": "A_"}`, `{"spec.containers.0.env": []}`, `{"spec.containers.0.command": ["a"], "spec.containers.0.args": ["b"]}`, `{"spec.containers.0.image": "registry.example.org/a/b:c@sha256:0000000000000000000000000000000000000000000000000000000000000000"}`,
}

// TestKubeletTakes checks that Check accepts the same static pods as the kubelet's own code. Otherwise a configuration could have a pod that
// never runs.
func TestKubeletTakes(t *testing.T) {
	if _, err := os.Stat("../../../out/components/bin/kubelet"); err != nil {
		hosttest.NotBuilt(t, fmt.Errorf("the programs are not built (%w): run make build", err))
	}

	if testing.Short() {
		t.Skip("links a program of the size of a control plane")
	}

	dir, ours := t.TempDir(), map[string]string{}

	for i, change := range podCases {
		var fields map[string]any

		pod := decodePod(t, plainPod)

		if err := json.Unmarshal([]byte(change), &fields); err != nil {
			t.Fatalf("%s: %v", change, err)
		}

		for path, value := range fields {
			pod = put(pod, strings.Split(path, "."), value).(map[string]any)
		}

		pod["metadata"].(map[string]any)["annotations"].(map[string]any)["case"] = change

		text, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}

		// As in a machine configuration.
		var own map[string]any
		if err := yaml.Unmarshal(text, &own); err != nil {
			t.Fatal(err)
		}

		ours[change] = fmt.Sprint(pods.Check(own))

		// The kubelet merges pods of the same name.
		if metadata := pod["metadata"].(map[string]any); metadata["name"] == "a" {
			metadata["name"] = fmt.Sprintf("a%d", i)
		}

		if text, err = json.Marshal(pod); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.json", i)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	taken, err := flags.TakenPods(t.Context(), "../../..", t.TempDir(), dir)
	if err != nil {
		t.Fatal(err)
	}

	for _, change := range podCases {
		switch kubelet := slices.Contains(taken, change); {
		case kubelet && ours[change] != "[]":
			t.Errorf("%s: the kubelet accepts it, Check does not: %s", change, ours[change])
		case !kubelet && ours[change] == "[]":
			t.Errorf("%s: the kubelet does not accept it, Check does", change)
		}
	}

	t.Logf("%d pods, of which the kubelet accepts %d", len(podCases), len(taken))
}

func decodePod(t *testing.T, text string) (out map[string]any) {
	t.Helper()

	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}

	return out
}

// put sets a field; nil removes it.
func put(in any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}

	if list, ok := in.([]any); ok {
		var i int

		_, _ = fmt.Sscan(path[0], &i)

		if i == len(list) {
			return append(list, put(map[string]any{}, path[1:], value))
		}

		list[i] = put(list[i], path[1:], value)

		return list
	}

	object, _ := in.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}

	key := path[0]
	if path[0] == "annotations" { // names of annotations have dots
		path = []string{key, strings.Join(path[1:], ".")}
	}

	if object[key] = put(object[key], path[1:], value); object[key] == nil {
		delete(object, key)
	}

	return object
}

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/test/cluster"
)

// otherSubnet is the start of the addresses that the other CNI gives pods. It is outside of the subnets of pods and services.
const otherSubnet = "10.200.0."

// otherConfiguration is for a plugin that is not in the image of the system: flannel's under another name. It reads its subnet from a file.
const (
	otherConfiguration = `{"cniVersion": "0.4.0", "name": "e2e", "plugins": [{"type": "e2e", "subnetFile": "/etc/cni/net.d/e2e.env", ` +
		`"dataDir": "/var/lib/cni/e2e", "delegate": {"bridge": "e2e0", "isDefaultGateway": true, "ipMasq": false}}]}`
	otherSubnets = "FLANNEL_NETWORK=" + otherSubnet + "0/24\\nFLANNEL_SUBNET=" + otherSubnet + "1/24\\nFLANNEL_MTU=1400\\nFLANNEL_IPMASQ=false"
)

// otherManifest returns a DaemonSet that installs the CNI on a node: the plugin, unless it is there, and the configuration.
func otherManifest(node string) string {
	return `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: e2e-cni, namespace: kube-system}
spec:
  selector: {matchLabels: {app: e2e-cni}}
  template:
    metadata: {labels: {app: e2e-cni}}
    spec:
      hostNetwork: true
      nodeSelector: {kubernetes.io/hostname: ` + node + `}
      tolerations: [{operator: Exists}]
      terminationGracePeriodSeconds: 1
      containers:
        - name: install
          image: ` + images.DefaultAgnhost + `
          securityContext: {privileged: true}
          env: [{name: CONFIGURATION, value: '` + otherConfiguration + `'}, {name: SUBNETS, value: "` + otherSubnets + `"}]
          command:
            - sh
            - -ec
            - |
              if [ -x /host/bin/e2e ]; then
                echo kept
              else
                cp /host/bin/flannel /host/bin/e2e.new
                mv /host/bin/e2e.new /host/bin/e2e
                echo installed
              fi
              echo "$SUBNETS" > /host/net.d/e2e.env
              echo "$CONFIGURATION" > /host/net.d/e2e.new
              mv /host/net.d/e2e.new /host/net.d/05-e2e.conflist
              exec /agnhost pause
          volumeMounts: [{name: bin, mountPath: /host/bin}, {name: configuration, mountPath: /host/net.d}]
      volumes:
        - {name: bin, hostPath: {path: /opt/cni/bin, type: DirectoryOrCreate}}
        - {name: configuration, hostPath: {path: /etc/cni/net.d, type: DirectoryOrCreate}}
`
}

// servingPod returns a pod on a node that is Ready when the kubelet reaches its address.
func servingPod(node, name string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %[2]s, namespace: default}
spec:
  nodeName: %[1]s
  terminationGracePeriodSeconds: 1
  containers:
    - name: %[2]s
      image: %[3]s
      args: [netexec, --http-port=8080]
      readinessProbe: {periodSeconds: 1, httpGet: {path: /, port: 8080}}
`, node, name, images.DefaultAgnhost)
}

// otherCNI removes flannel, and has a DaemonSet install another CNI on the worker. After a reboot the machine still has the plugin, and pods
// their network.
func otherCNI(t *testing.T, l *cluster.UserLab, u *user) {
	worker := l.Open().Node(1)
	node := nodeAt(t, l, worker.Addr.String())

	u.patch(t, removed("KubeFlannelCNIConfig", ""))
	until(t, time.Minute, "flannel is gone", func() error {
		got, err := kubectl(t.Context(), l, "", "get", "daemonsets", "-n", "kube-system", "-o", "name")
		if err == nil && strings.Contains(got, "flannel") {
			err = fmt.Errorf("there are %q", got)
		}

		return err
	})

	says := func(want string) {
		t.Helper()
		until(t, 3*time.Minute, "the pod of the CNI says "+want, func() error {
			got, err := kubectl(t.Context(), l, "", "logs", "-n", "kube-system", "daemonset/e2e-cni")
			if err == nil && !strings.HasPrefix(got, want+"\n") {
				err = fmt.Errorf("it says %q", got)
			}

			return err
		})
	}

	serves := func(pod string) {
		t.Helper()
		apply(t, l, servingPod(node, pod))
		until(t, 2*time.Minute, "a pod has a network of the other CNI", func() error {
			got, err := kubectl(t.Context(), l, "", "get", "pod", "-n", "default", pod, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.podIP}`)
			if err == nil && !strings.HasPrefix(got, "True "+otherSubnet) {
				err = fmt.Errorf("got %q, want one that is Ready with an address %s*", got, otherSubnet)
			}

			return err
		})
	}

	apply(t, l, otherManifest(node))
	says("installed")
	serves("before")

	if _, _, err := l.Talosctl(time.Minute, "cluster", "reboot", worker.Name); err != nil {
		t.Fatal(err)
	}

	says("kept")
	serves("after")
}

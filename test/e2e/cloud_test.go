// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/test/cluster"
)

// cloudManifest returns the manifest of the manager of a cloud that has nothing but machines, on a node that has toolsImage.
func cloudManifest(node string) string {
	return `apiVersion: v1
kind: ServiceAccount
metadata: {name: ` + cloudManager + `, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ` + cloudManager + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: ` + cloudManager + `, namespace: kube-system}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ` + cloudManager + `, namespace: kube-system}
spec:
  selector: {matchLabels: {app: ` + cloudManager + `}}
  template:
    metadata: {labels: {app: ` + cloudManager + `}}
    spec:
      serviceAccountName: ` + cloudManager + `
      hostNetwork: true
      nodeSelector: {kubernetes.io/hostname: ` + node + `}
      tolerations: [{operator: Exists}]
      terminationGracePeriodSeconds: 1
      containers:
        - name: manager
          image: ` + toolsImage + `
          command: [/` + cloudManager + `, --leader-elect=false, --configure-cloud-routes=false, --controllers=cloud-node, --bind-address=127.0.0.1]
`
}

// cloudProvider makes the worker a machine of a cloud: its kubelet registers a Node that is not used until the manager of the cloud has
// initialized it.
func cloudProvider(t *testing.T, l *cluster.UserLab, u *user) {
	const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

	worker := l.Open().Node(1).Addr.String()
	node, manager := nodeAt(t, l, worker), nodeAt(t, l, u.node())

	u.talosctl(t, "patch machineconfig --nodes "+worker+" --patch", "cluster: {externalCloudProvider: {enabled: true}}")
	u.comesToShow(t, `(?m)^`+regexp.QuoteMeta(worker)+` .* \S*/kubelet .*--cloud-provider=external\b`, "processes --nodes "+worker)

	// A kubelet registers its Node when it starts, and an old one stays as it is.
	if _, err := kubectl(t.Context(), l, "", "delete", "node", node); err != nil {
		t.Fatal(err)
	}

	u.talosctl(t, "service kubelet restart --nodes "+worker)

	becomes := func(what, want string) {
		t.Helper()
		until(t, 2*time.Minute, "the Node of the worker is "+what, func() error {
			got, err := kubectl(t.Context(), l, "", "get", "node", node, "-o", `jsonpath={.spec.providerID}|`+
				`{.metadata.labels.topology\.kubernetes\.io/zone}|{.metadata.labels.node\.kubernetes\.io/instance-type}|`+
				`{.spec.taints[?(@.key=="`+uninitialized+`")].key}|`+
				`{.status.addresses[?(@.type=="InternalIP")].address}|{.status.conditions[?(@.type=="Ready")].status}`)
			if err == nil && !strings.HasPrefix(got, want) {
				err = fmt.Errorf("got %q, want %q", got, want)
			}

			return err
		})
	}

	becomes("registered, and waits for its cloud", "|||"+uninitialized+"|")
	apply(t, l, cloudManifest(manager))
	becomes("initialized by its cloud", "lab://"+node+"|lab-a|machine||"+worker+"|True")
}

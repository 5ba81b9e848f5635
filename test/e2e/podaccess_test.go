// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/test/cluster"
)

// podAccess lets a pod call the API of its machine: with talosctl, which finds the credentials that talosctl inject has requested for it. The machine
// has the image since privateImage.
func podAccess(t *testing.T, l *cluster.UserLab, u *user) {
	u.patch(t, document("KubeTalosAPIAccessConfig", "allowedRoles: ['os:reader']\nallowedKubernetesNamespaces: [default]"))

	node := nodeAt(t, l, u.node())
	inject := func(pod, roles string, command ...string) {
		t.Helper()
		u.write(t, pod+".yaml", []byte(podOn(node, pod, toolsImage, command...)))
		apply(t, l, u.talosctl(t, "inject serviceaccount --file "+pod+".yaml --roles "+roles))
	}

	inject("reader", "os:reader", "/talosctl", "version", "--nodes", u.node())
	inject("admin", "os:admin", "/talosctl", "version", "--nodes", u.node())

	if out := finished(t, l, "reader"); !u.pattern(`(?s)^Client:\n.*\nServer:\n\s+NODE:\s+@\n\s+Tag:`).MatchString(out) {
		t.Errorf("talosctl version in a pod: got\n%s\nwant the version of the machine", out)
	}

	eventually(t, "the role os:admin is refused", func() (string, bool) {
		got, err := kubectl(t.Context(), l, "", "get", "serviceaccounts.talos.dev", "-n", "default", "admin-talos-secrets", "-o", "jsonpath={.status.failureReason}")

		return got, err == nil && strings.HasPrefix(got, `role "os:admin" is not allowed`)
	})

	if got, err := kubectl(t.Context(), l, "", "get", "secrets", "-n", "default", "-o", "name"); err != nil || strings.Contains(got, "admin-talos-secrets") {
		t.Errorf("secrets: got %q, %v, want none with credentials for the role os:admin", got, err)
	}

	remove(t, l, "reader")
	remove(t, l, "admin")
	u.patch(t, removed("KubeTalosAPIAccessConfig", ""))
}

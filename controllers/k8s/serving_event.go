// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/manifests"
	"github.com/seed-59268b81/talos/controllers/k8s/servingcert"
	"github.com/seed-59268b81/talos/kube"
)

// createEvent creates an event for a request that is not approved. The event's name is derived from the reason, so that control plane nodes with
// the same reason create one event.
func createEvent(ctx context.Context, client *kube.Client, request servingcert.Request, reason string, now time.Time) error {
	const namespace = "default" // of events for objects without a namespace

	sum := sha256.Sum256([]byte(reason))
	stamp := now.UTC().Format(time.RFC3339)

	_, err := client.Create(ctx, "/api/v1/namespaces/"+namespace+"/events", kube.Object{
		"apiVersion": "v1", "kind": "Event",
		"metadata": kube.Object{"name": request.Name + "." + hex.EncodeToString(sum[:8]), "namespace": namespace},
		"involvedObject": kube.Object{
			"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "name": request.Name, "uid": request.UID,
		},
		"type": "Warning", "reason": "NotApproved", "message": "this request for a serving certificate is not approved by the system: " + reason,
		"source": kube.Object{"component": manifests.ServingApprover}, "firstTimestamp": stamp, "lastTimestamp": stamp, "count": 1,
	})
	if kube.IsConflict(err) {
		return nil
	}

	return err
}

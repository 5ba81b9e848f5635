// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/controllers/k8s/kubeapi"
	"github.com/seed-59268b81/talos/controllers/k8s/manifests"
)

// fieldManager owns the fields of what this system applies.
const fieldManager = "talos"

// The inventory names every object that the system has ever created, so that an upgrade of Kubernetes knows what it may
// remove. Its form is that of sigs.k8s.io/cli-utils.
const (
	inventoryNamespace = "kube-system"
	inventoryName      = "talos-bootstrap-manifests-inventory"
)

func writeInventory(ctx context.Context, client *kubeapi.Client, all []manifests.Manifest) error {
	path := "/api/v1/namespaces/" + inventoryNamespace + "/configmaps/" + inventoryName

	present, err := client.Get(ctx, path)
	if err != nil && !kubeapi.IsNotFound(err) {
		return fmt.Errorf("bootstrap manifests: inventory: %w", err)
	}

	data, changed := inventory(present, all)
	if !changed {
		return nil
	}

	_, err = client.Apply(ctx, path, fieldManager, kubeapi.Object{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata": kubeapi.Object{
			"name": inventoryName, "namespace": inventoryNamespace,
			"labels": kubeapi.Object{"cli-utils.sigs.k8s.io/inventory-id": inventoryName},
		},
		"data": data,
	})
	if err != nil {
		return fmt.Errorf("bootstrap manifests: inventory: %w", err)
	}

	return nil
}

// inventory adds the objects to what the present one names.
func inventory(present kubeapi.Object, all []manifests.Manifest) (data kubeapi.Object, changed bool) {
	data = kubeapi.Object{}

	if held, ok := present["data"].(kubeapi.Object); ok {
		for key, value := range held {
			data[key] = value
		}
	}

	for _, manifest := range all {
		for _, object := range manifest.Objects {
			key := inventoryKey(object)
			if _, known := data[key]; !known {
				data[key], changed = "", true
			}
		}
	}

	return data, changed
}

// inventoryKey is namespace_name_group_kind; a colon is not allowed in a key.
func inventoryKey(object kubeapi.Object) string {
	apiVersion, kind, namespace, name := kubeapi.Identity(object)

	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group = ""
	}

	return strings.Join([]string{namespace, strings.ReplaceAll(name, ":", "__"), group, kind}, "_")
}

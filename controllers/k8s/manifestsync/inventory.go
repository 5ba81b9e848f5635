// SPDX-License-Identifier: Apache-2.0

package manifestsync

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/seed-59268b81/talos/controllers/k8s/kubeapi"
)

// The inventory names every object that the system has created, so that an upgrade of Kubernetes knows what it may
// remove. Its form is that of sigs.k8s.io/cli-utils.
const (
	namespace     = "kube-system"
	inventoryName = "talos-bootstrap-manifests-inventory"
)

const configMaps = "/api/v1/namespaces/" + namespace + "/configmaps/"

// writeInventory names the objects that are wanted in the inventory, and removes those that were pruned.
func writeInventory(ctx context.Context, client *kubeapi.Client, wanted, pruned []kubeapi.Object) error {
	present, err := client.Get(ctx, configMaps+inventoryName)
	if err != nil && !kubeapi.IsNotFound(err) {
		return fmt.Errorf("inventory: %w", err)
	}

	data, changed := inventory(present, wanted, pruned)
	if !changed {
		return nil
	}

	_, err = client.Apply(ctx, configMaps+inventoryName, fieldManager, kubeapi.Object{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata": kubeapi.Object{
			"name": inventoryName, "namespace": namespace,
			"labels": kubeapi.Object{"cli-utils.sigs.k8s.io/inventory-id": inventoryName},
		},
		"data": data,
	})
	if err != nil {
		return fmt.Errorf("inventory: %w", err)
	}

	return nil
}

// inventory adds objects to what the present one names, and removes others.
func inventory(present kubeapi.Object, wanted, pruned []kubeapi.Object) (data kubeapi.Object, changed bool) {
	data = kubeapi.Object{}

	if held, ok := present["data"].(kubeapi.Object); ok {
		maps.Copy(data, held)
	}

	for _, object := range pruned {
		if _, known := data[inventoryKey(object)]; known {
			delete(data, inventoryKey(object))

			changed = true
		}
	}

	for _, object := range wanted {
		key := inventoryKey(object)
		if _, known := data[key]; !known {
			data[key], changed = "", true
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

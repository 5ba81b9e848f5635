// SPDX-License-Identifier: Apache-2.0

package manifestsync

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/seed-59268b81/talos/kube"
)

// The inventory names every object that the system has created, so that an upgrade of Kubernetes knows which it may remove. It has the format
// of sigs.k8s.io/cli-utils.
const (
	namespace     = "kube-system"
	inventoryName = "talos-bootstrap-manifests-inventory"
)

const configMaps = "/api/v1/namespaces/" + namespace + "/configmaps/"

// writeInventory adds the wanted objects to the inventory, and removes the pruned ones.
func writeInventory(ctx context.Context, client *kube.Client, wanted, pruned []kube.Object) error {
	present, err := client.Get(ctx, configMaps+inventoryName)
	if err != nil && !kube.IsNotFound(err) {
		return fmt.Errorf("read inventory: %w", err)
	}

	data, changed := inventory(present, wanted, pruned)
	if !changed {
		return nil
	}

	_, err = client.Apply(ctx, configMaps+inventoryName, fieldManager, kube.Object{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata": kube.Object{
			"name": inventoryName, "namespace": namespace,
			"labels": kube.Object{"cli-utils.sigs.k8s.io/inventory-id": inventoryName},
		},
		"data": data,
	})
	if err != nil {
		return fmt.Errorf("write inventory: %w", err)
	}

	return nil
}

// inventory returns the data of the present inventory with the wanted objects and without the pruned ones.
func inventory(present kube.Object, wanted, pruned []kube.Object) (data kube.Object, changed bool) {
	data = kube.Object{}
	maps.Copy(data, kube.At[kube.Object](present, "data"))

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

// inventoryKey returns namespace_name_group_kind; a colon is not allowed in a key.
func inventoryKey(object kube.Object) string {
	apiVersion, kind, namespace, name := kube.Identity(object)

	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group = ""
	}

	return strings.Join([]string{namespace, strings.ReplaceAll(name, ":", "__"), group, kind}, "_")
}

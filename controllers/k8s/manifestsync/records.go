// SPDX-License-Identifier: Apache-2.0

package manifestsync

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/kube"
)

// recordsName is the ConfigMap with what each control plane node rendered last.
const recordsName = "talos-bootstrap-manifests-applied"

// rendered has the hash of each object that a node rendered, by the object's identity.
type rendered map[string]string

// readRecords reads what each node rendered last. A record that cannot be decoded counts as empty, as on a new node: then nothing is changed or
// removed.
func readRecords(ctx context.Context, client *kube.Client) (map[string]rendered, error) {
	present, err := client.Get(ctx, configMaps+recordsName)
	if err != nil && !kube.IsNotFound(err) {
		return nil, fmt.Errorf("read records: %w", err)
	}

	out := map[string]rendered{}

	for node, value := range kube.At[kube.Object](present, "data") {
		var one rendered

		if text, ok := value.(string); ok && json.Unmarshal([]byte(text), &one) == nil {
			out[node] = one
		}
	}

	return out, nil
}

func writeRecords(ctx context.Context, client *kube.Client, records map[string]rendered) error {
	data := kube.Object{}

	for node, one := range records {
		text, err := json.Marshal(one) // sorts keys
		if err != nil {
			return fmt.Errorf("write records: %w", err)
		}

		data[node] = string(text)
	}

	_, err := client.Apply(ctx, configMaps+recordsName, fieldManager, kube.Object{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": kube.Object{"name": recordsName, "namespace": namespace}, "data": data,
	})
	if err != nil {
		return fmt.Errorf("write records: %w", err)
	}

	return nil
}

// hash returns a keyed hash of an object. Without the key, those who can read the records could guess the Secrets among the manifests.
func hash(key []byte, object kube.Object) (string, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return "", err
	}

	mac := hmac.New(sha256.New, key)
	mac.Write(text)

	return hex.EncodeToString(mac.Sum(nil)[:16]), nil
}

// identity returns the name of an object in logs and records.
func identity(object kube.Object) string {
	apiVersion, kind, namespace, name := kube.Identity(object)

	return apiVersion + "/" + kind + "/" + namespace + "/" + name
}

// identified returns an object that has only this identity.
func identified(id string) (kube.Object, bool) {
	parts := strings.Split(id, "/")
	if len(parts) < 4 || len(parts) > 5 {
		return nil, false
	}

	n := len(parts)

	metadata := kube.Object{"name": parts[n-1]}
	if parts[n-2] != "" {
		metadata["namespace"] = parts[n-2]
	}

	return kube.Object{"apiVersion": strings.Join(parts[:n-3], "/"), "kind": parts[n-3], "metadata": metadata}, true
}

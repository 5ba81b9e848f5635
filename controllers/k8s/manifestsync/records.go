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

// recordsName is the ConfigMap that has, for each control plane node, what it rendered last.
const recordsName = "talos-bootstrap-manifests-applied"

// rendered is what a node rendered: the hash of each object by its identity.
type rendered map[string]string

// readRecords reads what each node has rendered last. What cannot be decoded counts as nothing, as on a new node: nothing is changed
// or removed then.
func readRecords(ctx context.Context, client *kube.Client) (map[string]rendered, error) {
	present, err := client.Get(ctx, configMaps+recordsName)
	if err != nil && !kube.IsNotFound(err) {
		return nil, fmt.Errorf("records: %w", err)
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
			return fmt.Errorf("records: %w", err)
		}

		data[node] = string(text)
	}

	_, err := client.Apply(ctx, configMaps+recordsName, fieldManager, kube.Object{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": kube.Object{"name": recordsName, "namespace": namespace}, "data": data,
	})
	if err != nil {
		return fmt.Errorf("records: %w", err)
	}

	return nil
}

// hash of an object. It has a key: more people may read the records than the Secrets among the manifests, and a Secret may be guessed.
func hash(key []byte, object kube.Object) (string, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return "", err
	}

	mac := hmac.New(sha256.New, key)
	mac.Write(text)

	return hex.EncodeToString(mac.Sum(nil)[:16]), nil
}

// identity of an object, which names it in logs and records.
func identity(object kube.Object) string {
	apiVersion, kind, namespace, name := kube.Identity(object)

	return apiVersion + "/" + kind + "/" + namespace + "/" + name
}

// identified is an object with this identity and nothing else.
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

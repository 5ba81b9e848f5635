// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

const (
	// Signer of the certificates that kubelets serve with.
	Signer = "kubernetes.io/kubelet-serving"

	nodePrefix = "system:node:"
	nodesGroup = "system:nodes"
)

// Request is a CertificateSigningRequest.
type Request struct {
	Name, UID        string
	Signer, Username string
	Groups, Usages   []string
	// PEM is the signing request itself.
	PEM []byte
	// Decided is set when the request is approved or denied, or when the signer has answered.
	Decided bool
}

// Node returns the name of the requesting Node; empty if the requester is not a Node.
func (r Request) Node() string {
	name, ok := strings.CutPrefix(r.Username, nodePrefix)
	if !ok {
		return ""
	}

	return name
}

// Undecided returns the part of a CertificateSigningRequest that Judge reads; nil when the request is decided. A text longer than any valid
// request is left out, and then refused.
func Undecided(object map[string]any) map[string]any {
	if r, err := RequestOf(object); err != nil || r.Decided {
		return nil
	}

	metadata, _ := object["metadata"].(map[string]any)
	spec, _ := object["spec"].(map[string]any)
	kept := map[string]any{}

	for _, field := range []string{"signerName", "username", "groups", "usages"} {
		kept[field] = spec[field]
	}

	if text, _ := spec["request"].(string); base64.StdEncoding.DecodedLen(len(text)) <= maxRequest+2 {
		kept["request"] = text
	}

	return map[string]any{"metadata": map[string]any{"name": metadata["name"], "uid": metadata["uid"]}, "spec": kept}
}

// RequestOf decodes a CertificateSigningRequest.
func RequestOf(object map[string]any) (Request, error) {
	var in struct {
		Metadata struct{ Name, UID string }
		Spec     struct {
			Request, SignerName, Username string
			Groups, Usages                []string
		}
		Status struct {
			Certificate string
			Conditions  []struct{ Type string }
		}
	}

	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, &in)
	}

	if err != nil {
		return Request{}, fmt.Errorf("certificate signing request: %w", err)
	}

	r := Request{
		Name: in.Metadata.Name, UID: in.Metadata.UID, Signer: in.Spec.SignerName, Username: in.Spec.Username,
		Groups: in.Spec.Groups, Usages: in.Spec.Usages, Decided: in.Status.Certificate != "" || len(in.Status.Conditions) > 0,
	}

	if r.PEM, err = base64.StdEncoding.DecodeString(in.Spec.Request); err != nil {
		return Request{}, fmt.Errorf("certificate signing request %s: %w", r.Name, err)
	}

	return r, nil
}

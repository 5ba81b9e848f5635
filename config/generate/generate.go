// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/reference"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// New generates the configurations of a cluster. The default Kubernetes version is the one of this release.
func New(clusterName, endpoint, kubernetesVersion string, opts Options) (*Output, error) {
	in, err := newInput(clusterName, endpoint, kubernetesVersion, opts)
	if err != nil {
		return nil, fmt.Errorf("generate configuration: %w", err)
	}

	out := &Output{Secrets: in.Secrets}

	if out.ControlPlane, err = in.text(v1alpha1.TypeControlPlane, in.ControlPlanePatches); err != nil {
		return nil, fmt.Errorf("generate control plane configuration: %w", err)
	}

	if out.Worker, err = in.text(v1alpha1.TypeWorker, in.WorkerPatches); err != nil {
		return nil, fmt.Errorf("generate worker configuration: %w", err)
	}

	client, err := Talosconfig(clusterName, in.Secrets, in.Endpoints, in.Nodes)
	if err != nil {
		return nil, err
	}

	if out.Talosconfig, err = client.Encode(); err != nil {
		return nil, err
	}

	return out, nil
}

// text generates and patches the configuration of a role.
func (in *input) text(role v1alpha1.MachineType, rolePatches []patch.Patch) ([]byte, error) {
	text, err := config.Encode(in.documents(role)...)
	if err != nil {
		return nil, err
	}

	// Values of options can be wrong too.
	if _, err := config.Decode(text); err != nil {
		return nil, err
	}

	text, err = patch.Apply(text, append(in.Patches[:len(in.Patches):len(in.Patches)], rolePatches...)...)
	if err != nil || !in.Docs && !in.Examples {
		return text, err
	}

	return reference.Annotate(text, reference.Annotations{
		Docs: in.Docs, Examples: in.Examples, Contract: in.Contract.String(), Documents: in.Contract >= Documents,
	})
}

// withoutKey returns an authority without its private key, for workers.
func withoutKey(ca v1alpha1.CertPair) v1alpha1.CertPair { return v1alpha1.CertPair{Crt: ca.Crt} }

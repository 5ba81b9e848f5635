// SPDX-License-Identifier: Apache-2.0

// Package access extracts the part of a configuration that authenticates clients of the machine's API. The machine stores this
// part beside the configuration and reads it when it cannot read the configuration. So a machine that was configured once stays
// closed to strangers, and its administrators can still connect.
package access

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/k8s"
	"github.com/seed-59268b81/talos/config/overlay"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/pki"
)

// of returns what the API needs to authenticate its clients: the authorities and, for a worker, which has no key, the token and
// the endpoint with which it gets a certificate. Every version has these keys.
func of(main *v1alpha1.Config) *v1alpha1.Config {
	out := &v1alpha1.Config{Version: v1alpha1.Version}
	out.Machine.Type = main.Machine.Type
	out.Machine.Token = main.Machine.Token
	out.Machine.CA = main.Machine.CA
	out.Machine.AcceptedCAs = main.Machine.AcceptedCAs
	out.Machine.CertSANs = main.Machine.CertSANs
	out.Cluster.ControlPlane.Endpoint = main.Cluster.ControlPlane.Endpoint

	return out
}

// Encode returns the text to store beside a configuration.
func Encode(cfg *config.Config) ([]byte, error) {
	main, complete := overlay.Of(cfg) // the endpoint may be in a document
	if !complete {
		return nil, errors.New("encode access: the configuration has no v1alpha1 document")
	}

	text, err := config.Encode(of(main))
	if err != nil {
		return nil, fmt.Errorf("encode access: %w", err)
	}

	return text, nil
}

// DecodeStored decodes a configuration that was stored on the disk. A truncated document can still be valid, so DecodeStored
// requires the keys that every machine has, some of which are at the end of a document.
func DecodeStored(text []byte) (*config.Config, error) {
	cfg, err := Decode(text)
	if err != nil {
		return nil, err
	}

	says, missing := view.Of(cfg), func(key string) error { return fmt.Errorf("%s: is missing", key) }

	switch plane := says.Type().IsControlPlane(); {
	case len(says.ClusterCA().Crt) == 0:
		return nil, missing("cluster.ca")
	case says.ClusterToken() == "":
		return nil, missing("cluster.token")
	case plane && len(says.ServiceAccountKey()) == 0:
		return nil, missing("cluster.serviceAccount")
	case plane && len(says.Etcd().CA.Crt) == 0:
		return nil, missing("cluster.etcd.ca")
	case plane && !encrypted(cfg):
		return nil, missing("cluster.secretboxEncryptionSecret")
	default:
		return cfg, nil
	}
}

// encrypted reports whether a configuration has the keys of Secrets in etcd. Without them the API server would store Secrets as they are.
func encrypted(cfg *config.Config) bool {
	says := view.Of(cfg)

	return says.SecretboxSecret() != "" || says.AESCBCSecret() != "" || config.Find[*k8s.KubeEtcdEncryptionConfig](cfg) != nil
}

// Decode decodes the text that Encode returns. It requires an authority.
func Decode(text []byte) (*config.Config, error) {
	cfg, err := config.DecodeForBoot(text)
	if err != nil {
		return nil, err
	}

	says := view.Of(cfg)

	switch _, err := pki.ParseCertificate(says.MachineCA().Crt); {
	case err != nil:
		return nil, fmt.Errorf("machine.ca.crt: %w", err)
	case says.Type() == "":
		return nil, errors.New("machine.type: is missing")
	case says.Endpoint().IsZero():
		return nil, errors.New("cluster.controlPlane.endpoint: is missing")
	default:
		return cfg, nil
	}
}

// Salvage does the same for a configuration that cannot be decoded as a whole, such as one of a later version with more keys.
func Salvage(text []byte) (*config.Config, error) {
	type controlPlane struct {
		Endpoint string `yaml:"endpoint"`
	}

	var (
		decoder = yaml.NewDecoder(bytes.NewReader(text))
		machine map[string]yaml.Node
		plane   controlPlane
		end     error
	)

	// What follows a document that cannot be read is lost.
	for end == nil {
		var document struct {
			Kind     string               `yaml:"kind"`
			Endpoint yaml.Node            `yaml:"endpoint"` // of a KubeClusterConfig
			Machine  map[string]yaml.Node `yaml:"machine"`
			Cluster  map[string]yaml.Node `yaml:"cluster"`
		}

		if end = decoder.Decode(&document); end != nil {
			break
		}

		if machine == nil {
			machine = document.Machine
		}

		if node, ok := document.Cluster["controlPlane"]; ok && plane.Endpoint == "" {
			_ = node.Decode(&plane) // Decode says that it is missing
		}

		if document.Kind == "KubeClusterConfig" && plane.Endpoint == "" {
			_ = document.Endpoint.Decode(&plane.Endpoint)
		}
	}

	if machine == nil {
		return nil, fmt.Errorf("salvage access: %w", end)
	}

	maps.DeleteFunc(machine, func(key string, _ yaml.Node) bool {
		return !slices.Contains([]string{"type", "token", "ca", "acceptedCAs", "certSANs"}, key)
	})

	kept, err := config.Encode(map[string]any{
		"version": v1alpha1.Version, "machine": machine, "cluster": map[string]any{"controlPlane": plane},
	})
	if err != nil {
		return nil, fmt.Errorf("salvage access: %w", err)
	}

	return Decode(kept)
}

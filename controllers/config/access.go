// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/pki"
)

// accessName is the file in STATE that says who may reach the machine. It is written with each configuration, and read when the
// configuration cannot be.
const accessName = "access.yaml"

// accessOf is what of a configuration the API needs to be reached by its administrators and by no one else: the authorities, and
// for a worker, which has no key, the token and the endpoint with which it gets a certificate. These are keys that every version
// has.
func accessOf(main *v1alpha1.Config) *v1alpha1.Config {
	out := &v1alpha1.Config{Version: v1alpha1.Version}
	out.Machine.Type = main.Machine.Type
	out.Machine.Token = main.Machine.Token
	out.Machine.CA = main.Machine.CA
	out.Machine.AcceptedCAs = main.Machine.AcceptedCAs
	out.Machine.CertSANs = main.Machine.CertSANs
	out.Cluster.ControlPlane.Endpoint = main.Cluster.ControlPlane.Endpoint

	return out
}

// encodeAccess returns the text of the file for a configuration.
func encodeAccess(cfg *config.Config) ([]byte, error) {
	main := cfg.Main()
	if main == nil {
		return nil, errors.New("encode access: the configuration has no v1alpha1 document")
	}

	text, err := config.Encode(accessOf(main))
	if err != nil {
		return nil, fmt.Errorf("encode access: %w", err)
	}

	return text, nil
}

// decodeStored reads a configuration from the disk. Half a document may well be one too, so it must have what no machine does
// without; the end of a document, for one.
func decodeStored(text []byte) (*config.Config, error) {
	cfg, err := decodeAccess(text)
	if err != nil {
		return nil, err
	}

	cluster, missing := cfg.Cluster(), func(key string) error { return fmt.Errorf("%s: is missing", key) }

	switch plane := cfg.Machine().Type.IsControlPlane(); {
	case len(cluster.CA.Crt) == 0:
		return nil, missing("cluster.ca")
	case cluster.Token == "":
		return nil, missing("cluster.token")
	case plane && len(cluster.ServiceAccount.Key) == 0:
		return nil, missing("cluster.serviceAccount")
	case plane && len(cluster.Etcd.CA.Crt) == 0:
		return nil, missing("cluster.etcd.ca")
	default:
		return cfg, nil
	}
}

// decodeAccess reads what says who the administrators are.
func decodeAccess(text []byte) (*config.Config, error) {
	cfg, err := usable(text)
	if err != nil {
		return nil, err
	}

	switch _, err := pki.ParseCertificate(cfg.Machine().CA.Crt); {
	case err != nil:
		return nil, fmt.Errorf("machine.ca.crt: %w", err)
	case cfg.Machine().Type == "":
		return nil, errors.New("machine.type: is missing")
	case cfg.Cluster().ControlPlane.Endpoint.IsZero():
		return nil, errors.New("cluster.controlPlane.endpoint: is missing")
	default:
		return cfg, nil
	}
}

// salvageAccess finds the same in the text of a configuration that cannot be decoded as a whole, such as one of a version that
// knows more keys.
func salvageAccess(text []byte) (*config.Config, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))

	for {
		var document struct {
			Machine map[string]yaml.Node `yaml:"machine"`
			Cluster map[string]yaml.Node `yaml:"cluster"`
		}

		if err := decoder.Decode(&document); err != nil {
			return nil, fmt.Errorf("salvage access: %w", err)
		}

		if document.Machine == nil {
			continue
		}

		kept := map[string]any{"version": v1alpha1.Version}
		machine := map[string]yaml.Node{}

		for _, key := range []string{"type", "token", "ca", "acceptedCAs", "certSANs"} {
			if node, ok := document.Machine[key]; ok {
				machine[key] = node
			}
		}

		kept["machine"] = machine

		if plane, ok := document.Cluster["controlPlane"]; ok {
			var endpoint struct {
				Endpoint string `yaml:"endpoint"`
			}

			if err := plane.Decode(&endpoint); err == nil {
				kept["cluster"] = map[string]any{"controlPlane": endpoint}
			}
		}

		text, err := config.Encode(kept)
		if err != nil {
			return nil, fmt.Errorf("salvage access: %w", err)
		}

		return decodeAccess(text)
	}
}

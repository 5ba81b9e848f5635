// SPDX-License-Identifier: Apache-2.0

// Package access holds what of a configuration says who may reach the machine's API: its administrators, and no one else. It is kept
// beside the configuration and read when that cannot be: a machine that was configured once stays closed to strangers, and its
// administrators get in.
package access

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/pki"
)

// of is what of a configuration the API needs to be reached by its administrators and by no one else: the authorities, and
// for a worker, which has no key, the token and the endpoint with which it gets a certificate. These are keys that every version
// has.
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

// Encode returns the text that is kept beside a configuration.
func Encode(cfg *config.Config) ([]byte, error) {
	main := config.Find[*v1alpha1.Config](cfg)
	if main == nil {
		return nil, errors.New("encode access: the configuration has no v1alpha1 document")
	}

	text, err := config.Encode(of(main))
	if err != nil {
		return nil, fmt.Errorf("encode access: %w", err)
	}

	return text, nil
}

// DecodeStored reads a configuration from the disk. Half a document may well be one too, so it must have what no machine does
// without; the end of a document, for one.
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
	default:
		return cfg, nil
	}
}

// Decode reads what says who the administrators are.
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

// Salvage finds the same in the text of a configuration that cannot be decoded as a whole, such as one of a version that
// knows more keys.
func Salvage(text []byte) (*config.Config, error) {
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

		maps.DeleteFunc(document.Machine, func(key string, _ yaml.Node) bool {
			return !slices.Contains([]string{"type", "token", "ca", "acceptedCAs", "certSANs"}, key)
		})

		kept := map[string]any{"version": v1alpha1.Version, "machine": document.Machine}

		var plane struct {
			Endpoint string `yaml:"endpoint"`
		}

		if node, ok := document.Cluster["controlPlane"]; ok && node.Decode(&plane) == nil {
			kept["cluster"] = map[string]any{"controlPlane": plane}
		}

		text, err := config.Encode(kept)
		if err != nil {
			return nil, fmt.Errorf("salvage access: %w", err)
		}

		return Decode(text)
	}
}

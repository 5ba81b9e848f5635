// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"reflect"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/documents/network"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// documents returns the documents of a role's configuration.
func (in *input) documents(role v1alpha1.MachineType) []any {
	hostname := network.NewHostnameConfig()
	hostname.Auto = network.AutoHostnameStable

	if in.Contract < Documents {
		return []any{&v1alpha1.Config{
			Version: v1alpha1.Version,
			Debug:   new(false),
			Persist: new(true),
			Machine: in.machine(role),
			Cluster: in.cluster(role),
		}, hostname}
	}

	all := []any{in.remainder(role)}
	all = append(all, in.kubernetesDocuments(role)...)

	if role.IsControlPlane() {
		all = append(all, in.controlPlaneDocuments()...)
	}

	all = append(all, hostname)

	return append(all, in.system()...)
}

// remainder is the v1alpha1 document without the keys that documents take the place of. v1alpha1.Config writes some of those even if
// they are empty.
type remainder struct {
	Version string           `yaml:"version"`
	Debug   bool             `yaml:"debug"`
	Persist bool             `yaml:"persist"`
	Machine remainingMachine `yaml:"machine"`
	Cluster remainingCluster `yaml:"cluster"`
}

type remainingMachine struct {
	Type     v1alpha1.MachineType    `yaml:"type"`
	Token    string                  `yaml:"token"`
	CA       v1alpha1.CertPair       `yaml:"ca"`
	CertSANs []string                `yaml:"certSANs"`
	Features v1alpha1.FeaturesConfig `yaml:"features"`
}

type remainingCluster struct {
	Token string              `yaml:"token"`
	Etcd  v1alpha1.EtcdConfig `yaml:"etcd,omitempty"`
}

func (in *input) remainder(role v1alpha1.MachineType) *remainder {
	out := &remainder{
		Version: v1alpha1.Version,
		Persist: true,
		Machine: remainingMachine{
			Type: role, Token: in.Secrets.Trustd.Token, CA: withoutKey(in.Secrets.Certs.OS), CertSANs: in.AdditionalSANs,
			Features: v1alpha1.FeaturesConfig{DiskQuotaSupport: new(true)},
		},
		Cluster: remainingCluster{Token: in.Secrets.Secrets.BootstrapToken},
	}

	if role.IsControlPlane() {
		out.Machine.CA = in.Secrets.Certs.OS
		out.Cluster.Etcd.CA = in.Secrets.Certs.Etcd
	}

	return out
}

// header returns the header of a document of type T, whose name is its kind.
func header[T any]() document.Header {
	return document.Header{APIVersion: document.APIVersion, DocKind: reflect.TypeFor[T]().Name()}
}

func named[T any](name string) document.Named {
	return document.Named{Header: header[T](), DocName: name}
}

// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/secrets"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/version"
)

// DefaultInstallDisk is the disk that the system is installed to by default.
const DefaultInstallDisk = "/dev/sda"

// InstallerRepository is the repository of the installer's image. Its tags are releases of this system.
const InstallerRepository = "ghcr.io/seed-59268b81/installer"

// Options are settings that may differ from the defaults. The zero value gives a working cluster.
type Options struct {
	Secrets *secrets.Bundle // default: new ones
	// Contract is the release that reads the configurations; Oldest without it.
	Contract Contract
	// Docs adds a comment to each key that says what it is; Examples adds other keys and documents as comments.
	Docs, Examples bool

	// AdditionalSANs are names and addresses of the machine API and the API server, besides those that they
	// detect.
	AdditionalSANs []string
	DNSDomain      string
	InstallDisk    string
	InstallImage   string
	// NoInstall leaves out the document that installs the system to a disk.
	NoInstall bool
	// RegistryMirrors maps a registry host to the URLs that replace it.
	RegistryMirrors    map[string][]string
	NoClusterDiscovery bool
	LocalAPIServerPort int
	PodSubnets         []netip.Prefix
	ServiceSubnets     []netip.Prefix
	// AllowSchedulingOnControlPlanes lets ordinary pods run on control plane machines.
	AllowSchedulingOnControlPlanes bool

	// Endpoints and Nodes are for the client configuration.
	Endpoints []string
	Nodes     []string

	// Patches are applied in order: first those for all machines, then those for the role.
	Patches             []patch.Patch
	ControlPlanePatches []patch.Patch
	WorkerPatches       []patch.Patch
}

// Output is the result of New.
type Output struct {
	ControlPlane []byte
	Worker       []byte
	Talosconfig  []byte
	Secrets      *secrets.Bundle
}

// input is the validated request.
type input struct {
	Options

	clusterName string
	endpoint    v1alpha1.URL
	kubernetes  string // version with its leading v
}

// clusterNames matches names that are valid in a kubeconfig, as a context and as a file name.
var clusterNames = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)

var versions = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$`)

func newInput(clusterName, endpoint, kubernetesVersion string, opts Options) (*input, error) {
	if !clusterNames.MatchString(clusterName) {
		return nil, fmt.Errorf("cluster name %q: want up to 63 letters, digits, dots, dashes or underscores, with a letter or digit at both ends", clusterName)
	}

	url, err := ParseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}

	kubernetesVersion = "v" + strings.TrimPrefix(cmp.Or(kubernetesVersion, images.KubernetesVersion), "v")

	if !versions.MatchString(kubernetesVersion) {
		return nil, fmt.Errorf("Kubernetes version %q: want a release such as %s", kubernetesVersion, images.KubernetesVersion)
	}

	if opts.Contract = cmp.Or(opts.Contract, Oldest); opts.Contract < Oldest || opts.Contract > Newest {
		return nil, fmt.Errorf("contract %s: want %s to %s", opts.Contract, Oldest, Newest)
	}

	opts.InstallDisk = cmp.Or(opts.InstallDisk, DefaultInstallDisk)
	opts.InstallImage = cmp.Or(opts.InstallImage, InstallerRepository+":"+version.Tag)
	opts.DNSDomain = cmp.Or(opts.DNSDomain, v1alpha1.DefaultDNSDomain)

	if len(opts.PodSubnets) == 0 {
		opts.PodSubnets = []netip.Prefix{netip.MustParsePrefix(v1alpha1.DefaultPodSubnet)}
	}

	if len(opts.ServiceSubnets) == 0 {
		opts.ServiceSubnets = []netip.Prefix{netip.MustParsePrefix(v1alpha1.DefaultServiceSubnet)}
	}

	if opts.Contract >= Documents {
		if err := checkMirrors(opts.RegistryMirrors); err != nil {
			return nil, err
		}
	}

	if opts.Secrets == nil {
		if opts.Secrets, err = secrets.New(); err != nil {
			return nil, err
		}
	}

	return &input{Options: opts, clusterName: clusterName, endpoint: url, kubernetes: kubernetesVersion}, nil
}

// checkMirrors checks what a document of a mirror cannot have.
func checkMirrors(mirrors map[string][]string) error {
	for host, endpoints := range mirrors {
		for _, endpoint := range endpoints {
			if _, err := v1alpha1.ParseURL(endpoint); err != nil {
				return fmt.Errorf("mirror of the registry %s: %w", host, err)
			}
		}
	}

	return nil
}

// ParseEndpoint parses the URL of a cluster's API servers.
func ParseEndpoint(endpoint string) (v1alpha1.URL, error) {
	url, err := v1alpha1.ParseURL(endpoint)
	if err != nil {
		hint := ""

		if !strings.Contains(endpoint, "://") {
			hint = fmt.Sprintf(" (did you mean \"https://%s:6443\"?)", strings.TrimSuffix(endpoint, ":6443"))
		}

		return url, fmt.Errorf("cluster endpoint %q: want https://HOST:PORT, usually with port 6443%s", endpoint, hint)
	}

	if url.Scheme != "https" {
		return url, fmt.Errorf("cluster endpoint %q: the scheme is %q: want https", endpoint, url.Scheme)
	}

	return url, nil
}

// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"slices"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/cri"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// Docker's registry has one name in references of images, and another one in its URL.
const (
	DockerHub     = "docker.io"
	DockerHubHost = "registry-1.docker.io"
)

// Registries returns where images come from, and how registries are accessed. All images come from the image cache first, unless its URL is
// empty.
func Registries(from view.Registries, cache string) cri.RegistriesConfigSpec {
	spec := cri.RegistriesConfigSpec{
		RegistryMirrors: map[string]cri.RegistryMirrorConfig{},
		RegistryAuths:   map[string]cri.RegistryAuthConfig{},
		RegistryTLSs:    map[string]cri.RegistryTLSConfig{},
	}

	for host, m := range from.Mirrors {
		spec.RegistryMirrors[host] = mirror(m, cache)
	}

	if _, ok := spec.RegistryMirrors[cri.AnyRegistry]; !ok && cache != "" {
		spec.RegistryMirrors[cri.AnyRegistry] = mirror(view.RegistryMirror{}, cache)
	}

	for host, access := range from.Config {
		if a := access.Auth; a != nil {
			spec.RegistryAuths[host] = cri.RegistryAuthConfig{
				RegistryUsername: a.Username, RegistryPassword: a.Password, RegistryAuth: a.Auth, RegistryIdentityToken: a.IdentityToken,
			}
		}

		if access.TLS != nil {
			spec.RegistryTLSs[host] = tls(*access.TLS)
		}
	}

	alias(spec.RegistryAuths)
	alias(spec.RegistryTLSs)

	return spec
}

// alias gives Docker's registry the settings of its other name.
func alias[V any](byHost map[string]V) {
	if v, ok := byHost[DockerHub]; ok {
		if _, own := byHost[DockerHubHost]; !own {
			byHost[DockerHubHost] = v
		}
	}
}

// mirror returns the endpoints, each once: containerd does not read a file that has one twice.
func mirror(m view.RegistryMirror, cache string) cri.RegistryMirrorConfig {
	out := cri.RegistryMirrorConfig{MirrorSkipFallback: view.IsTrue(m.SkipFallback)}

	add := func(endpoint string, overridePath bool) {
		same := func(e cri.RegistryEndpointConfig) bool { return e.EndpointEndpoint == endpoint }
		if endpoint != "" && !slices.ContainsFunc(out.MirrorEndpoints, same) {
			out.MirrorEndpoints = append(out.MirrorEndpoints, cri.RegistryEndpointConfig{EndpointEndpoint: endpoint, EndpointOverridePath: overridePath})
		}
	}

	add(cache, false)

	for i, endpoint := range m.Endpoints {
		add(endpoint, m.OverridesPath(i))
	}

	return out
}

func tls(t view.RegistryTLS) cri.RegistryTLSConfig {
	out := cri.RegistryTLSConfig{TLSCA: string(t.CA), TLSInsecureSkipVerify: view.IsTrue(t.InsecureSkipVerify)}

	if id := t.ClientIdentity; id != nil {
		out.TLSClientIdentity = &secrets.CertAndKey{Crt: id.Crt, Key: id.Key}
	}

	return out
}

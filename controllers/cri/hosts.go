// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/seed-59268b81/talos/controllers/cri/imagecache"
	"github.com/seed-59268b81/talos/controllers/cri/settings"
	"github.com/seed-59268b81/talos/resources/cri"
)

const (
	// cacheURL is the registry that serves the image cache.
	cacheURL = "http://" + imagecache.Address
	// anyRegistryDir is the folder of the registries without one of their own.
	anyRegistryDir = "_default"
	hostsFile      = "hosts.toml"
	rootsFile      = "trusted-roots.pem"
)

// pull are the capabilities of mirrors.
var pull = []string{"pull", "resolve"}

// renderHosts returns the files of the hosts folder by their paths: for each registry a folder with its hosts, and with the certificates to
// access them. roots are authorities, in PEM, that all hosts may have their certificates from. containerd and the machine's own pulls read the
// files at each pull.
func renderHosts(registries cri.RegistriesConfigSpec, roots string) (map[string][]byte, error) {
	files := map[string][]byte{}

	names := []string{cri.AnyRegistry}
	names = slices.AppendSeq(names, maps.Keys(registries.RegistryMirrors))
	names = slices.AppendSeq(names, maps.Keys(registries.RegistryTLSs))

	if _, ok := registries.RegistryTLSs[settings.DockerHubHost]; ok {
		names = append(names, settings.DockerHub)
	}

	slices.Sort(names)

	for _, name := range slices.Compact(names) {
		dir := name
		if name == cri.AnyRegistry {
			dir = anyRegistryDir
		}

		// No image is from such a registry. Validation warns about it.
		if !filepath.IsLocal(dir) || dir == "." || strings.Contains(dir, "/") {
			continue
		}

		r := folder{RegistriesConfigSpec: registries, name: name, dir: dir, roots: roots, files: files}
		if err := r.render(); err != nil {
			return nil, fmt.Errorf("registry %s: %w", name, err)
		}
	}

	return files, nil
}

// folder is what is rendered for one registry.
type folder struct {
	cri.RegistriesConfigSpec

	name, dir, roots string
	files            map[string][]byte
}

type host struct {
	endpoint string
	settings table
}

func (r *folder) render() error {
	mirror, ok := r.RegistryMirrors[r.name]
	if !ok {
		mirror = r.RegistryMirrors[cri.AnyRegistry]
	}

	var hosts []host

	for _, e := range mirror.MirrorEndpoints {
		u, err := url.Parse(e.EndpointEndpoint)
		if err != nil || u.Host == "" {
			return fmt.Errorf("mirror %q is not a URL with a host", e.EndpointEndpoint)
		}

		settings := table{"capabilities": pull, "override_path": e.EndpointOverridePath}
		if u.Scheme != "http" {
			maps.Copy(settings, r.access(u.Host))
		}

		hosts = append(hosts, host{e.EndpointEndpoint, settings})
	}

	// The settings before the first host are those of the server that containerd tries last. Without a server there it tries the registry
	// itself, under its real name. To rule that out, the last mirror becomes the server.
	var server table

	switch {
	case !mirror.MirrorSkipFallback:
		server = r.access(r.own())
	case len(hosts) == 0:
		server = table{"server": cacheURL, "capabilities": pull} // nothing listens there
	default:
		last := hosts[len(hosts)-1]
		hosts = hosts[:len(hosts)-1]
		server = last.settings
		server["server"] = last.endpoint
	}

	text, err := marshalHosts(server, hosts)
	r.files[filepath.Join(r.dir, hostsFile)] = text

	return err
}

// own returns the host of the registry itself.
func (r *folder) own() string {
	if r.name == settings.DockerHub {
		return settings.DockerHubHost
	}

	return r.name
}

// access returns how the machine and a host authenticate each other, and adds the files for it to the folder. Paths are relative to it. Hosts
// without settings of their own have those of any registry.
func (r *folder) access(name string) table {
	tls, ok := r.RegistryTLSs[name]
	if !ok {
		tls = r.RegistryTLSs[cri.AnyRegistry]
	}

	out := table{}

	var authorities []string

	if r.roots != "" {
		r.files[filepath.Join(r.dir, rootsFile)] = []byte(r.roots)
		authorities = append(authorities, rootsFile)
	}

	if tls.TLSCA != "" {
		authority := name + ".ca.pem"
		r.files[filepath.Join(r.dir, authority)] = []byte(tls.TLSCA)
		authorities = append(authorities, authority)
	}

	if len(authorities) > 0 {
		out["ca"] = authorities
	}

	// Both halves are in one file, so that no pull reads halves of two pairs.
	if id := tls.TLSClientIdentity; id != nil {
		pair := name + ".client.pem"
		r.files[filepath.Join(r.dir, pair)] = slices.Concat(id.Crt, []byte("\n"), id.Key)
		out["client"] = pair
	}

	if tls.TLSInsecureSkipVerify {
		out["skip_verify"] = true
	}

	return out
}

// marshalHosts returns hosts.toml. containerd tries the hosts in their order in the file, so the file is not marshalled from a map.
func marshalHosts(server table, hosts []host) ([]byte, error) {
	var out strings.Builder

	first, err := toml.Marshal(server)
	if err != nil {
		return nil, err
	}

	out.Write(first)

	for _, h := range hosts {
		part, err := toml.Marshal(h.settings)
		if err != nil {
			return nil, fmt.Errorf("host %s: %w", h.endpoint, err)
		}

		fmt.Fprintf(&out, "[host.%q]\n%s\n", h.endpoint, part)
	}

	return []byte(out.String()), nil
}

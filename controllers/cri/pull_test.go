// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/plugins/content/local"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/cri/imagecache"
	"github.com/seed-59268b81/talos/controllers/cri/settings"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/test/registrytest"
)

// machine is a machine's folder of hosts and its credentials.
type machine struct{ dir string }

// newMachine writes the files that follow from documents.
func newMachine(t *testing.T, documents, cache string) machine {
	t.Helper()

	cfg, err := config.Decode([]byte(documents))
	if err != nil {
		t.Fatal(err)
	}

	m := machine{t.TempDir()}
	says := view.Of(cfg)
	registries := settings.Registries(says.Registries(), cache)

	if err := writeHosts(m.hosts(), registries, says.TrustedRoots()); err != nil {
		t.Fatal(err)
	}

	if err := writeCredentials(m.credentials(), registries.RegistryAuths); err != nil {
		t.Fatal(err)
	}

	if err := writeRules(filepath.Join(m.dir, filepath.Base(layout.ImageRules)), rulesOf(says)); err != nil {
		t.Fatal(err)
	}

	return m
}

func (m machine) hosts() string       { return filepath.Join(m.dir, "hosts") }
func (m machine) credentials() string { return filepath.Join(m.dir, "credentials.json") }

// pull downloads an image, all of it, as the machine does, and returns the digest of its manifest.
func (m machine) pull(t *testing.T, ref string) (string, error) {
	t.Helper()

	ctx := namespaces.WithNamespace(t.Context(), container.NamespaceSystem)

	resolver, tried, err := container.NewResolver(ctx, m.hosts(), m.credentials())
	if err != nil {
		return "", err
	}

	digest, err := m.download(ctx, t, resolver, ref)
	if err != nil {
		return "", tried.Explain(err)
	}

	return digest, nil
}

func (m machine) download(ctx context.Context, t *testing.T, resolver remotes.Resolver, ref string) (string, error) {
	name, root, err := resolver.Resolve(ctx, ref)
	if err != nil {
		return "", err
	}

	fetcher, err := resolver.Fetcher(ctx, name)
	if err != nil {
		return "", err
	}

	store := must(local.NewStore(t.TempDir()))

	return root.Digest.String(), images.Dispatch(ctx, images.Handlers(remotes.FetchHandler(store, fetcher), images.ChildrenHandler(store)), nil, root)
}

func (r *privateRegistry) authDocument(fields string) string {
	return "---\napiVersion: v1alpha1\nkind: RegistryAuthConfig\nname: " + r.Host + "\n" + fields + "\n"
}

func (r *privateRegistry) tlsDocument(certificate bool) string {
	text := "---\napiVersion: v1alpha1\nkind: RegistryTLSConfig\nname: " + r.Host + "\nca: |\n" + indent(r.CA.PEM.Crt)
	if certificate {
		text += "clientIdentity:\n  cert: |\n" + indent(r.Client.Crt) + "  key: |\n" + indent(r.Client.Key)
	}

	return text
}

func (r *privateRegistry) rootsDocument() string {
	return "---\napiVersion: v1alpha1\nkind: TrustedRootsConfig\nname: company\ncertificates: |\n" + indent(r.CA.PEM.Crt)
}

// named returns the documents of a registry for its other name.
func (r *privateRegistry) named(document string) string {
	return strings.ReplaceAll(document, r.Host, "registry.test:"+r.Port)
}

// mirrorDocument has the images of a host pulled from the registry: containerd does not verify the certificates of registries that are called
// localhost.
func (r *privateRegistry) mirrorDocument() string {
	return "---\napiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: registry.test\nendpoints: [{url: 'https://" + r.Host + "'}]\nskipFallback: true\n"
}

func indent(text []byte) string {
	return "      " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n      ") + "\n"
}

const (
	rightLogin = "username: " + registrytest.User + "\npassword: " + registrytest.Password
	wrongLogin = "username: " + registrytest.User + "\npassword: wrong"
)

// TestPull pulls from a real registry that requires a password and a certificate. Each wrong step is named. The image cache is asked first, and
// does not have the image: its answer hides no other.
func TestPull(t *testing.T) {
	r := startRegistry(t, registrytest.Access{Password: true, Certificate: true})
	cache := httptest.NewServer(imagecache.New(t.TempDir()))
	t.Cleanup(cache.Close)

	encoded := "auth: " + base64.StdEncoding.EncodeToString([]byte(registrytest.User+":"+registrytest.Password))
	legacy := "machine:\n  type: worker\n  registries:\n    config:\n      " + r.Host + ":\n        auth: {username: " + registrytest.User + ", password: " + registrytest.Password +
		"}\n        tls: {ca: " + base64.StdEncoding.EncodeToString(r.CA.PEM.Crt) + ", clientIdentity: {crt: " + base64.StdEncoding.EncodeToString(r.Client.Crt) +
		", key: " + base64.StdEncoding.EncodeToString(r.Client.Key) + "}}\n"

	for _, tt := range []struct{ name, documents, image, fails string }{
		{name: "documents", documents: r.authDocument(rightLogin) + r.tlsDocument(true)},
		{name: "the v1alpha1 document", documents: legacy},
		{name: "the login in base64", documents: r.authDocument(encoded) + r.tlsDocument(true)},
		{name: "no login", documents: r.tlsDocument(true), fails: "authentication failed: it has no credentials in RegistryAuthConfig (401"},
		{name: "a wrong login", documents: r.authDocument(wrongLogin) + r.tlsDocument(true), fails: "authentication failed: it refuses the credentials of RegistryAuthConfig (401"},
		{name: "an unknown authority", documents: r.authDocument(rightLogin), fails: "its certificate is from an authority that is not trusted"},
		{name: "no certificate", documents: r.authDocument(rightLogin) + r.tlsDocument(false), fails: "see clientIdentity in RegistryTLSConfig"},
		{name: "no such image", documents: r.authDocument(rightLogin) + r.tlsDocument(true), image: "/test/other:1", fails: "does not have the image (404"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			image := tt.image
			if image == "" {
				image = "/test/image:1"
			}

			digest, err := newMachine(t, tt.documents+r.mirrorDocument(), cache.URL).pull(t, "registry.test"+image)
			r.check(t, digest, err, tt.fails)
		})
	}
}

// check compares what was pulled, or what the error says.
func (r *privateRegistry) check(t *testing.T, digest string, err error, fails string) {
	t.Helper()

	if fails != "" {
		if want := ": " + fails; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}

		return
	}

	if want := must(r.image.Digest()).String(); err != nil || digest != want {
		t.Errorf("got %q, %v, want %q", digest, err, want)
	}
}

// TestPullThroughTrust pulls from a registry without a login.
func TestPullThroughTrust(t *testing.T) {
	r := startRegistry(t, registrytest.Access{})
	insecure := "---\napiVersion: v1alpha1\nkind: RegistryTLSConfig\nname: " + r.Host + "\ninsecureSkipVerify: true\n"

	for _, tt := range []struct{ name, documents, fails string }{
		{name: "trusted roots", documents: r.rootsDocument()},
		{name: "not verified", documents: insecure},
		{name: "neither", documents: "machine: {type: worker}\n", fails: "its certificate is from an authority that is not trusted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			digest, err := newMachine(t, tt.documents+r.mirrorDocument(), "").pull(t, "registry.test/test/image:1")
			r.check(t, digest, err, tt.fails)
		})
	}
}

// TestPullWithToken pulls with an identity token, which a server of tokens exchanges.
func TestPullWithToken(t *testing.T) {
	r := startRegistry(t, registrytest.Access{Token: true})

	for token, fails := range map[string]string{registrytest.RefreshToken: "", "stolen": "authentication failed: it refuses the credentials of RegistryAuthConfig (401"} {
		digest, err := newMachine(t, r.tlsDocument(false)+r.authDocument("identityToken: "+token), "").pull(t, r.Host+"/test/image:1")
		r.check(t, digest, err, fails)
	}
}

// TestPullFromMirror checks the order of mirrors, their paths, and that the registry itself is asked only if it may be.
func TestPullFromMirror(t *testing.T) {
	origin, mirror := startRegistry(t, registrytest.Access{}), startRegistry(t, registrytest.Access{Password: true})
	down := freePort(t)
	access := origin.tlsDocument(false) + mirror.tlsDocument(false)
	of := func(rest string) string {
		return "---\napiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: " + origin.Host + "\nendpoints:\n" + rest
	}
	at := func(host, path, rest string) string { return "  - {url: 'https://" + host + path + "'" + rest + "}\n" }

	for _, tt := range []struct {
		name, documents string
		from            *privateRegistry
		fails           string
		// alone is set if the registry itself must not be asked.
		alone bool
	}{
		{
			name: "a path of its own beside one without", from: mirror, alone: true,
			documents: of(at(down, "", "") + at(mirror.Host, registrytest.Elsewhere, ", overridePath: true")),
		},
		{name: "a path before /v2", documents: of(at(mirror.Host, registrytest.Elsewhere, "") + "skipFallback: true\n"), fails: "does not have the image (404", alone: true},
		{name: "the registry itself after its mirrors", documents: of(at(down, "", "")), from: origin},
		{name: "no fallback", documents: of(at(down, "", "") + "skipFallback: true\n"), fails: "connection refused", alone: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := origin.Asked()
			login := mirror.authDocument(rightLogin)

			digest, err := newMachine(t, access+login+tt.documents, "").pull(t, origin.Host+"/test/image:1")
			if tt.from == nil {
				tt.from = mirror
			}

			tt.from.check(t, digest, err, tt.fails)

			if asked := origin.Asked() - before; tt.alone && asked > 0 {
				t.Errorf("the registry itself had %d requests", asked)
			}
		})
	}
}

// TestPullThroughProxy pulls from a registry that only the proxy can reach.
func TestPullThroughProxy(t *testing.T) {
	r := startRegistry(t, registrytest.Access{Password: true, Certificate: true})
	documents := r.named(r.authDocument(rightLogin) + r.tlsDocument(true))

	down := freePort(t)
	proxy, connections := r.startProxy(t, http.StatusOK)
	closed, _ := r.startProxy(t, http.StatusProxyAuthRequired)
	strict, _ := r.startProxy(t, http.StatusForbidden)

	for _, tt := range []struct{ name, proxy, fails string }{
		{name: "the proxy", proxy: proxy},
		{name: "the proxy is down", proxy: "http://" + down, fails: "the proxy does not answer: see EnvironmentConfig"},
		{name: "the proxy wants a login", proxy: closed, fails: "the proxy refuses the connection: see EnvironmentConfig: proxyconnect: 407 Proxy Authentication Required (through the proxy " + closed + ")"},
		{name: "the proxy refuses the registry", proxy: strict, fails: "the proxy refuses the connection: see EnvironmentConfig: proxyconnect: 403 Forbidden (through the proxy " + strict + ")"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("HTTPS_PROXY", tt.proxy)
			t.Setenv("NO_PROXY", "")
			t.Setenv("no_proxy", "")

			digest, err := newMachine(t, documents, "").pull(t, "registry.test:"+r.Port+"/test/image:1")
			r.check(t, digest, err, tt.fails)
		})
	}

	if connections() == 0 {
		t.Error("the proxy had no connection")
	}
}

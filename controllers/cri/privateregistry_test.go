// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"bytes"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/seed-59268b81/talos/pki"
)

const (
	registryUser, registryPassword = "robot", "correct horse"
	refreshToken, accessToken      = "refresh-me", "granted"
	// elsewhere is the path of the registry's API beside /v2.
	elsewhere = "/mirrors/all"
)

// privateRegistry is a real registry on the loopback, behind TLS with an authority of its own.
type privateRegistry struct {
	// port is the port on 127.0.0.1. The certificate is also for registry.test.
	port   string
	ca     *pki.CA
	client pki.Pair // from ca
	image  v1.Image // test/image:1

	mu       sync.Mutex
	requests []string
}

// access is what the registry requires.
type access struct{ password, token, certificate bool }

func (r *privateRegistry) host() string { return "127.0.0.1:" + r.port }

// asked returns how many requests the registry has had.
func (r *privateRegistry) asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()

	return len(r.requests)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}

	return v
}

func startRegistry(t *testing.T, requires access) *privateRegistry {
	t.Helper()

	r := &privateRegistry{ca: must(pki.NewCA(pki.CAOptions{Kind: pki.ECDSAP256, CommonName: "company"}))}
	r.client = must(r.ca.Sign(pki.LeafOptions{CommonName: "machine", Client: true, TTL: time.Hour}))
	r.image = must(random.Image(2048, 2))

	// containerd unpacks images of its own platform only.
	of := must(r.image.ConfigFile()).DeepCopy()
	of.OS, of.Architecture = "linux", runtime.GOARCH
	r.image = must(mutate.ConfigFile(r.image, of))

	serving := must(r.ca.Sign(pki.LeafOptions{
		CommonName: "registry", Server: true, TTL: time.Hour, DNSNames: []string{"registry.test"}, IPs: []netip.Addr{netip.MustParseAddr("127.0.0.1")},
	}))

	open := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	push(t, open, r.image)

	server := httptest.NewUnstartedServer(r.guard(open, requires))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{must(serving.TLS())}}

	if requires.certificate {
		server.TLS.ClientAuth, server.TLS.ClientCAs = tls.RequireAndVerifyClientCert, must(pki.Pool(r.ca.PEM.Crt))
	}

	server.StartTLS()
	t.Cleanup(server.Close)

	_, r.port, _ = net.SplitHostPort(server.Listener.Addr().String())

	return r
}

// guard requires a login, and serves the API below another path too.
func (r *privateRegistry) guard(open http.Handler, requires access) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.requests = append(r.requests, q.Method+" "+q.URL.Path)
		r.mu.Unlock()

		if rest, ok := strings.CutPrefix(q.URL.Path, elsewhere); ok {
			q.URL.Path = "/v2" + rest
		}

		user, password, _ := q.BasicAuth()

		switch {
		case q.URL.Path == "/token":
			grant(w, q)
		case requires.token && q.Header.Get("Authorization") != "Bearer "+accessToken:
			w.Header().Set("WWW-Authenticate", `Bearer realm="https://`+r.host()+`/token",service="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
		case requires.password && (user != registryUser || password != registryPassword):
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			open.ServeHTTP(w, q)
		}
	})
}

// grant is the server of tokens: it wants the refresh token, as an identity token is one.
func grant(w http.ResponseWriter, q *http.Request) {
	if q.PostFormValue("refresh_token") != refreshToken {
		w.WriteHeader(http.StatusUnauthorized)

		return
	}

	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"access_token": "`+accessToken+`", "expires_in": 300}`)
}

// push uploads an image as test/image:1.
func push(t *testing.T, to http.Handler, image v1.Image) {
	t.Helper()

	send := func(method, path, kind string, body []byte) {
		request := httptest.NewRequest(method, "/v2/test/image/"+path, bytes.NewReader(body))
		request.Header.Set("Content-Type", kind)

		recorder := httptest.NewRecorder()
		to.ServeHTTP(recorder, request)

		if recorder.Code != http.StatusCreated {
			t.Fatalf("%s %s: %d %s", method, path, recorder.Code, recorder.Body)
		}
	}

	blob := func(digest v1.Hash, body []byte) {
		send(http.MethodPost, "blobs/uploads/?digest="+digest.String(), "application/octet-stream", body)
	}

	for _, layer := range must(image.Layers()) {
		blob(must(layer.Digest()), must(io.ReadAll(must(layer.Compressed()))))
	}

	blob(must(image.ConfigName()), must(image.RawConfigFile()))
	send(http.MethodPut, "manifests/1", string(must(image.MediaType())), must(image.RawManifest()))
}

// startProxy runs a proxy that connects all hosts to the registry, and returns its URL and the number of its connections.
func startProxy(t *testing.T, to string, status int) (url string, connections func() int) {
	t.Helper()

	var (
		mu    sync.Mutex
		count int
		tasks sync.WaitGroup
	)

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method != http.MethodConnect || status != http.StatusOK {
			w.WriteHeader(status)

			return
		}

		mu.Lock()
		count++
		mu.Unlock()

		back, err := net.Dial("tcp", to)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)

			return
		}

		front, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			back.Close()

			return
		}

		_, _ = io.WriteString(front, "HTTP/1.1 200 OK\r\n\r\n")

		for _, pair := range [][2]net.Conn{{front, back}, {back, front}} {
			tasks.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				pair[0].Close()
			})
		}

		t.Cleanup(func() {
			front.Close()
			back.Close()
		})
	}))

	t.Cleanup(func() {
		server.Close()
		tasks.Wait()
	})

	return server.URL, func() int {
		mu.Lock()
		defer mu.Unlock()

		return count
	}
}

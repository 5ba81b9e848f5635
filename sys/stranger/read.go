// SPDX-License-Identifier: Apache-2.0

//go:build linux

package stranger

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/sys/netstat"
)

const (
	// answerTimeout is that of one request, and greeting the time that a server has to send data first.
	answerTimeout = 3 * time.Second
	greeting      = 300 * time.Millisecond
	// maxAnswer is how many bytes of an answer are read.
	maxAnswer = 4 << 20
)

// paths are the HTTP paths at which programs of a Kubernetes node return something.
var paths = []string{
	"/", "/healthz", "/livez", "/readyz", "/readyz?verbose", "/metrics", "/metrics/cadvisor", "/metrics/resource", "/version", "/configz",
	"/flagz", "/statusz", "/pods", "/runningpods/", "/spec/", "/stats/summary", "/logs/", "/containerLogs/kube-system/x/y",
	"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/heap", "/debug/pprof/goroutine?debug=2", "/debug/vars", "/debug/flags/v",
	"/api", "/apis", "/api/v1/secrets", "/api/v1/namespaces/kube-system/secrets", "/api/v1/pods", "/api/v1/nodes", "/openapi/v2",
	"/.well-known/openid-configuration", "/openid/v1/jwks", "/health", "/health?serializable=true", "/v2/keys", "/v3/kv/range", "/members",
	"/v2/", "/v2/_catalog", "/v2/kubelet/manifests/latest", "/v2/x/blobs/sha256:..%2f..%2fconfig.yaml", "/../../system/state/config.yaml",
	"/proxyMode", "/config.yaml", "/resources", "/kubeconfig",
}

// calls are gRPC methods of the machine's own servers, and of etcd.
var calls = []string{
	"/cosi.resource.State/List", "/cosi.resource.State/Get", "/cosi.resource.State/Watch", "/machine.MachineService/Version",
	"/machine.MachineService/Read", "/machine.MachineService/Kubeconfig", "/resource.ResourceService/List",
	"/securityapi.SecurityService/Certificate", "/etcdserverpb.KV/Range", "/etcdserverpb.Cluster/MemberList", "/etcdserverpb.Maintenance/Snapshot",
	"/etcdserverpb.Maintenance/Status", "/runtime.v1.RuntimeService/ListContainers", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
}

func (task Task) do() (report Report, err error) {
	if report.Ports, err = listening(); err != nil {
		return report, err
	}

	if task.Read {
		for _, port := range report.Ports {
			report.read(port)
		}
	}

	if task.Take {
		for _, port := range report.Ports {
			_ = take(port, func(fd int, how string) bool {
				report.Taken = append(report.Taken, how)

				return false
			})
		}
	}

	if task.Patience > 0 {
		report.impersonate(task.Ports, task.Patience)
	}

	return report, nil
}

// listening returns the ports with a listener that is reachable over the loopback.
func listening() ([]int, error) {
	var out []int

	for _, protocol := range []string{"tcp", "tcp6"} {
		err := netstat.ReadFile(os.DirFS("/proc/self/net"), protocol, func(s netstat.Socket) error {
			if addr := s.Local.Addr().Unmap(); s.State == netstat.Listen && (addr.IsLoopback() || addr.IsUnspecified()) {
				out = append(out, int(s.Local.Port()))
			}

			return nil
		})
		if err != nil && !os.IsNotExist(err) { // there may be no IPv6
			return nil, err
		}
	}

	slices.Sort(out)

	return slices.Compact(out), nil
}

// read requests all that a server may return without authentication.
func (r *Report) read(port int) {
	address := fmt.Sprintf("127.0.0.1:%d", port)

	// Some servers send data first.
	if conn, err := net.DialTimeout("tcp", address, answerTimeout); err == nil {
		_ = conn.SetReadDeadline(time.Now().Add(greeting))
		text, _ := io.ReadAll(conn) // a part counts too
		r.hear(port, "greeting", text, len(text) > 0)

		conn.Close()
	}

	insecure := &tls.Config{InsecureSkipVerify: true} // a stranger trusts every server

	for _, way := range []struct {
		scheme    string
		protocols func(*http.Protocols)
		only      bool
	}{
		{"http", func(p *http.Protocols) { p.SetHTTP1(true) }, false},
		{"https", func(p *http.Protocols) { p.SetHTTP1(true); p.SetHTTP2(true) }, false},
		{"http", func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) }, true},
	} {
		protocols := new(http.Protocols)
		way.protocols(protocols)

		client := &http.Client{
			Timeout:       answerTimeout,
			Transport:     &http.Transport{TLSClientConfig: insecure, Protocols: protocols, MaxIdleConns: 1},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}

		for _, path := range paths {
			if way.only || !r.ask(client, port, way.scheme, http.MethodGet, path) {
				break
			}
		}

		for _, call := range calls {
			if !r.ask(client, port, way.scheme, http.MethodPost, call) {
				break
			}
		}

		client.CloseIdleConnections()
	}
}

// ask records the answer to one request, and reports whether there was one.
func (r *Report) ask(client *http.Client, port int, scheme, method, path string) bool {
	what := fmt.Sprintf("%s %s://%s", method, scheme, path)

	var body io.Reader
	if method == http.MethodPost {
		body = bytes.NewReader(make([]byte, 5)) // an empty message
	}

	request, err := http.NewRequestWithContext(context.Background(), method, fmt.Sprintf("%s://127.0.0.1:%d%s", scheme, port, path), body)
	if err != nil {
		return true // the path is not valid
	}

	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/grpc")
		request.Header.Set("TE", "trailers")
	}

	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()

	text, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer)) // a part counts too

	success := response.StatusCode == http.StatusOK
	if method == http.MethodPost {
		status := response.Trailer.Get("Grpc-Status") + response.Header.Get("Grpc-Status")
		success = success && (status == "0" || status == "" && len(text) > 0)
	}

	for name, values := range response.Header {
		text = append(text, fmt.Sprintf("\n%s: %q", name, values)...)
	}

	r.hear(port, what, text, success)

	return true
}

func (r *Report) hear(port int, what string, text []byte, success bool) {
	r.Heard = append(append(r.Heard, text...), '\n')

	if success {
		r.Answers = append(r.Answers, Answer{Port: port, What: what, Length: len(text)})
	}
}

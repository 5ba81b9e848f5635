// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/resources/k8s"
)

// TestPullFaults checks that the step at which a pull fails is named, for the machine's own pulls and for those of containerd. The texts are those
// of TestPull in controllers/cri, and of containerd.
func TestPullFaults(t *testing.T) {
	const cache = "127.0.0.1:3172: does not have the image (404 Not Found); "

	for _, tt := range []struct{ name, text, says, try string }{
		{
			"a wrong login", cache + "r.example: authentication failed: it refuses the credentials of RegistryAuthConfig (401 Unauthorized): r.example/a:1: not found",
			"the registry refuses the login", "RegistryAuthConfig",
		},
		{
			"a rule", `pull r.example/a:1: failed to resolve reference "r.example/a:1": the image is refused: r.example/a:1 (sha256:00): it is not signed, which rules[0] asks for`,
			"the rules about images refuse it", "ImageVerificationConfig",
		},
		{
			"a wrong login, containerd", `resolve reference "r.example/a:1": unexpected status from HEAD request to https://r.example/v2/a/manifests/1: 401 Unauthorized`,
			"the registry refuses the login", "RegistryAuthConfig",
		},
		{
			"an authority, containerd", `do request: Head "https://r.example/v2/a/manifests/1": x509: certificate signed by unknown authority`,
			"from an authority that the machine does not trust", "TrustedRootsConfig",
		},
		{
			"another name, containerd", `do request: Head "https://r.example/v2/a/manifests/1": tls: failed to verify certificate: x509: certificate is valid for a.example, not r.example`,
			"has expired, or is not for this name", "for the name in the URL",
		},
		{
			"a certificate", cache + "r.example: it refuses the machine's certificate, or the lack of one: see clientIdentity in RegistryTLSConfig: remote error: tls: certificate required",
			"wants another certificate of the machine", "clientIdentity",
		},
		{
			"the proxy", cache + "r.example: the proxy does not answer: see EnvironmentConfig: proxyconnect tcp: dial tcp 192.0.2.1:3128: connect: connection refused",
			"the proxy does not answer", "EnvironmentConfig",
		},
		{
			"a proxy that refuses", cache + "r.example: the proxy refuses the connection: see EnvironmentConfig: proxyconnect: 403 Forbidden",
			"the proxy does not let it through", "EnvironmentConfig",
		},
		{"another reason", "r.example/a:1: not found", "", "correct the image"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &Facts{Services: []Service{{ID: "kubelet", State: "Preparing", Messages: []string{
				"Starting service", "Failed, starting again in 5s: container kubelet: pull image r.example/a:1: " + tt.text,
			}}}}

			finding := serviceRule(f, Symptom{Kind: ServiceOf, ID: "kubelet"})
			if finding == nil || !strings.HasPrefix(finding.Says, "the image of service kubelet cannot be pulled: r.example/a:1") {
				t.Fatalf("got %+v", finding)
			}

			if _, reason, _ := strings.Cut(finding.Says, "r.example/a:1"); !strings.Contains(reason, tt.says) || tt.says == "" && reason != "" {
				t.Errorf("says: got %q, want %q", reason, tt.says)
			}

			if !strings.Contains(finding.Try, tt.try) {
				t.Errorf("try: got %q, want %q", finding.Try, tt.try)
			}
		})
	}
}

// TestPullFaultOfPod checks that the reason is found in containerd's log if the kubelet says only that the image is not found.
func TestPullFaultOfPod(t *testing.T) {
	const (
		image = "r.example/a/b:1"
		line  = `level=info msg="trying next host" error="do request: Head \"https://r.example/v2/a/b/manifests/1\": proxyconnect tcp: dial tcp 192.0.2.1:3128: connect: connection refused"`
	)

	for name, tt := range map[string]struct{ message, log, says string }{
		"in the log":            {"r.example/a/b:1: not found", line, "the proxy does not answer"},
		"of another image":      {"r.example/a/b:1: not found", strings.Replace(line, "a/b", "a/c", 1), ""},
		"the message names one": {"unexpected status: 403 Forbidden", line, "the registry refuses the login"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &Facts{Services: []Service{{ID: "cri", State: "Running", Log: []string{tt.log, "another line"}}}}
			c := containerStatus{Image: image, State: containerState{Waiting: &stateReason{Reason: "ErrImagePull", Message: tt.message}}}
			finding := &Finding{}

			if !f.podContainer(finding, Resource{}, c) {
				t.Fatal("the image is not the cause")
			}

			if _, reason, _ := strings.Cut(finding.Says, image); reason != strings.TrimSuffix(": "+tt.says, ": ") {
				t.Errorf("got %q, want %q", reason, tt.says)
			}
		})
	}
}

// TestImagesOfPods checks that images that containerd could not pull for pods, as its log says, are causes on a machine that is ready, and on one
// whose Node is not ready.
func TestImagesOfPods(t *testing.T) {
	const (
		image  = "r.example/a/b:1"
		failed = `time="2026-11-21T09:30:00.123456789Z" level=error msg="PullImage \"r.example/a/b:1\" failed" error="rpc error: code = Unknown desc = ` +
			`failed to pull and unpack image \"r.example/a/b:1\": failed to resolve reference \"r.example/a/b:1\": `
		login  = failed + `unexpected status from HEAD request to https://r.example/v2/a/b/manifests/1: 401 Unauthorized"`
		proxy  = failed + `failed to do request: Head \"https://r.example/v2/a/b/manifests/1\": Forbidden"`
		absent = failed + `r.example/a/b:1: not found"`
		next   = `time="2026-11-21T09:29:59.9Z" level=info msg="trying next host" error="failed to do request: Head \"https://r.example/v2/a/b/manifests/1\": ` +
			`tls: failed to verify certificate: x509: certificate signed by unknown authority" host=r.example`
		pulled = `time="2026-11-21T09:31:00Z" level=info msg="PullImage \"r.example/a/b:1\" returns image reference \"sha256:1\""`
	)

	at := time.Date(2026, 11, 21, 9, 32, 0, 0, time.UTC)

	for _, tt := range []struct {
		name string
		log  []string
		now  time.Time
		says string // empty if nothing is wrong
	}{
		{"a wrong login", []string{login}, at, image + ": the registry refuses the login"},
		{"a proxy that refuses", []string{proxy}, at, image + ": the proxy does not let it through"},
		{"an authority, in another line", []string{next, absent}, at, image + ": the registry's certificate is from an authority"},
		{"no such image", []string{absent}, at, image},
		{"pulled since", []string{login, pulled}, at, ""},
		{"failed again", []string{pulled, login}, at, image + ": the registry refuses the login"},
		{"long ago", []string{login}, at.Add(time.Hour), ""},
		{"other lines", []string{"", "msg=", `msg="PullImage \"`, `msg="PullImage" error=x`}, at, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := facts(t, "healthy")
			f.Now = tt.now
			f.service(runtimeService).Log = tt.log

			step := Explain(f, Symptom{Kind: Machine})
			if tt.says == "" {
				if step != nil {
					t.Errorf("got %+v, want nothing", step.Roots())
				}

				return
			}

			if step == nil {
				t.Fatal("got nothing")
			}

			chains := step.Roots()
			root := chains[0][len(chains[0])-1]

			if want := "the image of a pod cannot be pulled: " + tt.says; !strings.HasPrefix(root.Says, want) || !strings.Contains(strings.Join(root.Evidence, "\n"), "log of cri: ") {
				t.Errorf("got %q with %q, want %q", root.Says, root.Evidence, want)
			}

			// So is a Node that is not ready, where the network waits for the image of a CNI.
			for i, r := range f.Resources {
				if r.Type == typeOf[k8s.NodeStatusSpec]() {
					f.Resources[i].Spec = strings.ReplaceAll(r.Spec, "nodeReady: true", "nodeReady: false")

					node := Explain(f, Symptom{Kind: InstanceOf, Type: r.Type, Namespace: r.Namespace, ID: r.ID})
					if node == nil || len(node.Causes) != 1 || node.Causes[0].Kind != ImageOf {
						t.Errorf("the Node: got %+v", node)
					}
				}
			}
		})
	}
}

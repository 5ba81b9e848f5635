// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/test/cluster"
	"github.com/seed-59268b81/talos/test/registrytest"
)

const (
	// toolsImage has the programs talosctl and cloudManager in its root folder. There is no registry of its name: a mirror has the image.
	toolsImage   = "private.e2e.test/e2e/tools:1"
	cloudManager = "cloud-controller-manager"
	proxyPort    = 3128
)

// privateImage configures the machine, by documents, for a private registry that only a proxy reaches, and that has its certificate from an
// authority of its own. Each step that is wrong is named, until a pod runs the image. The proxy is at an address of the worker.
func privateImage(t *testing.T, l *cluster.UserLab, u *user) {
	machines := l.Open()
	worker := machines.Node(1)
	proxy := netip.AddrPortFrom(worker.Addr, proxyPort)

	listenIn(t, worker, proxy).Close() // without root the test is skipped here

	r := registrytest.Start(t, registrytest.Access{Password: true})
	r.Push(t, "e2e/tools", registrytest.Programs(t, l.Program, hosttest.Built(t, cloudManager)))

	host := registrytest.Name + ":" + r.Port // a name that no DNS server knows
	login := func(password string) string {
		return document("RegistryAuthConfig", "name: "+host+"\nusername: "+registrytest.User+"\npassword: "+password)
	}

	u.patch(t,
		document("EnvironmentConfig", "variables:\n  https_proxy: http://"+proxy.String()+
			"\n  no_proxy: 10.96.0.0/12,10.244.0.0/16,"+machines.State().World.Networks[0].Subnet4.String()),
		document("RegistryMirrorConfig", "name: private.e2e.test\nendpoints: [{url: 'https://"+host+"'}]\nskipFallback: true"),
		login("wrong"))

	node := nodeAt(t, l, u.node())

	// The kubelet pulls the image of a new pod at once, and that of an old one later and later.
	fails := func(step, says string) {
		t.Helper()

		pod := "fails-" + step
		apply(t, l, podOn(node, pod, toolsImage, "/talosctl", "version", "--client"))
		u.comesToShow(t, `(?m)^root cause: the image of a pod cannot be pulled: `+regexp.QuoteMeta(toolsImage)+`: `+says+`$`, "explain")
		remove(t, l, pod)
	}

	fails("without-the-proxy", `the proxy does not answer`)

	connections := r.Proxy(t, listenIn(t, worker, proxy), http.StatusOK)

	fails("at-the-certificate", `the registry's certificate is from an authority that the machine does not trust`)

	u.patch(t, document("RegistryTLSConfig", "name: "+host+"\nca: |\n  "+strings.ReplaceAll(strings.TrimSpace(string(r.CA.PEM.Crt)), "\n", "\n  ")))

	fails("at-the-login", `the registry refuses the login`)

	u.patch(t, login(registrytest.Password))
	apply(t, l, podOn(node, "pulled", toolsImage, "/talosctl", "version", "--client"))

	if out := finished(t, l, "pulled"); !strings.Contains(out, "Tag:") {
		t.Errorf("the pod with the image: got\n%s\nwant the version of talosctl", out)
	}

	u.comesNotToShow(t, `cannot be pulled`, "explain")
	remove(t, l, "pulled")

	if connections() == 0 || r.Asked() == 0 {
		t.Errorf("the proxy made %d connections, the registry had %d requests, want some", connections(), r.Asked())
	}
}

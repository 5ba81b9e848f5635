// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/test/cluster"
)

// The machines know this name; the lab's DNS server does not.
const (
	knownName = "known.e2e.test"
	knownAddr = "192.0.2.77"
)

// document returns the text of a document with fields.
func document(kind, fields string) string {
	return "apiVersion: v1alpha1\nkind: " + kind + "\n" + strings.TrimSuffix(fields, "\n") + "\n"
}

// removed returns the text of a patch that removes a document.
func removed(kind, name string) string {
	fields := "$patch: delete"
	if name != "" {
		fields = "name: " + name + "\n" + fields
	}

	return document(kind, fields)
}

// patch patches the machine's configuration with documents.
func (u *user) patch(t *testing.T, documents ...string) {
	t.Helper()
	u.talosctl(t, "patch machineconfig --patch", strings.Join(documents, "---\n"))
}

// TestDocuments creates a cluster of containers with a configuration as clients at 1.14 generate it: documents for nearly everything.
// Then a user adds, changes and removes documents.
func TestDocuments(t *testing.T) {
	l := cluster.NewUserLab(t, "e2e-documents")

	// It waits until all nodes are Ready and the cluster is healthy.
	l.Create(10*time.Minute, "cluster", "create", "container", "--workers", "1", "--talos-version", "v1.14",
		"--config-patch", document("StaticHostConfig", "name: "+knownAddr+"\nhostnames: ["+knownName+"]"))

	u := newUser(t, l)

	t.Run("the configuration is that of 1.14", func(t *testing.T) { newContract(t, l, u) })
	t.Run("a dry run changes nothing", func(t *testing.T) { dryRun(t, u) })
	t.Run("of two editors the second is refused", func(t *testing.T) { twoEditors(t, u) })
	t.Run("names are resolved through the machine", func(t *testing.T) { names(t, l, u) })
	t.Run("files and names", func(t *testing.T) { filesAndNames(t, u) })
	t.Run("a probe", func(t *testing.T) { probe(t, l, u) })
	t.Run("links", func(t *testing.T) { virtualLinks(t, u) })
	t.Run("a manifest", func(t *testing.T) { inlineManifest(t, l, u) })
	t.Run("a static pod", func(t *testing.T) { staticPod(t, l, u) })
	t.Run("the firewall", func(t *testing.T) { firewall(t, l, u) })

	pulled := false

	t.Run("an image of a private registry", func(t *testing.T) {
		privateImage(t, l, u)

		pulled = true
	})

	// The pods of these tests have that image.
	if pulled {
		t.Run("a pod calls the API of the machine", func(t *testing.T) { podAccess(t, l, u) })
		t.Run("a cloud provider", func(t *testing.T) { cloudProvider(t, l, u) })
	}

	t.Run("environment variables", func(t *testing.T) { environment(t, l, u) }) // it restarts containerd and the kubelet
	t.Run("another CNI", func(t *testing.T) { otherCNI(t, l, u) })
}

// newContract checks that what older contracts have in the v1alpha1 document is in documents, and that a worker joined with them.
func newContract(t *testing.T, l *cluster.UserLab, u *user) {
	text := u.talosctl(t, "get machineconfig v1alpha1 -o yaml")

	for _, kind := range []string{"KubeClusterConfig", "KubeAPIServerCAConfig", "KubeletConfig", "ResolverConfig", "HostnameConfig"} {
		if !strings.Contains(text, "kind: "+kind+"\n") {
			t.Errorf("the configuration has no document %s", kind)
		}
	}

	ready, err := kubectl(t.Context(), l, "", "get", "nodes", "-o", `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`)
	if err != nil || ready != "True True" {
		t.Errorf("nodes that are Ready: got %q, %v, want two", ready, err)
	}
}

// pausePod returns a pod for a KubeStaticPodConfig.
func pausePod(label string) string {
	return document("KubeStaticPodConfig", `name: documents
pod:
  apiVersion: v1
  kind: Pod
  metadata: {name: documents, namespace: kube-system, labels: {app: documents, is: `+label+`}}
  spec:
    terminationGracePeriodSeconds: 1
    containers: [{name: pause, image: `+images.DefaultAgnhost+`, args: [pause]}]
`)
}

func dryRun(t *testing.T, u *user) {
	const active, stored = "get machineconfig v1alpha1 -o yaml", "get machineconfig persistent -o yaml"

	before := []string{u.talosctl(t, active), u.talosctl(t, stored)}

	u.shows(t, `(?s)Dry run summary:\n.*\n\+kind: KubeStaticPodConfig\n.*\n\+kind: NetworkRuleConfig\n.*`+
		`\nThe change:\n- starts the static pod kube-system-documents\n- needs no reboot\n`,
		"patch machineconfig --dry-run --patch", pausePod("first")+"---\n"+opened("any", "tcp", "1", "192.0.2.0/24"))
	u.shows(t, `(?s)Dry run summary:\n.*\nThe change:\n- restarts the kubelet\n- needs no reboot\n`,
		"patch machineconfig --dry-run --patch", document("KubeletConfig", "config: {maxPods: 200}"))

	if diff := cmp.Diff(before, []string{u.talosctl(t, active), u.talosctl(t, stored)}); diff != "" {
		t.Errorf("after a dry run the configurations are others (-before +after):\n%s", diff)
	}
}

// editor is what the first of two people does in an editor, while the second patches the same configuration.
const editor = `set -e
"$TALOSCTL" patch machineconfig --patch "$SECOND"
printf -- '---\n%s' "$FIRST" >> "$1"
`

func twoEditors(t *testing.T, u *user) {
	first := document("StaticHostConfig", "name: 192.0.2.81\nhostnames: [first.e2e.test]")
	second := document("StaticHostConfig", "name: 192.0.2.82\nhostnames: [second.e2e.test]")

	u.write(t, "editor.sh", []byte(editor))

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	cmd := u.command(ctx, "edit machineconfig")
	// A refused configuration is kept, in the folder of the test.
	cmd.Env = append(cmd.Env, "TALOS_EDITOR=", "EDITOR=sh editor.sh", "TALOSCTL="+cmd.Path, "FIRST="+first, "SECOND="+second, "TMPDIR="+u.dir)

	out, err := cmd.CombinedOutput()
	if want := "the configuration has changed since it was read, and the change would undo that"; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("the editor that saved last: got %v\n%s\nwant a failure with %q", err, out, want)
	}

	kept, err := filepath.Glob(filepath.Join(u.dir, "talosctl-edit-*", "machineconfig.yaml"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("the files of the refused editor: got %q, %v, want one", kept, err)
	}

	if text, err := os.ReadFile(kept[0]); err != nil || !strings.Contains(string(text), first) {
		t.Errorf("the file of the refused editor has no %s (%v)", first, err)
	}

	text := u.talosctl(t, "get machineconfig v1alpha1 -o yaml")
	if !strings.Contains(text, "second.e2e.test") || strings.Contains(text, "first.e2e.test") {
		t.Errorf("got\n%s\nwant the patch of the second person only", text)
	}

	u.patch(t, removed("StaticHostConfig", "192.0.2.82"))
}

func filesAndNames(t *testing.T, u *user) {
	const file = "e2e.conf"

	for _, contents := range []string{"one", "two"} {
		u.patch(t, document("EtcFileConfig", "name: "+file+"\ncontents: "+contents), document("StaticHostConfig", "name: 192.0.2.83\nhostnames: ["+contents+".e2e.test]"))
		u.comesToShow(t, `^`+contents+`$`, "read /etc/"+file)
		u.comesToShow(t, `(?m)^192\.0\.2\.83\s+.*\b`+contents+`\.e2e\.test\b`, "read /etc/hosts")
		u.comesToShow(t, `(?m)^@ +network +StaticHost +`+contents+`\.e2e\.test +\d+ .*192\.0\.2\.83`, "get statichosts")
	}

	u.patch(t, removed("EtcFileConfig", file), removed("StaticHostConfig", "192.0.2.83"))
	u.comesNotToShow(t, file, "list /etc")
	u.comesNotToShow(t, `192\.0\.2\.83`, "read /etc/hosts")
}

func probe(t *testing.T, l *cluster.UserLab, u *user) {
	worker := l.Open().Node(1).Addr.String()
	endpoint := func(port string) string {
		return document("TCPProbeConfig", fmt.Sprintf("name: worker\nendpoint: %s:%s", worker, port))
	}

	u.patch(t, endpoint("9"))
	u.comesToShow(t, `(?m)^@ +network +ProbeStatus +tcp:`+worker+`:9 +\d+ +false +.*connection refused`, "get probes")
	u.comesToShow(t, `(?m)^    connectivityReady: false$`, "get networkstatus -o yaml")

	u.patch(t, endpoint("50000"))
	u.comesToShow(t, `(?m)^@ +network +ProbeStatus +tcp:`+worker+`:50000 +\d+ +true\s*$`, "get probes")

	u.patch(t, removed("TCPProbeConfig", "worker"))
	u.comesNotToShow(t, `tcp:`, "get probes")
}

// virtualLinks makes links that the kernel of every container has. The first document about a link ends DHCP on cards without a document.
func virtualLinks(t *testing.T, u *user) {
	defer u.worksMeanwhile(t)()

	const links = "get links"

	u.patch(t,
		document("DHCPv4Config", "name: eth0"),
		document("VethConfig", "name: e2e-a\naddresses: [{address: 192.0.2.17/30}]\npeer: {name: e2e-b, mtu: 1400}"),
		document("BridgeConfig", "name: e2e-br\nlinks: [e2e-b]\naddresses: [{address: 192.0.2.18/30}]"))

	for _, link := range []string{`e2e-a +\d+ +.*ether +veth`, `e2e-b +\d+ +.*ether +veth`, `e2e-br +\d+ +.*ether +bridge`} {
		u.comesToShow(t, `(?m)^@ +network +LinkStatus +`+link+` +\S+ +up +true$`, links)
	}

	for _, address := range []string{`e2e-a/192\.0\.2\.17/30`, `e2e-br/192\.0\.2\.18/30`, `eth0/@/24`} {
		u.comesToShow(t, `(?m)^@ +network +AddressStatus +`+address+` `, "get addresses")
	}

	u.comesToShow(t, `(?m)^    mtu: 1400$`, "get links e2e-b -o yaml")

	u.patch(t, removed("VethConfig", "e2e-a"), removed("BridgeConfig", "e2e-br"), removed("DHCPv4Config", "eth0"))
	u.comesNotToShow(t, `e2e-`, links)
	u.comesToShow(t, `(?m)^@ +network +AddressStatus +eth0/@/24 `, "get addresses")
}

func inlineManifest(t *testing.T, l *cluster.UserLab, u *user) {
	manifest := func(objects string) string {
		return document("KubeInlineManifestConfig", "name: e2e\nmanifest: |\n  "+strings.ReplaceAll(objects, "\n", "\n  "))
	}

	object := func(name, value string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: default, labels: {from: e2e}}\ndata: {key: " + value + "}\n"
	}

	want := func(want string) {
		t.Helper()
		until(t, time.Minute, "the cluster has the objects "+want, func() error {
			got, err := kubectl(t.Context(), l, "", "get", "configmaps", "-n", "default", "-l", "from=e2e", "-o",
				`jsonpath={range .items[*]}{.metadata.name}={.data.key} {end}`)
			if err == nil && strings.TrimSpace(got) != want {
				err = fmt.Errorf("there are %q", got)
			}

			return err
		})
	}

	u.patch(t, manifest(object("one", "first")+"---\n"+object("two", "first")))
	want("one=first two=first")

	u.patch(t, manifest(object("one", "second")+"---\n"+object("three", "second")))
	want("one=second three=second")

	u.patch(t, removed("KubeInlineManifestConfig", "e2e"))
	want("")
}

func staticPod(t *testing.T, l *cluster.UserLab, u *user) {
	want := func(want string) {
		t.Helper()
		until(t, 2*time.Minute, "the pod is "+want, func() error {
			got, err := kubectl(t.Context(), l, "", "get", "pods", "-n", "kube-system", "-l", "app=documents", "-o",
				`jsonpath={range .items[*]}{.metadata.labels.is} {.status.conditions[?(@.type=="Ready")].status}{end}`)
			if err == nil && got != want {
				err = fmt.Errorf("it is %q", got)
			}

			return err
		})
	}

	for _, label := range []string{"first", "second"} {
		u.patch(t, pausePod(label))
		want(label + " True")
	}

	u.patch(t, removed("KubeStaticPodConfig", "documents"))
	want("")
}

// environment checks that the kubelet has the variables of the configuration.
func environment(t *testing.T, l *cluster.UserLab, u *user) {
	kubelet := func(want bool) {
		t.Helper()
		eventually(t, fmt.Sprintf("the kubelet has the variable: %t", want), func() (string, bool) {
			processes, err := u.try(t, "processes")
			if err != nil {
				return processes, false
			}

			found := u.pattern(`(?m)^@ +(\d+) .* \S*/kubelet `).FindStringSubmatch(processes)
			if found == nil {
				return processes, false
			}

			variables, err := u.try(t, "read /proc/"+found[1]+"/environ")

			return variables, err == nil && strings.Contains(variables, "E2E=set by a document\x00") == want
		})
	}

	u.patch(t, document("EnvironmentConfig", "variables: {E2E: set by a document}"))
	u.comesToShow(t, `E2E=set by a document`, "get environment")
	kubelet(true)

	u.patch(t, removed("EnvironmentConfig", ""))
	u.comesNotToShow(t, `E2E=`, "get environment")
	kubelet(false)

	until(t, 2*time.Minute, "the node is Ready again", func() error {
		ready, err := kubectl(t.Context(), l, "", "get", "nodes", "-o",
			`jsonpath={range .items[*]}{.status.addresses[?(@.type=="InternalIP")].address} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}`)
		if err == nil && !strings.Contains(ready, u.node()+" True\n") {
			err = fmt.Errorf("the nodes are %q", ready)
		}

		return err
	})
}

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/secrets"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/test/cluster"
)

// task is a command with an effect on the machine or in a file.
type task struct {
	// name is its name in docs/api.md.
	name string
	// calls are its RPCs, of machine.MachineService unless another service is named.
	calls string
	do    func(t *testing.T, s *session)
}

// fileTasks write a file.
var fileTasks = []task{
	{name: "copy", calls: "Copy", do: func(t *testing.T, s *session) {
		s.talosctl(t, "copy /usr/lib/os-release copied")

		want := s.talosctl(t, "read /usr/lib/os-release")
		if got := onlyFile(t, filepath.Join(s.dir, "copied")); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}},
	{name: "kubeconfig", calls: "Kubeconfig", do: func(t *testing.T, s *session) {
		s.talosctl(t, "kubeconfig fetched.yaml")

		config, err := kubeconfig.Read(filepath.Join(s.dir, "fetched.yaml"))
		if err != nil {
			t.Fatal(err)
		}

		if want := "https://" + s.node() + ":6443"; len(config.Clusters) != 1 {
			t.Errorf("got %d clusters, want one", len(config.Clusters))
		} else {
			for _, e := range config.Clusters {
				if e.Cluster.Server != want {
					t.Errorf("cluster %s is at %s, want %s", e.Name, e.Cluster.Server, want)
				}
			}
		}
	}},
	{name: "pcap", calls: "PacketCapture", do: func(t *testing.T, s *session) {
		// etcd and the API server always send packets.
		s.talosctl(t, "pcap --interface lo --duration 2s --output lo.pcap")

		got := s.read(t, "lo.pcap")
		if len(got) <= 24 || !bytes.HasPrefix(got, []byte("\xd4\xc3\xb2\xa1")) && !bytes.HasPrefix(got, []byte("\x4d\x3c\xb2\xa1")) {
			t.Errorf("got %d bytes that begin with %x, want a capture with packets", len(got), got[:min(len(got), 24)])
		}
	}},
	{name: "etcd snapshot", calls: "EtcdSnapshot", do: func(t *testing.T, s *session) {
		s.talosctl(t, "etcd snapshot db.snapshot")

		got := s.read(t, "db.snapshot")
		if len(got) < 1<<20 || len(got)%512 != sha256.Size {
			t.Fatalf("got %d bytes, want a database and its checksum", len(got))
		}

		content, sum := got[:len(got)-sha256.Size], got[len(got)-sha256.Size:]
		if want := sha256.Sum256(content); !bytes.Equal(sum, want[:]) {
			t.Errorf("the checksum is %x, want %x", sum, want)
		}
	}},
	{name: "support", calls: "Version Dmesg Events Logs Mounts Processes Memory Containers Netstat", do: supportBundle},
	{name: "logs of a pod", calls: "Logs Containers", do: func(t *testing.T, s *session) {
		// The API server logs its port.
		s.shows(t, `(?m)^@: .*6443`, "logs --kubernetes --tail -1", s.container(t, "kube-system", "k8s-app=kube-apiserver"))
	}},
	{name: "image k8s-bundle", calls: "machine.ImageService/List", do: func(t *testing.T, s *session) {
		there := s.talosctl(t, "image list --namespace cri") + s.talosctl(t, "image list --namespace system")

		for _, image := range strings.Fields(s.talosctl(t, "image k8s-bundle")) {
			if !strings.Contains(there, image+" ") {
				t.Errorf("the node does not have %s, only\n%s", image, there)
			}
		}
	}},
	{name: "image pull", calls: "machine.ImageService/Pull machine.ImageService/List machine.ImageService/Remove", do: func(t *testing.T, s *session) {
		s.shows(t, `(?m)^@: `+images.DefaultPause+`$`, "image pull --namespace system", images.DefaultPause)
		s.shows(t, images.DefaultPause, "image list --namespace system")
		s.talosctl(t, "image remove --namespace system", images.DefaultPause)

		if got := s.talosctl(t, "image list --namespace system"); strings.Contains(got, images.DefaultPause) {
			t.Errorf("the image was removed and is still there:\n%s", got)
		}
	}},
	{name: "image verify", calls: "machine.ImageService/Verify", do: func(t *testing.T, s *session) {
		// The lab's machines have no rules about images. The image cache knows the digest.
		repository, _, _ := strings.Cut(images.DefaultPause, ":")
		s.shows(t, `(?m)^@ +false +`+repository+`.sha256:[0-9a-f]{64} +no rule of ImageVerificationConfig matches`, "image verify", images.DefaultPause)
	}},
	{name: "debug", calls: "machine.DebugService/ContainerRun machine.ImageService/Pull", do: func(t *testing.T, s *session) {
		// It pulls the image, and removes the container before it ends. An emulated machine takes half a minute for each.
		ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
		defer cancel()

		cmd := s.command(ctx, "debug --env WHERE=here --args sh", images.DefaultAgnhost)
		cmd.Stdin = strings.NewReader("readlink /proc/1/exe; cat /host/usr/lib/os-release; echo $WHERE; seq 1 30000; exit 3\n")

		out, err := cmd.CombinedOutput()
		if want := `(?s)^/usr/sbin/init\n.*ID=talos\n.*\nhere\n1\n2\n.*\n29999\n30000\n.*exit status 3`; err == nil || !s.pattern(want).Match(out) {
			t.Errorf("got %v\n%s … %s\nwant a failure with a match of %s", err, out[:min(len(out), 300)], out[max(0, len(out)-300):], want)
		}

		s.refused(t, `(?s)can't change hostname|Operation not permitted`, "debug --host-namespaces --args hostname --args x", images.DefaultAgnhost)

		if got := s.talosctl(t, "containers"); strings.Contains(got, images.DefaultAgnhost) {
			t.Errorf("the containers have ended and are still there:\n%s", got)
		}

		s.talosctl(t, "image remove --namespace system", images.DefaultAgnhost)
	}},
	{name: "image import", calls: "machine.ImageService/Import machine.ImageService/Remove", do: func(t *testing.T, s *session) {
		tag, err := name.NewTag("example.org/e2e/imported:v1")
		if err != nil {
			t.Fatal(err)
		}

		if err := tarball.WriteToFile(filepath.Join(s.dir, "image.tar"), tag, randomImage(t)); err != nil {
			t.Fatal(err)
		}

		s.shows(t, `(?m)^@: `+tag.Name()+`$`, "image import --namespace system image.tar")
		s.shows(t, tag.Name(), "image list --namespace system")
		s.talosctl(t, "image remove --namespace system", tag.Name())
	}},
	{name: "dashboard", calls: "SystemStat Memory Processes ServiceList Logs", do: dashboard},
	{name: "cluster show", do: func(t *testing.T, s *session) {
		disk := "10 GiB"
		if s.Contained() {
			disk = "-"
		}

		s.shows(t, `(?m)^`+s.Node.Name+` +controlplane +`+string(s.Node.As())+` +@ +2 +4\.0 GiB +`+disk+` +on +`, "cluster show", s.lab()...)
	}},
	{name: "cluster logs", do: func(t *testing.T, s *session) {
		s.shows(t, s.firstLine(), "cluster logs", s.lab()...)
	}},
}

// firstLine is a pattern of machined's first log line.
func (s *session) firstLine() string {
	if s.Contained() {
		return `starting version=v`
	}

	return `Linux version 6\.`
}

// lab returns the flags with which talosctl cluster finds the machine.
func (s *session) lab() []string {
	dir := s.Lab.State().Dir

	return []string{"--state", filepath.Dir(dir), "--name", filepath.Base(dir)}
}

func (u *user) read(t *testing.T, name string) []byte {
	t.Helper()

	content, err := os.ReadFile(filepath.Join(u.dir, name))
	if err != nil {
		t.Fatal(err)
	}

	return content
}

func (u *user) write(t *testing.T, name string, content []byte) {
	t.Helper()

	if err := os.WriteFile(filepath.Join(u.dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// onlyFile returns the content of the only file below a folder.
func onlyFile(t *testing.T, dir string) string {
	t.Helper()

	var contents []string

	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}

		content, err := os.ReadFile(path)
		contents = append(contents, string(content))

		return err
	})
	if err != nil || len(contents) != 1 {
		t.Fatalf("got the files %q, %v, want one", contents, err)
	}

	return contents[0]
}

// container returns the id of the running container of the pod that a label selects. A container of an earlier boot may
// still be listed.
func (s *session) container(t *testing.T, namespace, selector string) string {
	t.Helper()

	var pods []cluster.Pod

	// The API server of an emulated machine that is busy takes more than kubectl's timeout now and then.
	until(t, 2*patience, "there is one pod of "+selector, func() (err error) {
		if pods, err = s.Pods(t.Context(), namespace, selector); err == nil && len(pods) != 1 {
			err = fmt.Errorf("there are %+v", pods)
		}

		return err
	})

	prefix := namespace + "/" + pods[0].Metadata.Name + ":"

	out := s.talosctl(t, "containers --kubernetes")

	for line := range strings.Lines(out) {
		for word := range strings.FieldsSeq(line) {
			if strings.HasPrefix(word, prefix) && strings.Contains(line, "CONTAINER_RUNNING") {
				return word
			}
		}
	}

	t.Fatalf("no container %s runs in\n%s", prefix, out)

	return ""
}

func randomImage(t *testing.T) v1.Image {
	t.Helper()

	image, err := random.Image(64<<10, 1)
	if err != nil {
		t.Fatal(err)
	}

	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}

	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"

	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}

	return image
}

// supportBundle checks that a support bundle is complete and holds no secret.
func supportBundle(t *testing.T, s *session) {
	s.talosctl(t, "support --output bundle.zip")

	bundle, err := zip.OpenReader(filepath.Join(s.dir, "bundle.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer bundle.Close()

	missing := map[string]string{
		"version.txt": "Tag:", "dmesg.log": "starting version=v", "services.txt": "kubelet", "processes.txt": "apid", "mounts.txt": "/var",
		"sockets.txt": ":50000", "etcd-members.txt": ":2380", "logs/system/etcd.log": "level",
		"resources/addressstatuses.net.talos.dev.yaml": s.node(),
	}

	attempts := 0 // of containers before the machine restarted

	for _, file := range bundle.File {
		r, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}

		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}

		path := strings.TrimPrefix(file.Name, s.node()+"/")
		if want, ok := missing[path]; ok && bytes.Contains(content, []byte(want)) {
			delete(missing, path)
		}

		if strings.HasPrefix(path, "logs/k8s.io/attempts/kube-system_kube-apiserver-") && len(content) > 0 {
			attempts++
		}

		if path == "errors.txt" {
			t.Errorf("errors in the bundle:\n%s", content)
		}

		for name, value := range secretsOf(t, s.Generated.Secrets) {
			if bytes.Contains(content, []byte(value)) {
				t.Errorf("%s holds %s", path, name)
			}
		}
	}

	if len(missing) > 0 {
		t.Errorf("the bundle of %d files lacks: %q", len(bundle.File), missing)
	}

	if attempts == 0 {
		t.Errorf("the bundle of %d files has no log of an API server that has ended", len(bundle.File))
	}
}

// secretsOf returns the secret values of a secrets bundle, in the forms in which they are written.
func secretsOf(t *testing.T, bundle *secrets.Bundle) map[string]string {
	t.Helper()

	_, half, _ := strings.Cut(bundle.Secrets.BootstrapToken, ".")
	values := map[string]string{
		"the cluster's secret": bundle.Cluster.Secret, "the machine token": bundle.Trustd.Token,
		"the bootstrap token": bundle.Secrets.BootstrapToken, "the secret of the bootstrap token": half,
		"the AES key": bundle.Secrets.AESCBCSecret, "the secretbox key": bundle.Secrets.SecretboxSecret,
	}

	for name, key := range map[string][]byte{
		"etcd's key": bundle.Certs.Etcd.Key, "Kubernetes' key": bundle.Certs.Kubernetes.Key, "the aggregator's key": bundle.Certs.Aggregator.Key,
		"the key of service accounts": bundle.Certs.ServiceAccount.Key, "the API's key": bundle.Certs.OS.Key,
	} {
		block, _ := pem.Decode(key)
		if block == nil {
			t.Fatalf("%s is not PEM", name)
		}

		// One line of it, and its form in a configuration.
		values[name] = base64.StdEncoding.EncodeToString(block.Bytes)[:40]
		values[name+", whole"] = strings.TrimRight(base64.StdEncoding.EncodeToString(key), "=")
	}

	for name, value := range maps.Clone(values) {
		values[name+", base64"] = strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(value)), "=")
	}

	for name, value := range values {
		if value == "" {
			delete(values, name) // the secrets bundle does not have this value
		}
	}

	return values
}

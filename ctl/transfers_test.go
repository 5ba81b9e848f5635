// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client/clienttest"
)

// archiveOf returns a tar.gz archive of files, as Copy sends it.
func archiveOf(t *testing.T, files ...string) clienttest.Script {
	t.Helper()

	var b bytes.Buffer

	zip := gzip.NewWriter(&b)
	out := tar.NewWriter(zip)

	for i := 0; i < len(files); i += 2 {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: files[i], Size: int64(len(files[i+1])), Mode: 0o644}
		if err := out.WriteHeader(header); err != nil {
			t.Fatal(err)
		}

		if _, err := out.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}

	if err := errors.Join(out.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}

	return clienttest.Answer(chunks(b.Bytes())...)
}

// startNode starts a server with one node that answers a method by the script.
func startNode(t *testing.T, method string, script clienttest.Script) (*clienttest.Server, *clienttest.Node) {
	t.Helper()

	node := newNode("172.20.0.2")
	node.Scripts[method] = script

	return clienttest.Start(t, map[string]*clienttest.Node{"": node, "172.20.0.2": node}), node
}

func TestCopy(t *testing.T) {
	script := archiveOf(t, "hosts", "127.0.0.1 localhost\n", "cni/net.d/10.conf", "{}")
	s, node := startNode(t, machineService+"Copy", script)
	directory := filepath.Join(t.TempDir(), "made")

	if r := talosctl(t, s, "copy", "/etc", directory); r.exit != 0 {
		t.Fatalf("got %+v", r)
	}

	for name, want := range map[string]string{"hosts": "127.0.0.1 localhost\n", "cni/net.d/10.conf": "{}"} {
		if got, err := os.ReadFile(filepath.Join(directory, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}

	if got := node.Requests(machineService + "Copy")[0].(*machine.CopyRequest).GetRootPath(); got != "/etc" {
		t.Errorf("got path %q", got)
	}

	if r := talosctl(t, s, "cp", "/etc", "-"); r.exit != 0 || !strings.HasPrefix(r.stdout, "\x1f\x8b") {
		t.Errorf("to standard output: got exit status %d and %q", r.exit, r.stderr)
	}

	script.Err = status.Error(codes.DataLoss, "the archive is whole but for /etc/shadow")
	s, _ = startNode(t, machineService+"Copy", script)

	if r := talosctl(t, s, "cp", "/etc", directory); r.exit != 1 || !strings.Contains(r.stderr, "but for /etc/shadow") {
		t.Errorf("with a file left out: got %+v", r)
	}
}

func TestEtcdSnapshot(t *testing.T) {
	whole := etcdSnapshot()
	damaged := slices.Clone(whole)
	damaged[7] ^= 1

	for _, tt := range []struct {
		name    string
		content []byte
		err     error
		stderr  string
	}{
		{name: "whole", content: whole, stderr: "(11 kB)\n"},
		{name: "cut", content: whole[:len(whole)-10], stderr: "error: 172.20.0.2: save etcd snapshot: it is incomplete"},
		{name: "damaged", content: damaged, stderr: "its checksum does not match"},
		{name: "lost", content: whole[:1000], err: status.Error(codes.Unavailable, "the node is gone"), stderr: "the node is gone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := startNode(t, machineService+"EtcdSnapshot", clienttest.Script{Answers: chunks(tt.content), Err: tt.err})
			directory := t.TempDir()
			path := filepath.Join(directory, "db.snapshot")
			r := talosctl(t, s, "etcd", "snapshot", path, "-n", "172.20.0.2")

			if !strings.Contains(r.stderr, tt.stderr) {
				t.Errorf("got %q, want %q", r.stderr, tt.stderr)
			}

			got, err := os.ReadFile(path)

			switch {
			case r.exit == 0 && !bytes.Equal(got, whole):
				t.Errorf("got %d bytes, %v, want %d", len(got), err, len(whole))
			case (r.exit == 0) != (tt.name == "whole"):
				t.Errorf("got exit status %d", r.exit)
			}

			if left, _ := os.ReadDir(directory); r.exit != 0 && len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestBootstrapRecover(t *testing.T) {
	s, node := startNode(t, machineService+"Bootstrap", clienttest.Answer(&machine.BootstrapResponse{Messages: []*machine.Bootstrap{{}}}))
	path := filepath.Join(t.TempDir(), "db.snapshot")
	want := bytes.Repeat([]byte("snapshot "), 30000)

	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}

	if r := talosctl(t, s, "bootstrap", "--recover-from", path, "--recover-skip-hash-check"); r.exit != 0 {
		t.Fatalf("got %+v", r)
	}

	var got []byte
	for _, chunk := range node.Requests(machineService + "EtcdRecover") {
		got = append(got, chunk.(*common.Data).GetBytes()...)
	}

	if !bytes.Equal(got, want) {
		t.Errorf("got a snapshot of %d bytes, want %d", len(got), len(want))
	}

	request := node.Requests(machineService + "Bootstrap")[0].(*machine.BootstrapRequest)
	if !request.GetRecoverEtcd() || !request.GetRecoverSkipHashCheck() {
		t.Errorf("got request %v", request)
	}

	if r := talosctl(t, s, "bootstrap", "--recover-skip-hash-check"); r.exit != 1 || !strings.Contains(r.stderr, "--recover-from only") {
		t.Errorf("without a snapshot: got %+v", r)
	}
}

func TestImageImport(t *testing.T) {
	node := newNode("172.20.0.2")
	s := clienttest.Start(t, map[string]*clienttest.Node{"": node})
	path := filepath.Join(t.TempDir(), "image.tar")

	if err := os.WriteFile(path, []byte("an archive"), 0o600); err != nil {
		t.Fatal(err)
	}

	if r := talosctl(t, s, "image", "import", path); r.exit != 0 || !strings.HasSuffix(r.stdout, ": docker.io/library/mine:1\n") {
		t.Errorf("got %+v", r)
	}

	requests := node.Requests("machine.ImageService/Import")
	if len(requests) != 2 || string(requests[1].(*machine.ImageServiceImportRequest).GetImageChunk().GetBytes()) != "an archive" {
		t.Errorf("got requests %v", requests)
	}
}

func TestPcap(t *testing.T) {
	header := []byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01\x00\x00\x00")
	packet := []byte("\x01\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00xx")
	file := append(header, packet...)
	s, node := startNode(t, machineService+"PacketCapture", clienttest.Script{Answers: chunks(file), Hang: true})

	if r := talosctl(t, s, "pcap", "-i", "eth1", "--duration", "300ms", "--bpf-filter", "{ 0x6, 0, 0, 0x00040000 }"); r.exit != 0 ||
		r.stdout != "00:00:01.000002 packet of 2 bytes that cannot be decoded\n" {
		t.Errorf("got %+v", r)
	}

	request := node.Requests(machineService + "PacketCapture")[0].(*machine.PacketCaptureRequest)
	if request.GetInterface() != "eth1" || len(request.GetBpfFilter()) != 1 || request.GetSnapLen() != 65536 {
		t.Errorf("got request %v", request)
	}

	path := filepath.Join(t.TempDir(), "out.pcap")
	if r := talosctl(t, s, "pcap", "--duration", "300ms", "-o", path); r.exit != 0 {
		t.Errorf("to a file: got %+v", r)
	}

	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, file) {
		t.Errorf("got %q, %v, want the capture as it is", got, err)
	}

	if r := talosctl(t, s, "pcap", "--bpf-filter", "port 53"); r.exit != 1 || !strings.Contains(r.stderr, "tcpdump -dd EXPRESSION") {
		t.Errorf("a filter that is an expression: got %+v", r)
	}
}

func TestCgroups(t *testing.T) {
	s, _ := startNode(t, machineService+"Copy", archiveOf(t,
		"cpu.stat", "user_usec 2000000\nsystem_usec 1000000\n", "init/cpu.stat", "user_usec 500000\nsystem_usec 100000\n",
		"kubepods/pod1/0123/memory.current", "1048576\n", "kubepods/pod1/0123/memory.max", "max\n",
	))

	custom := filepath.Join(t.TempDir(), "schema.yaml")
	if err := os.WriteFile(custom, []byte("columns: [{name: Max, file: memory.max}]"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name string
		args []string
		exit int
	}{
		{name: "cgroups-cpu", args: []string{"--preset", "cpu"}},
		{name: "cgroups-memory-json", args: []string{"--preset", "memory", "-o", "json", "--skip-cri-resolve"}},
		{name: "cgroups-schema", args: []string{"--schema-file", custom}},
		{name: "cgroups-preset", args: []string{"--preset", "some"}, exit: 1},
		{name: "cgroups-nothing", exit: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := talosctl(t, s, append([]string{"cgroups", "-n", "172.20.0.2"}, tt.args...)...)
			if r.exit != tt.exit {
				t.Errorf("got exit status %d, want %d", r.exit, tt.exit)
			}

			golden(t, tt.name, r)
		})
	}
}

func TestSupport(t *testing.T) {
	s := startCluster(t)
	path := filepath.Join(t.TempDir(), "support.zip")

	r := talosctl(t, s, "support", "-O", path, "-n", "172.20.0.2,172.20.0.9")
	if r.exit != 1 || !strings.Contains(r.stderr, "support bundle saved to") || !strings.Contains(r.stderr, "error: 172.20.0.9: ") {
		t.Errorf("with a node that is down: got %+v", r)
	}

	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	files := unzip(t, content)

	for name, want := range map[string]string{
		"version.txt": "v0.1.0", "dmesg.log": "Linux version", "mounts.txt": "/dev/vda5", "controllers.dot": "digraph", "events.txt": "no disk",
		"services.txt": "kubelet", "logs/system/kubelet.log": "two is longer than a chunk", "etcd-members.txt": "one",
		"resources/members.cluster.talos.dev.yaml": "hostname: two", "memory.txt": "MemTotal", "sockets.txt": "800/apid",
		"errors.txt": "logs/system/etcd.log: logs of etcd",
	} {
		if got := files["172.20.0.2/"+name]; !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q in it", name, got, want)
		}
	}

	for name, text := range files {
		if strings.Contains(name, "machineconfig") || strings.Contains(text, "# the contract") {
			t.Errorf("%s has the machine configuration, which is secret", name)
		}
	}

	if r := talosctl(t, s, "support", "-O", path, "-n", "172.20.0.2"); r.exit != 1 || !strings.Contains(r.stderr, "exists") || strings.Contains(r.stderr, "saved") {
		t.Errorf("over an existing file: got %+v", r)
	}

	none := filepath.Join(t.TempDir(), "none.zip")
	if r := talosctl(t, s, "support", "-O", none, "-n", "172.20.0.9"); r.exit != 1 || strings.Contains(r.stderr, "saved") {
		t.Errorf("of no node: got %+v", r)
	}
}

// TestSupportNames: names of types cannot create files outside the bundle.
func TestSupportNames(t *testing.T) {
	node := newNode("172.20.0.2")
	node.Resources = append(node.Resources, definition("../../../evil.dev", "Evil", "evil", "evil", ""))
	path := filepath.Join(t.TempDir(), "support.zip")

	if r := talosctl(t, clienttest.Start(t, map[string]*clienttest.Node{"": node}), "support", "-O", path); r.exit != 0 {
		t.Fatalf("got %+v", r)
	}

	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	evil := 0

	for name := range unzip(t, content) {
		if strings.Contains(name, "evil.dev") {
			evil++
		}

		if !filepath.IsLocal(name) {
			t.Errorf("%s leads out of the bundle", name)
		}
	}

	if evil != 1 {
		t.Errorf("got %d files of the type, want 1", evil)
	}
}

func unzip(t *testing.T, content []byte) map[string]string {
	t.Helper()

	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}

	files := map[string]string{}

	for _, file := range archive.File {
		r, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}

		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}

		files[file.Name] = string(text)
	}

	return files
}

func TestSupportEncrypted(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(t.TempDir(), "support.zip.age")

	if r := talosctl(t, startCluster(t), "support", "-O", path, "-n", "172.20.0.2", "--encryption-recipients", key.Recipient().String()); r.exit != 0 {
		t.Fatalf("got %+v", r)
	}

	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}

	defer file.Close()

	plain, err := age.Decrypt(file, key)
	if err != nil {
		t.Fatal(err)
	}

	content, err := io.ReadAll(plain)
	if err != nil || unzip(t, content)["172.20.0.2/version.txt"] == "" {
		t.Errorf("got %d bytes, %v, want a bundle", len(content), err)
	}

	if r := talosctl(t, startCluster(t), "support", "-O", path+"2", "--encryption-recipients", "age1x"); r.exit != 1 || !strings.Contains(r.stderr, "age1x") {
		t.Errorf("with a wrong recipient: got %+v", r)
	}
}

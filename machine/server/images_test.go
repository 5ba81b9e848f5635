// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
)

// realContainerd runs containerd in its own mount namespace, without the CRI plugin.
func realContainerd(t *testing.T) (socket string) {
	t.Helper()

	if os.Geteuid() != 0 {
		t.Skip("containerd unpacks images as root only")
	}

	path := hosttest.Built(t, "containerd")
	dir := t.TempDir()
	socket = filepath.Join(dir, "c.sock")
	config := `version = 3
root = "` + dir + `/root"
state = "` + dir + `/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images", "io.containerd.nri.v1.nri"]
[grpc]
address = "` + socket + `"
[ttrpc]
address = "` + socket + `.ttrpc"
`

	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command(path, "--config", filepath.Join(dir, "config.toml"), "--log-level", "error")
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait() // it was terminated
	})

	eventually(t, "containerd to listen", func() bool {
		_, err := os.Stat(socket)

		return err == nil
	})

	return socket
}

// image returns an image for this architecture.
func image(t *testing.T, layers int64) v1.Image {
	t.Helper()

	img, err := random.Image(100<<10, layers)
	if err != nil {
		t.Fatal(err)
	}

	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}

	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"

	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}

	return img
}

// served pushes an image to a registry on loopback, and returns its reference.
func served(t *testing.T, img v1.Image) string {
	t.Helper()

	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)

	send := func(method, path, mediaType string, body io.Reader) {
		t.Helper()

		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/v2/some/image/"+path, body)
		if err != nil {
			t.Fatal(err)
		}

		request.Header.Set("Content-Type", mediaType)

		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}

		response.Body.Close() // its status is all

		if response.StatusCode != http.StatusCreated {
			t.Fatalf("%s %s: %s", method, path, response.Status)
		}
	}

	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}

	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			t.Fatal(err)
		}

		content, err := layer.Compressed()
		if err != nil {
			t.Fatal(err)
		}

		send(http.MethodPost, "blobs/uploads/?digest="+digest.String(), "application/octet-stream", content)
	}

	digest, err := img.ConfigName()
	if err != nil {
		t.Fatal(err)
	}

	config, err := img.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}

	send(http.MethodPost, "blobs/uploads/?digest="+digest.String(), "application/octet-stream", bytes.NewReader(config))

	manifest, err := img.RawManifest()
	if err != nil {
		t.Fatal(err)
	}

	mediaType, err := img.MediaType()
	if err != nil {
		t.Fatal(err)
	}

	send(http.MethodPut, "manifests/v1", string(mediaType), bytes.NewReader(manifest))

	return strings.TrimPrefix(server.URL, "http://") + "/some/image:v1"
}

func TestImages(t *testing.T) {
	b := newBench(t)
	ctx := as(t.Context(), contract.RoleAdmin)
	b.Containerd = realContainerd(t)
	client := machine.NewImageServiceClient(b.conn)
	system := &common.ContainerdInstance{Namespace: common.ContainerdNamespace_NS_SYSTEM}
	cri := &common.ContainerdInstance{Namespace: common.ContainerdNamespace_NS_CRI}

	img := image(t, 3)
	ref := served(t, img)

	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}

	list := func(instance *common.ContainerdInstance) (all []*machine.ImageServiceListResponse) {
		t.Helper()

		stream, err := client.List(ctx, &machine.ImageServiceListRequest{Containerd: instance})

		for err == nil {
			var i *machine.ImageServiceListResponse
			if i, err = stream.Recv(); err == nil {
				all = append(all, i)
			}
		}

		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}

		return all
	}

	t.Run("pull", func(t *testing.T) {
		stream, err := client.Pull(ctx, &machine.ImageServicePullRequest{Containerd: cri, ImageRef: ref})
		if err != nil {
			t.Fatal(err)
		}

		extracted := map[string]bool{}
		last := ""

		for {
			r, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}

			if err != nil {
				t.Fatal(err)
			}

			last = r.GetName()

			if p := r.GetPullProgress(); p.GetProgress().GetStatus() == machine.ImageServicePullLayerProgress_EXTRACT_COMPLETE {
				extracted[p.GetLayerId()] = p.GetProgress().GetOffset() == p.GetProgress().GetTotal() && p.GetProgress().GetTotal() > 0
			}
		}

		if last != ref || len(extracted) != 3 {
			t.Errorf("got %q at the end, layers %v, want %q and three", last, extracted, ref)
		}

		all := list(cri)
		if len(all) != 1 || all[0].GetName() != ref || all[0].GetDigest() != digest.String() || all[0].GetSize() < 300<<10 ||
			all[0].GetCreatedAt() == nil || all[0].GetLabels()["io.cri-containerd.image"] != "managed" {
			t.Errorf("after the pull: got %v", all)
		}

		if other := list(system); len(other) != 0 {
			t.Errorf("in the other namespace: got %v", other)
		}
	})

	t.Run("older calls", func(t *testing.T) {
		if _, err := b.machine.ImagePull(ctx, &machine.ImagePullRequest{Namespace: common.ContainerdNamespace_NS_SYSTEM, Reference: ref}); err != nil {
			t.Fatal(err)
		}

		stream, err := b.machine.ImageList(ctx, &machine.ImageListRequest{Namespace: common.ContainerdNamespace_NS_SYSTEM})
		if err != nil {
			t.Fatal(err)
		}

		if i, err := stream.Recv(); err != nil || i.GetName() != ref || i.GetSize() == 0 {
			t.Errorf("got %v, %v", i, err)
		}
	})

	t.Run("import and remove", func(t *testing.T) {
		tag, err := name.NewTag("example.org/imported:v2")
		if err != nil {
			t.Fatal(err)
		}

		var archive bytes.Buffer
		if err := tarball.Write(tag, image(t, 1), &archive); err != nil {
			t.Fatal(err)
		}

		if got, err := importImage(t, client, cri, archive.Bytes()); err != nil || got != tag.Name() {
			t.Errorf("import: got %q, %v, want %q", got, err, tag.Name())
		}

		if all := list(cri); len(all) != 2 {
			t.Errorf("after the import: got %v", all)
		}

		if _, err := client.Remove(ctx, &machine.ImageServiceRemoveRequest{Containerd: cri, ImageRef: tag.Name()}); err != nil {
			t.Error(err)
		}

		if all := list(cri); len(all) != 1 {
			t.Errorf("after the removal: got %v", all)
		}

		if _, err := importImage(t, client, cri, []byte("rubbish")); err == nil {
			t.Error("import of garbage: got no error")
		}

		if _, err := importImage(t, client, nil, archive.Bytes()); status.Code(err) != codes.InvalidArgument {
			t.Errorf("import without a namespace: got %v, want InvalidArgument", err)
		}
	})

	for _, tt := range []struct {
		name string
		call func() error
		code codes.Code
		want string
	}{
		{"no namespace", func() error {
			_, err := b.machine.ImagePull(ctx, &machine.ImagePullRequest{Reference: ref})

			return err
		}, codes.InvalidArgument, "name system"},
		{"no reference", func() error {
			_, err := b.machine.ImagePull(ctx, &machine.ImagePullRequest{Namespace: common.ContainerdNamespace_NS_CRI, Reference: "Not A Name"})

			return err
		}, codes.InvalidArgument, "not a reference"},
		{"a missing image", func() error {
			_, err := b.machine.ImagePull(ctx, &machine.ImagePullRequest{
				Namespace: common.ContainerdNamespace_NS_CRI, Reference: strings.Replace(ref, "/some/", "/no/", 1),
			})

			return err
		}, codes.NotFound, "/no/image:v1"},
		{"remove a missing one", func() error {
			_, err := client.Remove(ctx, &machine.ImageServiceRemoveRequest{Containerd: cri, ImageRef: "nginx"})

			return err
		}, codes.NotFound, "docker.io/library/nginx:latest"},
		{"an empty import", func() error {
			stream, err := client.Import(ctx)
			if err != nil {
				return err
			}

			_, err = stream.CloseAndRecv()

			return err
		}, codes.InvalidArgument, "the first message must name"},
	} {
		if err := tt.call(); status.Code(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %v with %q", tt.name, err, tt.code, tt.want)
		}
	}
}

func importImage(t *testing.T, client machine.ImageServiceClient, instance *common.ContainerdInstance, archive []byte) (string, error) {
	t.Helper()

	stream, err := client.Import(as(t.Context(), contract.RoleAdmin))
	if err != nil {
		return "", err
	}

	first := &machine.ImageServiceImportRequest{}
	if instance != nil {
		first.Request = &machine.ImageServiceImportRequest_Containerd{Containerd: instance}
	}

	// The server's error comes at the end.
	stream.Send(first)

	for chunk := range bytes.SplitAfterSeq(archive, []byte{0}) {
		if len(chunk) == 0 {
			continue
		}

		if err := stream.Send(&machine.ImageServiceImportRequest{
			Request: &machine.ImageServiceImportRequest_ImageChunk{ImageChunk: &common.Data{Bytes: chunk}},
		}); err != nil {
			break
		}
	}

	r, err := stream.CloseAndRecv()

	return r.GetName(), err
}

// TestWithoutContainerd: a machine that is starting answers soon, and reports what it waits for.
func TestWithoutContainerd(t *testing.T) {
	b := newBench(t)
	b.Containerd = filepath.Join(t.TempDir(), "none.sock")

	stream, err := b.machine.ImageList(as(t.Context(), contract.RoleReader), &machine.ImageListRequest{Namespace: common.ContainerdNamespace_NS_CRI})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "talosctl service cri") {
		t.Errorf("got %v, want Unavailable", err)
	}
}

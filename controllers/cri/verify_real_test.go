// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/errdefs"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/podimages"
	"github.com/seed-59268b81/talos/test/registrytest"
)

// realMachine is containerd with the configuration of a machine.
func realMachine(t *testing.T, r *signedRegistry, m machine) realContainerd {
	t.Helper()

	if os.Geteuid() != 0 {
		t.Skip("containerd unpacks images as root only")
	}

	needBuilt(t, builtContainerd)

	containerd := runContainerd(t, place{snapshotter: container.Native}, chosen{}, func(config table) {
		images := config["plugins"].(table)["io.containerd.cri.v1.images"].(table)
		images["registry"].(table)["config_path"] = m.hosts()
	})
	t.Cleanup(containerd.stop)

	return containerd
}

// imageStatus asks for an image as the kubelet does, and reports whether it is there.
func imageStatus(ctx context.Context, t *testing.T, socket, image string) bool {
	t.Helper()

	conn := must(grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials())))
	defer conn.Close()

	spec := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), image)
	request := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), spec)

	var response []byte
	if err := conn.Invoke(ctx, "/runtime.v1.ImageService/ImageStatus", &request, &response, grpc.ForceCodec(raw{})); err != nil {
		t.Fatal(err)
	}

	return len(response) > 0
}

// TestVerifiedPodPull pulls for pods through process 1 and the real containerd. containerd's own verifiers would not be called with this configuration.
func TestVerifiedPodPull(t *testing.T) {
	r := startSignedRegistry(t)
	m := newMachine(t, r.documents(r.rules()), "")
	containerd := realMachine(t, r, m)

	socket := filepath.Join(t.TempDir(), "i.sock")
	images := &podimages.Server{Containerd: containerd.socket, Registries: m.access(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	server := grpc.NewServer(images.Options()...)

	l := must(net.Listen("unix", socket))
	served := make(chan error, 1)

	go func() { served <- server.Serve(l) }()

	t.Cleanup(func() {
		server.Stop()
		<-served
	})

	auth := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), registrytest.User)
	auth = protowire.AppendString(protowire.AppendTag(auth, 2, protowire.BytesType), registrytest.Password)

	pods := namespaces.WithNamespace(t.Context(), container.NamespacePods)

	for _, tt := range []struct{ image, fails string }{
		{"registry.test/test/signed:1", ""},
		{"registry.test/test/open:1", ""},
		{"registry.test/test/unsigned:1", "SignatureValidationFailed: verify registry.test/test/unsigned:1: the image is refused"},
		{"registry.test/test/stranger:1", "no signature is by the key"},
		{"registry.test/test/denied:1", "denies it"},
	} {
		err := criPullAs(t.Context(), socket, tt.image, auth)
		if tt.fails == "" && err != nil || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
			t.Errorf("%s: got %v, want %q", tt.image, err, tt.fails)
		}

		image, err := containerd.GetImage(pods, tt.image)
		if tt.fails != "" {
			if !errdefs.IsNotFound(err) {
				t.Errorf("%s: containerd has it: %v", tt.image, err)
			}

			if imageStatus(t.Context(), t, socket, tt.image) {
				t.Errorf("%s: the kubelet finds it", tt.image)
			}

			continue
		}

		name := strings.TrimSuffix(strings.TrimPrefix(tt.image, "registry.test/test/"), ":1")
		if err != nil || image.Target().Digest.String() != r.digest(name) {
			t.Fatalf("%s: got %v, %v, want %s", tt.image, image, err, r.digest(name))
		}

		// CRI follows containerd's events.
		eventually(t, func() bool { return imageStatus(t.Context(), t, socket, tt.image) })
	}
}

// criPullAs is criPull with a pull secret.
func criPullAs(ctx context.Context, socket, image string, auth []byte) error {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()

	spec := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), image)
	request := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), spec)
	request = protowire.AppendBytes(protowire.AppendTag(request, 2, protowire.BytesType), auth)

	var response []byte

	return conn.Invoke(ctx, "/runtime.v1.ImageService/PullImage", &request, &response, grpc.ForceCodec(raw{}))
}

// TestVerifiedImport imports archives into the real containerd, with and without the signature. What is refused leaves nothing.
func TestVerifiedImport(t *testing.T) {
	r := startSignedRegistry(t)
	m := newMachine(t, r.documents(r.rules()), "")
	containerd := realMachine(t, r, m)

	images := must(m.access().OpenImages(containerd.socket, container.NamespaceSystem))
	defer images.Close()

	system := namespaces.WithNamespace(t.Context(), container.NamespaceSystem)
	image := registrytest.Random(t) // the registry does not have it
	digest := must(image.Digest()).String()
	manifest, blobs := registrytest.Signature(t, "registry.test/test/new", digest, r.key)
	signature := strings.Replace(digest, ":", "-", 1) + ".sig"

	for _, tt := range []struct {
		name    string
		archive *registrytest.Archive
		ref     string
		fails   string
	}{
		{"unsigned", registrytest.NewArchive(t).Image("registry.test/test/new:1", image), "registry.test/test/new:1", "it is not signed"},
		{"denied", registrytest.NewArchive(t).Image("registry.test/test/denied:1", image), "registry.test/test/denied:1", "denies it"},
		{"open", registrytest.NewArchive(t).Image("registry.test/test/open:2", image), "registry.test/test/open:2", ""},
		{
			"signed", registrytest.NewArchive(t).Add("registry.test/test/new:"+signature, manifest, blobs...).Image("registry.test/test/new:1", image),
			"registry.test/test/new:1", "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name, err := images.Import(t.Context(), tt.archive.Reader())
			if tt.fails == "" && (err != nil || name != tt.ref) {
				t.Fatalf("got %q, %v, want %q", name, err, tt.ref)
			}

			if tt.fails == "" {
				if target, err := images.Verified(t.Context(), tt.ref); err != nil || target.Digest != digest {
					t.Errorf("got %+v, %v, want %s", target, err, digest)
				}

				return
			}

			if !errors.Is(err, container.ErrRefused) || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("got %v, want an error with %q", err, tt.fails)
			}

			if _, err := containerd.GetImage(system, tt.ref); !errdefs.IsNotFound(err) {
				t.Errorf("containerd has it: %v", err)
			}
		})
	}

	// An image that is refused does not replace another one.
	other := registrytest.Random(t)
	if _, err := images.Import(t.Context(), registrytest.NewArchive(t).Image("registry.test/test/new:1", other).Reader()); !errors.Is(err, container.ErrRefused) {
		t.Errorf("got %v, want %v", err, container.ErrRefused)
	}

	if target, err := images.Verified(t.Context(), "registry.test/test/new:1"); err != nil || target.Digest != digest {
		t.Errorf("got %+v, %v, want the former %s", target, err, digest)
	}
}

// eventually waits until a condition is true.
func eventually(t *testing.T, condition func() bool) {
	t.Helper()

	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("timed out")
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

const (
	testPasswd = "root:x:0:0:root:/root:/bin/sh\napp:x:1000:1001::/home/app:/bin/sh\nlast:x:7:8::/:"
	testGroup  = "root:x:0:root\nbin:x:1:root,daemon\napp:x:1001:\nvideo:x:44:app,root\naudio:x:29:app\n"
)

// testRoot returns the root of an image with the two files.
func testRoot(t *testing.T, passwd, group string) string {
	t.Helper()

	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}

	for name, content := range map[string]string{"passwd": passwd, "group": group} {
		if content == "" {
			continue
		}

		if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	return root
}

func TestImageUser(t *testing.T) {
	full, empty := testRoot(t, testPasswd, testGroup), t.TempDir()

	for _, tt := range []struct {
		root, name string
		want       specs.User
		err        string
	}{
		{full, "", specs.User{AdditionalGids: []uint32{0, 1, 44}}, ""},
		{full, "app", specs.User{UID: 1000, GID: 1001, AdditionalGids: []uint32{1001, 44, 29}}, ""},
		{full, "1000", specs.User{UID: 1000, GID: 1001, AdditionalGids: []uint32{1001, 44, 29}}, ""},
		{full, "app:bin", specs.User{UID: 1000, GID: 1, AdditionalGids: []uint32{1, 44, 29}}, ""},
		{full, "1000:2000", specs.User{UID: 1000, GID: 2000, AdditionalGids: []uint32{2000, 44, 29}}, ""},
		{full, "65534", specs.User{UID: 65534, AdditionalGids: []uint32{0}}, ""},
		{full, "last", specs.User{UID: 7, GID: 8, AdditionalGids: []uint32{8}}, ""},
		{full, "guest", specs.User{}, "unable to find user guest"},
		{full, "app:none", specs.User{}, "unable to find group none"},
		{full, "4294967295", specs.User{}, "must be in range"},
		{empty, "", specs.User{AdditionalGids: []uint32{0}}, ""},
		{empty, "5:6", specs.User{UID: 5, GID: 6, AdditionalGids: []uint32{6}}, ""},
		{empty, "app", specs.User{}, "unable to find user app"},
	} {
		got, err := imageUser(tt.root, tt.name)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: got error %v, want %s", tt.name, err, tt.err)
			}

			continue
		}

		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%q: got %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

// TestImageUserHostile: links stay within the image, and only a file of a sensible size is read.
func TestImageUserHostile(t *testing.T) {
	outside := testRoot(t, "root:x:0:0:::\nevil:x:666:666:::\n", "")

	replace := func(how func(path string) error) string {
		root := testRoot(t, "", testGroup)
		if err := how(filepath.Join(root, "etc/passwd")); err != nil {
			t.Fatal(err)
		}

		return root
	}

	within := replace(func(path string) error { return os.Symlink("/usr/passwd", path) })
	if err := os.Mkdir(filepath.Join(within, "usr"), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(within, "usr/passwd"), []byte(testPasswd), 0o644); err != nil {
		t.Fatal(err)
	}

	if got, err := imageUser(within, "app"); err != nil || got.UID != 1000 {
		t.Errorf("a link within the image: got %v, %v", got, err)
	}

	for name, root := range map[string]string{
		"a link out of the image": replace(func(path string) error { return os.Symlink(filepath.Join(outside, "etc/passwd"), path) }),
		"a long way out":          replace(func(path string) error { return os.Symlink("../../../../../.."+outside+"/etc/passwd", path) }),
		"a pipe":                  replace(func(path string) error { return unix.Mkfifo(path, 0o644) }),
		"a folder":                replace(func(path string) error { return os.Mkdir(path, 0o755) }),
		"a file that is too large": replace(func(path string) error {
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				return err
			}

			return os.Truncate(path, maxUserFile+1)
		}),
	} {
		if got, err := imageUser(root, "evil"); err == nil {
			t.Errorf("%s: got %v, want an error", name, got)
		}
	}
}

// mounter is a mount manager that activates mounts, or has nothing to do.
type mounter struct {
	mount.Manager

	active, deactivated []mount.Mount
	err                 error
}

func (m *mounter) Activate(context.Context, string, []mount.Mount, ...mount.ActivateOpt) (mount.ActivationInfo, error) {
	return mount.ActivationInfo{System: m.active}, m.err
}

func (m *mounter) Deactivate(context.Context, string) error {
	m.deactivated = m.active

	return nil
}

func TestMountedUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mounts")
	}

	bind := []mount.Mount{{Type: "bind", Source: testRoot(t, testPasswd, testGroup), Options: []string{"rbind", "rw"}}}
	refused := errors.New("refused")

	for name, tt := range map[string]struct {
		manager mounter
		mounts  []mount.Mount
		err     error
	}{
		"an overlay":                    {mounter{err: errdefs.ErrNotImplemented}, bind, nil},
		"layers that containerd mounts": {mounter{active: bind}, []mount.Mount{{Type: "format/overlay"}}, nil},
		"containerd refuses":            {mounter{err: refused}, bind, refused},
	} {
		got, err := mountedUser(t.Context(), &tt.manager, "snapshot", tt.mounts, "app")
		if !errors.Is(err, tt.err) || err == nil && got.UID != 1000 {
			t.Errorf("%s: got %v, %v", name, got, err)
		}

		if !cmp.Equal(tt.manager.deactivated, tt.manager.active) {
			t.Errorf("%s: the mounts of containerd remain", name)
		}
	}
}

func TestImageProcess(t *testing.T) {
	for _, tt := range []struct {
		config ocispec.ImageConfig
		want   specs.Process
	}{
		{ocispec.ImageConfig{}, specs.Process{Args: []string{}, Env: []string{defaultPath}, Cwd: "/"}},
		{
			ocispec.ImageConfig{Entrypoint: []string{"/sh", "-c"}, Cmd: []string{"x"}, Env: []string{"A=b"}, WorkingDir: "/w"},
			specs.Process{Args: []string{"/sh", "-c", "x"}, Env: []string{"A=b"}, Cwd: "/w"},
		},
	} {
		s := oci.Spec{Process: &specs.Process{}}
		imageProcess(&s, tt.config)

		if diff := cmp.Diff(tt.want, *s.Process); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.config, diff)
		}
	}
}

func FuzzImageUser(f *testing.F) {
	f.Add(testPasswd, testGroup, "app:video")
	f.Add("a:x:-1:99999999999:::\n::::", "a:x::,", "1:1")

	f.Fuzz(func(t *testing.T, passwd, group, name string) {
		u, err := imageUser(testRoot(t, passwd, group), name)
		if err == nil && (u.UID > 1<<31-1 || u.GID > 1<<31-1 || len(u.AdditionalGids) == 0 || u.AdditionalGids[0] != u.GID) {
			t.Errorf("%q: got %+v", name, u)
		}
	})
}

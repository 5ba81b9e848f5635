// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/seed-59268b81/talos/build/debian"
	"github.com/seed-59268b81/talos/build/graph"
)

// baseFiles are what programs expect of any root: users by name, and where names are looked up.
var baseFiles = map[string]string{
	"etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\n" +
		"nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n" +
		"nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n",
	"etc/group":         "root:x:0:\nnobody:x:65534:\nnonroot:x:65532:\n",
	"etc/nsswitch.conf": "hosts: files dns\n",
}

// baseTree makes the lowest layer of images.
func baseTree(dir, certificates string) error {
	if err := graph.LinkTree(certificates, dir); err != nil {
		return err
	}

	if err := debian.MergeUsr(dir); err != nil {
		return err
	}

	for name, content := range baseFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}

	for _, name := range []string{"root", "run", "var/run", "home/nonroot", "proc", "sys", "dev"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}

	tmp := filepath.Join(dir, "tmp")

	// Mkdir's mode loses the sticky bit.
	return errors.Join(os.Mkdir(tmp, 0o777), os.Chmod(tmp, 0o777|os.ModeSticky))
}

// setLinks make the names by which the programs of a set are called, which a package leaves to its installation.
var setLinks = map[string]func(ctx context.Context, tree string) error{
	"firewall-files": func(_ context.Context, tree string) error {
		for _, name := range []string{
			"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore",
		} {
			if err := os.Symlink("xtables-nft-multi", filepath.Join(tree, "usr/sbin", name)); err != nil {
				return err
			}
		}

		return nil
	},
	"test-tools": func(_ context.Context, tree string) error {
		local := filepath.Join(tree, "usr/local/bin")

		return errors.Join(
			os.Symlink("nc.openbsd", filepath.Join(tree, "usr/bin/nc")),
			os.MkdirAll(local, 0o755),
			os.Symlink("../../bin/iperf", filepath.Join(local, "iperf")),
		)
	},
	"busybox": func(ctx context.Context, tree string) error {
		bin := filepath.Join(tree, "usr/bin")

		//program:built busybox, out of its package
		//program:arg busybox of the image
		applets, err := exec.CommandContext(ctx, filepath.Join(bin, "busybox"), "--list").Output()
		if err != nil {
			return fmt.Errorf("busybox --list: %w", err)
		}

		for _, name := range strings.Fields(string(applets)) {
			if err := os.Symlink("busybox", filepath.Join(bin, name)); err != nil && !errors.Is(err, os.ErrExist) {
				return err
			}
		}

		return nil
	},
}

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

// baseFiles are files that programs expect in every root: names of users, and the sources of host names.
var baseFiles = map[string]string{
	"etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\n" +
		"nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n" +
		"nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n",
	"etc/group":         "root:x:0:\nnobody:x:65534:\nnonroot:x:65532:\n",
	"etc/nsswitch.conf": "hosts: files dns\n",
}

// baseLayer is the lowest layer of images, without the certificates.
var baseLayer = layer{files: baseFiles, dirs: []string{"root", "run", "var/run", "home/nonroot", "proc", "sys", "dev"}}

// baseTree creates the lowest layer of images.
func baseTree(dir, certificates string) error {
	if err := graph.LinkTree(certificates, dir); err != nil {
		return err
	}

	if err := debian.MergeUsr(dir); err != nil {
		return err
	}

	if err := baseLayer.lay(dir, nil); err != nil {
		return err
	}

	tmp := filepath.Join(dir, "tmp")

	// Mkdir ignores the sticky bit.
	return errors.Join(os.Mkdir(tmp, 0o777), os.Chmod(tmp, 0o777|os.ModeSticky))
}

// setLinks are links, by set, that Debian's package scripts create when a package is installed.
var setLinks = map[string]map[string]string{
	"firewall-files": {
		"usr/sbin/iptables": "xtables-nft-multi", "usr/sbin/iptables-save": "xtables-nft-multi", "usr/sbin/iptables-restore": "xtables-nft-multi",
		"usr/sbin/ip6tables": "xtables-nft-multi", "usr/sbin/ip6tables-save": "xtables-nft-multi", "usr/sbin/ip6tables-restore": "xtables-nft-multi",
	},
	"test-tools": {"usr/bin/nc": "nc.openbsd", "usr/local/bin/iperf": "../../bin/iperf"},
}

// linkSet creates these links in a set's tree, and a link for each applet of busybox.
func linkSet(ctx context.Context, set, tree string) error {
	if set != "busybox" {
		return layer{links: setLinks[set]}.lay(tree, nil)
	}

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
}

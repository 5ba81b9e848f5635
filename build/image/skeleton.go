// SPDX-License-Identifier: Apache-2.0

package image

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/layout"
)

// osProgram is the multi-call program in the root image.
const osProgram = "usr/sbin/init"

// skeleton is the content of the root image besides programs and modules: folders, targets of links, and texts of files.
type skeleton struct {
	folders      []string
	links, files map[string]string
}

// newSkeleton returns the skeleton: mount points, the names of the multi-call program, and /etc. The image is read-only: the
// running system bind-mounts its files over the empty files in /etc.
func newSkeleton(tag string) skeleton {
	return skeleton{
		folders: []string{
			"dev", "proc", "sys", "run", "system", "tmp", "var", "mnt", "opt/cni/bin",
			"usr/bin", "usr/sbin", "usr/lib", "usr/local/bin", "usr/libexec", path.Dir(layout.EmbeddedConfig),
			"etc/kubernetes", "etc/cni", "etc/cri", "etc/ssl/certs", "etc/udev/rules.d",
		},
		links: map[string]string{
			"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "etc/mtab": "/proc/self/mounts",
			"usr/bin/machined": "../sbin/init", "usr/bin/apid": "../sbin/init", "usr/bin/trustd": "../sbin/init",
			"usr/bin/discoveryd": "../sbin/init",
		},
		files: map[string]string{
			"etc/hosts": "", "etc/hostname": "", "etc/resolv.conf": "", "etc/machine-id": "",
			"etc/" + layout.UdevRules: "",
			"etc/nsswitch.conf":       "passwd: files\ngroup: files\nhosts: files dns\n",
			"etc/passwd":              passwd(), "etc/group": group(),
			"etc/os-release": osRelease(tag), "usr/lib/os-release": osRelease(tag),
		},
	}
}

// make creates the skeleton in root. It keeps folders and links that the third-party files have, such as a merged /usr.
func (s skeleton) make(root string) error {
	for _, path := range s.folders {
		if err := os.MkdirAll(filepath.Join(root, path), 0o755); err != nil {
			return err
		}
	}

	for path, to := range s.links {
		path = filepath.Join(root, path)
		found, _ := os.Readlink(path)

		if strings.TrimPrefix(found, "/") == strings.TrimPrefix(to, "/") {
			continue
		}

		if err := os.Symlink(to, path); err != nil {
			return err
		}
	}

	for path, text := range s.files {
		f, err := os.OpenFile(filepath.Join(root, path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}

		_, err = f.WriteString(text)

		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}

	return nil
}

// passwd and group have the users of programs.
func passwd() string {
	text := "root:x:0:0:root:/:/usr/sbin/nologin\n"
	for _, u := range layout.Users {
		text += fmt.Sprintf("%s:x:%d:%d::/:/usr/sbin/nologin\n", u.Name, u.ID, u.ID)
	}

	return text
}

func group() string {
	text := "root:x:0:\n"
	for _, u := range slices.Concat(layout.DeviceGroups, layout.Users) {
		text += fmt.Sprintf("%s:x:%d:\n", u.Name, u.ID)
	}

	return text
}

// osRelease returns the text of os-release, for programs (the kubelet reports it) and boot menus.
func osRelease(tag string) string {
	return fmt.Sprintf("NAME=\"Talos\"\nID=talos\nVERSION_ID=%s\nPRETTY_NAME=\"Talos (%s)\"\n", tag, tag)
}

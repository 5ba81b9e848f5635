// SPDX-License-Identifier: Apache-2.0

package image

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-59268b81/talos/layout"
)

// osProgram is the multi-call program in the root image.
const osProgram = "usr/sbin/init"

// entry is one thing of our own in the root image: a folder, a link, or a file.
type entry struct {
	path, link, text string
	mode             os.FileMode
}

func folder(path string) entry              { return entry{path: path, mode: os.ModeDir | 0o755} }
func symlink(path, to string) entry         { return entry{path: path, link: to, mode: os.ModeSymlink} }
func file(path, text string) entry          { return entry{path: path, text: text, mode: 0o644} }
func (e entry) String() string              { return fmt.Sprintf("%s %v %s %s", e.path, e.mode, e.link, e.text) }
func folders(paths ...string) (out []entry) { return each(paths, folder) }
func emptyFiles(paths ...string) (out []entry) {
	return each(paths, func(p string) entry { return file(p, "") })
}

func each(paths []string, one func(string) entry) (out []entry) {
	for _, p := range paths {
		out = append(out, one(p))
	}

	return out
}

// skeleton is what the root image has besides programs and modules: mount points, the names of the
// multi-call program, and /etc. The image is read-only, so each file that the running system writes into /etc
// must exist, empty, for another to be bound over it.
func skeleton(tag string) []entry {
	out := folders("dev", "proc", "sys", "run", "system", "tmp", "var", "mnt", "opt/cni/bin",
		"usr/bin", "usr/sbin", "usr/lib", "usr/local/bin", "usr/libexec",
		"etc/kubernetes", "etc/cni", "etc/cri", "etc/ssl/certs")

	for _, name := range []string{"machined", "apid", "trustd"} {
		out = append(out, symlink("usr/bin/"+name, "../sbin/init"))
	}

	for _, name := range []string{"bin", "sbin", "lib"} {
		out = append(out, symlink(name, "usr/"+name))
	}

	out = append(out, emptyFiles("etc/hosts", "etc/hostname", "etc/resolv.conf", "etc/machine-id")...)

	return append(out,
		symlink("etc/mtab", "/proc/self/mounts"),
		file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
		file("etc/passwd", passwd()), file("etc/group", group()),
		file("etc/os-release", osRelease(tag)),
		file("usr/lib/os-release", osRelease(tag)),
	)
}

// passwd and group name the users of programs.
func passwd() string {
	text := "root:x:0:0:root:/:/usr/sbin/nologin\n"
	for _, u := range layout.Users {
		text += fmt.Sprintf("%s:x:%d:%d::/:/usr/sbin/nologin\n", u.Name, u.ID, u.ID)
	}

	return text
}

func group() string {
	text := fmt.Sprintf("root:x:0:\ntty:x:%d:\n", layout.GroupTTY)
	for _, u := range layout.Users {
		text += fmt.Sprintf("%s:x:%d:\n", u.Name, u.ID)
	}

	return text
}

// osRelease names the system to programs (kubelet reports it) and to boot menus.
func osRelease(tag string) string {
	return fmt.Sprintf("NAME=\"Talos\"\nID=talos\nVERSION_ID=%s\nPRETTY_NAME=\"Talos (%s)\"\n", tag, tag)
}

// make creates the entry below root. What the third-party files have already stays: a merged /usr, say.
func (e entry) make(root string) error {
	path := filepath.Join(root, e.path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}

	_, err := os.Lstat(path)
	there := err == nil

	switch {
	case e.mode.IsDir():
		return os.MkdirAll(path, 0o755)
	case e.link != "" && there:
		to, err := os.Readlink(path)
		if err != nil || strings.TrimPrefix(to, "/") != strings.TrimPrefix(e.link, "/") {
			return fmt.Errorf("is in the way of a link to %s", e.link)
		}

		return nil
	case e.link != "":
		return os.Symlink(e.link, path)
	case there:
		return fmt.Errorf("is there already")
	default:
		return os.WriteFile(path, []byte(e.text), e.mode.Perm())
	}
}

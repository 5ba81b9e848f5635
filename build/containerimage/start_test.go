// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"archive/tar"
	"cmp"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/config/images"
)

// unpackImage unpacks an image into a folder, as a container runtime does.
func unpackImage(t *testing.T, layout string, image v1.Descriptor) string {
	t.Helper()

	root := t.TempDir()

	eachLayerFile(t, layout, image, func(h *tar.Header, content io.Reader) error {
		name := filepath.Join(root, h.Name)
		mode := h.FileInfo().Mode()

		switch h.Typeflag {
		case tar.TypeDir:
			if err := os.MkdirAll(name, 0o755); err != nil {
				return err
			}

			return os.Chmod(name, mode)
		case tar.TypeSymlink:
			if err := os.RemoveAll(name); err != nil {
				return err
			}

			return os.Symlink(h.Linkname, name)
		}

		if err := os.RemoveAll(name); err != nil {
			return err
		}

		f, err := os.Create(name)
		if err != nil {
			return err
		}
		defer f.Close()

		if _, err := io.Copy(f, content); err != nil {
			return err
		}

		return f.Chmod(mode)
	})

	return root
}

// inside runs a script in an image's shell as the image's user, in its own namespaces, and returns the output.
func inside(t *testing.T, root, user, script string) (string, error) {
	t.Helper()

	const enter = `mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec chroot --userspec "$1" "$0" sh -c "$2"`

	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child",
		"sh", "-c", enter, root, cmp.Or(user, "0")+":0", script)
	cmd.Env = []string{searchPath}
	out, err := cmd.CombinedOutput()

	return string(out), err
}

func TestProgramsOfImagesStart(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root for chroot")
	}

	// A script for the image's shell, and a part of its output that shows that it works.
	type start struct{ script, want string }

	// A server in the background has a minute to answer, since the host may be busy.
	answers := func(command string) string { return "for i in $(seq 60); do sleep 1; " + command + " && break; done" }

	agnhost := []start{
		{"dig -v; host -V; nslookup -version", "DiG 9."},
		{"curl --version", "libcurl/"},
		{"nc -h", "OpenBSD netcat"},
		{"ip -V; ss -V; bridge -V; tc -V", "iproute2"},
		{"/usr/local/bin/iperf -v | cat; iperf -v | cat", "pthreads"},
		{"bash -c 'echo $BASH_VERSION'", "5."},
		{"getent hosts localhost; echo 192.0.2.7 there >>/etc/hosts; getent hosts there", "192.0.2.7"},
		{"ipcs; ipcmk -M 10", "Shared memory id"},
		{"lsns; nsenter --version; unshare --version; setpriv --dump; prlimit; taskset -p 1; findmnt --version; lscpu --version", "Capability bounding set"},
		{"/coredns -version", "CoreDNS-"},
		{"/agnhost-2 entrypoint-tester one", "one"},
		{"id user-defined-in-image", "50000(group-defined-in-image)"},
		{"ip link set lo up; /agnhost netexec --http-port 8080 & " + answers("curl -fs 'http://127.0.0.1:8080/echo?msg=heard'"), "heard"},
		{"ip link set lo up; /agnhost fake-registry-server --private & " +
			answers("curl -fLsu user:password http://127.0.0.1:5000/v2/pause/manifests/testing"), images.DefaultPause},
	}
	web := []start{
		{"nginx -t", "test is successful"},
		{"ip link set lo up; nginx -g 'daemon off;' & " + answers("wget -qO- http://127.0.0.1/"), "Welcome to nginx!"},
	}
	pet := func(name string) []start {
		return []start{{"ip link set lo up; cd /; /agnhost test-webserver & " + answers("curl -fs http://127.0.0.1/data.json"), name + ".jpg"}}
	}
	tests := map[string][]start{
		images.DefaultAgnhost:         agnhost,
		images.TestAgnhostPrevious:    agnhost,
		images.TestBusybox:            {{"busybox | head -1; [[ a = a ]] && stat -c %a /tmp", "1777"}, {"env data-1=value sh -c env", "data-1=value"}},
		images.TestDistrolessIptables: {{"iptables -V; ip6tables-save -V; nft -v; conntrack -V", "conntrack v"}},
		images.TestGlibcDNS:           {{"dig -v; getent hosts localhost; hostname", "DiG 9."}},
		images.TestIPCUtils:           {{"ipcs", "Semaphore Arrays"}},
		images.TestKitten:             pet("kitten"),
		images.TestNautilus:           pet("nautilus"),
		images.TestNginx:              web,
		images.TestNginxNew:           web,
		images.TestNonewprivs:         {{"start-stop-daemon -S -c nobody -x /usr/local/bin/nnp", "Effective uid: 0"}},
		images.TestNonRoot:            {{"id", "uid=1234"}},
		images.TestPerl:               {{"perl -MPOSIX -MList::Util=sum -e 'print sum(1..6), chr(10)'", "21"}},
		images.TestResourceConsumer:   {{"stress --version; /consume-cpu -help; /consumer -help", "stress 1."}},
	}
	started := map[string]bool{}

	for _, layout := range layouts(t) {
		index, err := ociimage.ReadIndex(layout)
		if err != nil {
			t.Fatal(err)
		}

		for _, image := range index {
			reference := image.Annotations[ociimage.RefName]
			if len(tests[reference]) == 0 || started[reference] {
				continue
			}

			started[reference] = true

			t.Run(filepath.Base(reference), func(t *testing.T) {
				root := unpackImage(t, layout, image)
				user := imageConfig(t, layout, image).User

				for _, s := range tests[reference] {
					if got, err := inside(t, root, user, s.script); err != nil || !strings.Contains(got, s.want) {
						t.Errorf("%s: got %v and\n%s\nwant %q in it", s.script, err, got, s.want)
					}
				}
			})
		}
	}

	if !started[images.DefaultAgnhost] {
		t.Error("no layout has agnhost")
	}
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/graph"
)

// machine is the description that its first process gets.
type machine struct {
	// Place is the folder for all writes; Root is where the machine's root is mounted.
	Place, Root string
	// Base is the bare Debian; Go is the host's installation.
	Base, Go string
	// Overlays are folders of the host, by their path in the machine.
	Overlays map[string]string
	// Cache is the host's build cache. Built has links to its files, and becomes the machine's folder out.
	Cache, Built string
	// Env is the environment of the commands in the machine.
	Env []string
	// Commit is what is cloned, from the repository Source.
	Commit, Source string
	// Until and In are the flags.
	Until, In string
}

// Where things are in the machine. Go's caches are where it has them by default.
const (
	home         = "/root"
	goPlace      = "/usr/local/go"
	sourcePlace  = home + "/talos"
	modulesPlace = home + "/go/pkg/mod"
	buildsPlace  = home + "/.cache/go-build"
)

func plan(ctx context.Context, root, out, place, base string) (*machine, error) {
	var settings struct{ GOROOT, GOMODCACHE, GOCACHE string }
	if err := goEnv(ctx, &settings); err != nil {
		return nil, err
	}

	commit, err := exec.CommandContext(ctx, "git", "-C", root, "rev-parse", "--short", "HEAD").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("read the commit to clone: %w: %s", err, commit)
	}

	env, err := environment(ctx)
	if err != nil {
		return nil, err
	}

	return &machine{
		Place: place, Root: filepath.Join(place, "root"), Base: base, Go: settings.GOROOT,
		Overlays: map[string]string{
			sourcePlace + "/out": filepath.Join(place, "built"), modulesPlace: settings.GOMODCACHE, buildsPlace: settings.GOCACHE,
		},
		Cache: artifact.Paths{Out: out}.Cache(), Built: filepath.Join(place, "built"),
		Env: env, Commit: strings.TrimSpace(string(commit)), Source: root,
	}, nil
}

func goEnv(ctx context.Context, into any, flags ...string) error {
	out, err := exec.CommandContext(ctx, "go", append([]string{"env", "-json"}, flags...)...).Output()
	if err != nil {
		return fmt.Errorf("read Go's settings: %w", err)
	}

	return json.Unmarshal(out, into)
}

// environment returns that of a fresh login, with the host's network settings.
func environment(ctx context.Context) ([]string, error) {
	env := []string{"HOME=" + home, "USER=root", "LANG=C.UTF-8", "PATH=" + goPlace + "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

	changed := map[string]string{}
	if err := goEnv(ctx, &changed, "-changed"); err != nil {
		return nil, err
	}

	for _, name := range slices.Sorted(maps.Keys(changed)) {
		if aboutModules(name) {
			env = append(env, name+"="+changed[name])
		}
	}

	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch strings.ToLower(name) {
		case "http_proxy", "https_proxy", "no_proxy", "all_proxy", "ssl_cert_file", "ssl_cert_dir":
			env = append(env, v)
		}
	}

	return env, nil
}

// aboutModules reports whether a setting of Go is about the source of modules. The paths of Go and its caches are the
// host's own.
func aboutModules(name string) bool {
	return slices.Contains([]string{"GOPROXY", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOINSECURE", "GOVCS", "GOFLAGS"}, name)
}

// prepare creates the folders for the machine's writes, and copies the files of the host that it needs for the network.
func (m *machine) prepare(ctx context.Context) error {
	upper := m.upper("/")
	for _, dir := range []string{m.Root, filepath.Join(upper, sourcePlace), filepath.Join(upper, "etc/apt/apt.conf.d"), filepath.Join(upper, "etc/ssl/certs")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}

	if err := m.linkCache(); err != nil {
		return fmt.Errorf("link the build cache: %w", err)
	}

	clone := exec.CommandContext(ctx, "git", "clone", "--quiet", "--no-hardlinks", m.Source, filepath.Join(upper, sourcePlace))
	if out, err := clone.CombinedOutput(); err != nil {
		return fmt.Errorf("clone the project: %w: %s", err, out)
	}

	files, err := aptFiles(ctx)
	if err != nil {
		return err
	}

	for _, name := range []string{"etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt"} {
		text, err := os.ReadFile("/" + name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}

		if err == nil {
			files[name] = text
		}
	}

	for name, text := range files {
		if err := os.WriteFile(filepath.Join(upper, name), text, 0o644); err != nil {
			return err
		}
	}

	return nil
}

// linkCache creates the folder out as it is after make clean, with nothing but the cache. Its files are links to the host's:
// a build on the host may clean its cache, and the lower folder of an overlay must not change.
func (m *machine) linkCache() error {
	cache := filepath.Join(m.Built, "cache")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}

	entries, err := os.ReadDir(m.Cache)
	if err != nil {
		return err
	}

	for _, e := range entries {
		if !e.IsDir() || e.Name() == cachedBase {
			continue
		}

		if err := graph.LinkTree(filepath.Join(m.Cache, e.Name()), filepath.Join(cache, e.Name())); err != nil {
			return err
		}
	}

	return nil
}

// upper returns the folder for the writes below a place of the machine.
func (m *machine) upper(place string) string {
	return filepath.Join(m.Place, "written", strings.ReplaceAll(strings.Trim(place, "/"), "/", "-")+".d")
}

// insideArgument makes this program process 1 of a machine.
const insideArgument = "inside"

// enter starts process 1 and waits for it. It ends with this program, and all processes and mounts of the machine end with
// it.
func (m *machine) enter(ctx context.Context) error {
	description, err := json.Marshal(m)
	if err != nil {
		return err
	}

	cmd := exec.CommandContext(ctx, "/proc/self/exe", insideArgument, string(description))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
		Setpgid:    true, // Ctrl-C is for this program
	}
	cmd.WaitDelay = 10 * time.Second

	// Pdeathsig is sent when the thread that started the process ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}

		return fmt.Errorf("in the fresh machine: %w", err)
	}

	return nil
}

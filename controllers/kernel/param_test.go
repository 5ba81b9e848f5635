// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kernel

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	cosiruntime "github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/platform"
)

func TestParamController(t *testing.T) {
	root := t.TempDir()
	write := func(path, content string) {
		t.Helper()

		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(path string) string {
		t.Helper()

		content, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}

		return string(content)
	}

	write("proc/sys/net/ipv4/ip_forward", "0\n")
	write("proc/sys/net/ipv4/conf/eth0.100/rp_filter", "2\n")
	write("proc/sys/kernel/panic", "10\n")

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		st := memory.New()
		rt := cosiruntime.New(st, slog.New(slog.NewTextHandler(io.Discard, nil)))

		if err := rt.RegisterController(ParamController(root, platform.Platform{})); err != nil {
			t.Fatal(err)
		}

		go rt.Run(ctx)

		for id, spec := range map[string]runtime.KernelParamDefaultSpecSpec{
			"proc.sys.net.ipv4.ip_forward":   {Value: "1", IgnoreErrors: true},
			"proc.sys.kernel.panic":          {Value: "10"},
			"proc.sys.net.bridge.nf-call":    {Value: "1", IgnoreErrors: true},
			"proc.sys.kernel.does_not_exist": {Value: "1", IgnoreErrors: true},
		} {
			if err := typed.Set(ctx, st, "", id, spec); err != nil {
				t.Fatal(err)
			}
		}

		override := resource.PointerOf[runtime.KernelParamSpecSpec]("", "proc.sys.kernel.panic")
		if err := typed.Set(ctx, st, "", override.ID, runtime.KernelParamSpecSpec{Value: "5"}); err != nil {
			t.Fatal(err)
		}

		dotted := "proc.sys.net.ipv4.conf.eth0/100.rp_filter"
		if err := typed.Set(ctx, st, "", dotted, runtime.KernelParamSpecSpec{Value: "1"}); err != nil {
			t.Fatal(err)
		}

		synctest.Wait()

		statuses, err := typed.List[runtime.KernelParamStatusSpec](ctx, st, "")
		if err != nil {
			t.Fatal(err)
		}

		got := map[string]runtime.KernelParamStatusSpec{}
		for _, r := range statuses {
			got[r.Metadata().ID()] = *r.TypedSpec()
		}

		want := map[string]runtime.KernelParamStatusSpec{
			"proc.sys.net.ipv4.ip_forward":   {Current: "1", Default: "0"},
			"proc.sys.kernel.panic":          {Current: "5", Default: "10"},
			"proc.sys.net.bridge.nf-call":    {Unsupported: true},
			"proc.sys.kernel.does_not_exist": {Unsupported: true},
			dotted:                           {Current: "1", Default: "2"},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("want (-), got (+):\n%s", d)
		}

		// A module adds its parameters.
		write("proc/sys/net/bridge/nf-call", "0")

		if err := typed.Set(ctx, st, "", "br_netfilter", runtime.LoadedKernelModuleSpec{Size: 1}); err != nil {
			t.Fatal(err)
		}

		// Without their specs, parameters are restored.
		for _, ptr := range []resource.Pointer{override, resource.PointerOf[runtime.KernelParamSpecSpec]("", dotted)} {
			if err := st.Destroy(ctx, ptr); err != nil {
				t.Fatal(err)
			}
		}

		time.Sleep(time.Second)
		synctest.Wait()

		for path, want := range map[string]string{
			"proc/sys/net/bridge/nf-call": "1", "proc/sys/kernel/panic": "10", "proc/sys/net/ipv4/conf/eth0.100/rp_filter": "2",
		} {
			if got := read(path); got != want {
				t.Errorf("%s: got %q, want %q", path, got, want)
			}
		}

		cancel()
		synctest.Wait()
	})
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kernel

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	cosiruntime "github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/platform"
)

// A link must accept routers although it forwards (accept_ra 2) before it forwards, and as long as it does. Otherwise the kernel removes
// the routes of the routers when the link begins to forward.
func TestParamOrder(t *testing.T) {
	const links = 8

	root, watch := t.TempDir(), newWriteWatch(t)

	var names []string

	for i := range links {
		name := fmt.Sprintf("eth%d", i)
		names = append(names, name)

		dir := filepath.Join(root, "proc/sys/net/ipv6/conf", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}

		for param, value := range map[string]string{"accept_ra": "1", "forwarding": "0"} {
			if err := os.WriteFile(filepath.Join(dir, param), []byte(value), 0o644); err != nil {
				t.Fatal(err)
			}
		}

		watch.add(dir)
	}

	var want []string

	for _, name := range names {
		want = append(want, name+"/accept_ra", name+"/forwarding")
	}

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		st := memory.New()
		rt := cosiruntime.New(st, slog.New(slog.DiscardHandler))

		if err := rt.RegisterController(ParamController(root, platform.Platform{})); err != nil {
			t.Fatal(err)
		}

		for _, name := range names {
			for param, value := range map[string]string{"accept_ra": "2", "forwarding": "1"} {
				if err := typed.Set(t.Context(), st, "", "proc.sys.net.ipv6.conf."+name+"."+param, runtime.KernelParamDefaultSpecSpec{Value: value}); err != nil {
					t.Fatal(err)
				}
			}
		}

		go rt.Run(ctx)

		synctest.Wait()

		if d := cmp.Diff(want, watch.written()); d != "" {
			t.Errorf("set: want (-), got (+):\n%s", d)
		}

		// After a failure the controller waits; a spec that is destroyed in that time has effect at once.
		if err := typed.Set(t.Context(), st, "", "proc.sys.none", runtime.KernelParamSpecSpec{Value: "1"}); err != nil {
			t.Fatal(err)
		}

		synctest.Wait()

		for _, name := range names {
			for _, param := range []string{"accept_ra", "forwarding"} {
				ptr := resource.PointerOf[runtime.KernelParamDefaultSpecSpec]("", "proc.sys.net.ipv6.conf."+name+"."+param)
				if err := st.Destroy(t.Context(), ptr); err != nil {
					t.Fatal(err)
				}
			}
		}

		time.Sleep(time.Minute)
		synctest.Wait()

		slices.Reverse(want)

		if d := cmp.Diff(want, watch.written()); d != "" {
			t.Errorf("put back: want (-), got (+):\n%s", d)
		}

		cancel()
		synctest.Wait()
	})
}

// writeWatch records the order in which files are written.
type writeWatch struct {
	t    *testing.T
	fd   int
	dirs map[int32]string
}

func newWriteWatch(t *testing.T) *writeWatch {
	t.Helper()

	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { unix.Close(fd) })

	return &writeWatch{t, fd, map[int32]string{}}
}

func (w *writeWatch) add(dir string) {
	w.t.Helper()

	wd, err := unix.InotifyAddWatch(w.fd, dir, unix.IN_CLOSE_WRITE)
	if err != nil {
		w.t.Fatal(err)
	}

	w.dirs[int32(wd)] = filepath.Base(dir)
}

// written returns the files that were written since the last call.
func (w *writeWatch) written() []string {
	w.t.Helper()

	var out []string

	buf := make([]byte, 64<<10)

	for {
		n, err := unix.Read(w.fd, buf)
		if err == unix.EAGAIN {
			return out
		}

		if err != nil {
			w.t.Fatal(err)
		}

		for b := buf[:n]; len(b) > 0; {
			size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
			name := bytes.TrimRight(b[unix.SizeofInotifyEvent:size], "\x00")
			out = append(out, w.dirs[int32(binary.NativeEndian.Uint32(b))]+"/"+string(name))
			b = b[size:]
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/runtime"
)

func TestNextTrim(t *testing.T) {
	start := time.Unix(1_700_000_000, 500)
	seen := map[time.Time]bool{}

	for i := range 50 {
		seed := fmt.Sprint("node", i, "/EPHEMERAL")
		first := nextTrim(start, time.Hour, seed)
		seen[first] = true

		if wait := first.Sub(start); wait <= 0 || wait > time.Hour {
			t.Errorf("%s: the first is after %s", seed, wait)
		}

		if got := nextTrim(first.Add(-time.Nanosecond), time.Hour, seed); !got.Equal(first) {
			t.Errorf("%s: just before: got %s, want %s", seed, got, first)
		}

		if got := nextTrim(first, time.Hour, seed); !got.Equal(first.Add(time.Hour)) {
			t.Errorf("%s: the second is %s after the first", seed, got.Sub(first))
		}
	}

	if len(seen) < 40 {
		t.Errorf("50 nodes have only %d times", len(seen))
	}
}

const trimming = `machine:
  type: worker
---
apiVersion: v1alpha1
kind: FilesystemTrimConfig
interval: 1h
`

// TestTrim: each volume is trimmed once in each interval, that of its own document if it has one. A volume that cannot be trimmed has
// a condition, and one that is read-only has no schedule.
func TestTrim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			mu    sync.Mutex
			times = map[string][]time.Time{}
			fail  error
		)

		trim := func(_ context.Context, target string) (uint64, error) {
			mu.Lock()
			defer mu.Unlock()

			times[target] = append(times[target], time.Now())

			return 1 << 20, fail
		}

		n := controllertest.Start(t, VolumeTrimScheduleController(), VolumeTrimController(trim))
		controllertest.Set(n, cluster.LocalIdentityID, cluster.IdentitySpec{NodeID: "node"})
		controllertest.Set(n, block.VolumeEphemeral, block.MountStatusSpec{Target: "/var", Filesystem: block.FilesystemTypeXFS})
		controllertest.Set(n, block.VolumeState, block.MountStatusSpec{Target: "/state"})
		controllertest.Set(n, block.VolumeImageCache, block.MountStatusSpec{Target: "/cache", ReadOnly: true})
		n.Configure([]byte(trimming + "---\napiVersion: v1alpha1\nkind: VolumeConfig\nname: STATE\ntrim: {interval: 6h}\n"))

		got := controllertest.Wait[block.VolumeTrimScheduleSpec](n, block.VolumeEphemeral, nil)
		if got.Interval != time.Hour || got.Filesystem != block.FilesystemTypeXFS || got.NextTrim.After(time.Now().Add(time.Hour)) {
			t.Errorf("got %+v", got)
		}

		time.Sleep(24 * time.Hour)
		synctest.Wait()
		mu.Lock()

		if a, b, c := len(times["/var"]), len(times["/state"]), len(times["/cache"]); a != 24 || b != 4 || c != 0 {
			t.Errorf("within a day: got %d, %d and %d times, want 24, 4 and 0", a, b, c)
		}

		for i, at := range times["/var"] {
			if i > 0 && at.Sub(times["/var"][i-1]) < time.Hour-time.Second {
				t.Errorf("trim %d is %s after the one before", i, at.Sub(times["/var"][i-1]))
			}
		}

		fail = errors.New("no discard")
		mu.Unlock()

		time.Sleep(time.Hour)
		controllertest.Wait(n, "trim/"+block.VolumeEphemeral, func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, "no discard") })

		mu.Lock()
		fail = nil
		mu.Unlock()

		time.Sleep(time.Hour)
		cositest.WaitGone[runtime.SettingConditionSpec](n.Environment, "trim/"+block.VolumeEphemeral)

		n.Configure([]byte(trimming + "---\napiVersion: v1alpha1\nkind: VolumeConfig\nname: EPHEMERAL\ntrim: {enabled: false}\n"))
		cositest.WaitGone[block.VolumeTrimScheduleSpec](n.Environment, block.VolumeEphemeral)

		mu.Lock()
		before := len(times["/var"])
		mu.Unlock()

		time.Sleep(5 * time.Hour)
		mu.Lock()
		defer mu.Unlock()

		if after := len(times["/var"]); after != before {
			t.Errorf("trimmed %d times after that was turned off", after-before)
		}
	})
}

// TestTrimStops: a trim that takes long keeps nothing else waiting, and ends when its volume is to be unmounted. The next one takes place.
func TestTrimStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, ended := make(chan string, 100), make(chan error, 100)

		trim := func(ctx context.Context, target string) (uint64, error) {
			begun <- target
			<-ctx.Done()

			ended <- ctx.Err()

			return 0, ctx.Err()
		}

		n := controllertest.Start(t, VolumeTrimScheduleController(), VolumeTrimController(trim))
		controllertest.Set(n, cluster.LocalIdentityID, cluster.IdentitySpec{NodeID: "node"})
		controllertest.Set(n, block.VolumeEphemeral, block.MountStatusSpec{Target: "/var", Filesystem: block.FilesystemTypeXFS})
		n.Configure([]byte(trimming))

		<-begun
		time.Sleep(3 * time.Hour) // the trim is still running: no second one begins
		synctest.Wait()

		if len(begun) != 0 || len(ended) != 0 {
			t.Errorf("got %d further trims, %d ended", len(begun), len(ended))
		}

		cositest.Teardown[block.MountStatusSpec](n.Environment, block.VolumeEphemeral)
		<-ended
		n.Quiet(time.Hour)

		controllertest.Set(n, block.VolumeEphemeral, block.MountStatusSpec{Target: "/var", Filesystem: block.FilesystemTypeXFS})
		<-begun
	})
}

// TestZswap: the document becomes kernel parameters.
func TestZswap(t *testing.T) {
	n := controllertest.Start(t, ZswapConfigController())
	n.Configure([]byte("apiVersion: v1alpha1\nkind: ZswapConfig\nmaxPoolPercent: 25\nshrinkerEnabled: true\n"))

	for name, want := range map[string]string{"enabled": "Y", "max_pool_percent": "25", "shrinker_enabled": "Y"} {
		got := controllertest.Wait[runtime.KernelParamSpecSpec](n, "sys.module.zswap.parameters."+name, nil)
		if got.Value != want || !got.IgnoreErrors {
			t.Errorf("%s: got %+v, want %s", name, got, want)
		}
	}

	n.Configure([]byte("apiVersion: v1alpha1\nkind: ZswapConfig\n"))
	controllertest.Wait(n, zswapParams+"max_pool_percent", func(s runtime.KernelParamSpecSpec) bool { return s.Value == "20" })
	controllertest.Wait(n, zswapParams+"shrinker_enabled", func(s runtime.KernelParamSpecSpec) bool { return s.Value == "N" })
	n.Configure([]byte("machine:\n  type: worker\n"))
	cositest.WaitGone[runtime.KernelParamSpecSpec](n.Environment, zswapParams+"enabled")
}

// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/etcd"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// world is an etcd that is killed, stopped and restored, and two simulated processes that use it over connections that are
// cut or hang.
type world struct {
	testing.TB

	dir    string
	server *server
	direct *clientv3.Client // without faults
	ways   [2]*proxy
	stores [2]*etcd.Store

	life   atomic.Int32 // 1 until etcd is restored, then 2
	number atomic.Int64 // of started operations
	last   int64

	mu     sync.Mutex
	claims []*claim
	faults map[string]int
}

// TestFaults runs random operations in two processes, with faults and one restore from a snapshot. Then it compares their
// results and events with the history in etcd. ETCD_TEST_OPERATIONS sets the number of operations.
func TestFaults(t *testing.T) {
	missing(t, "etcd", "etcdutl")
	ok(t, resource.Register[conformance.ItemSpec]())

	operations, _ := strconv.Atoi(os.Getenv("ETCD_TEST_OPERATIONS"))
	operations = max(operations, 1500)

	w := &world{TB: t, dir: t.TempDir(), last: int64(operations), faults: map[string]int{}}
	w.server = ownServer(t, filepath.Join(w.dir, "1"))
	w.direct = dialTo(t, w.server.endpoint())
	w.life.Store(1)

	for i := range w.stores {
		w.ways[i] = newProxy(t, w.server.endpoint())
		w.stores[i] = openAt(t, dialTo(t, w.ways[i].endpoint()), "/p", etcd.WithSilence(2*time.Second), etcd.WithHistory(4*operations))
	}

	var readers []*reader

	for i := range w.stores {
		readers = append(readers, w.read(i, 0), w.read(i, 100*time.Millisecond))
	}

	var working, failing sync.WaitGroup

	done := make(chan struct{})

	failing.Go(func() { w.fail(done) })
	failing.Go(func() { w.damage() })

	for i := range 8 {
		working.Go(func() { w.work(w.stores[i%2], rand.New(rand.NewPCG(1, uint64(i)))) })
	}

	working.Wait()
	close(done)
	failing.Wait()

	// A reader that has this event has all events.
	retry(t, func() error { return w.stores[0].Create(t.Context(), conformance.NewItem(ns, "last", "")) })

	for _, r := range readers {
		r.finish(t)
	}

	w.check(readers)
}

// now returns a moment after all answered operations.
func (w *world) now() moment {
	for {
		life := w.life.Load()

		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		res, err := w.direct.Get(ctx, "/nothing")

		cancel()

		if err == nil && w.life.Load() == life {
			return moment{int(life), res.Header.Revision}
		}

		time.Sleep(10 * time.Millisecond)
	}
}

func (w *world) work(st state.State, r *rand.Rand) {
	for {
		number := w.number.Add(1)
		if number > w.last {
			return
		}

		from := w.now()
		ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
		c := operate(ctx, st, r, int(number))

		cancel()

		if c == nil {
			continue
		}

		c.from, c.to = from, w.now()

		w.mu.Lock()
		w.claims = append(w.claims, c)
		w.mu.Unlock()
	}
}

func (w *world) note(fault string) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.faults[fault]++
}

// fail cuts connections, makes them hang, and stops etcd for a while.
func (w *world) fail(done <-chan struct{}) {
	for r := rand.New(rand.NewPCG(2, 2)); ; {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(30+r.IntN(150)) * time.Millisecond):
		}

		way := w.ways[r.IntN(2)]

		switch r.IntN(3) {
		case 0:
			way.cut()
			w.note("cut")
		case 1:
			way.hang(time.Duration(r.IntN(200)) * time.Millisecond)
			w.note("hung")
		case 2:
			w.mu.Lock()
			process := w.server.cmd.Process
			process.Signal(syscall.SIGSTOP)
			time.Sleep(50 * time.Millisecond)
			process.Signal(syscall.SIGCONT)
			w.mu.Unlock()
			w.note("etcd stopped")
		}
	}
}

// damage kills etcd, takes a snapshot, and restores it.
func (w *world) damage() {
	snapshot := filepath.Join(w.dir, "snapshot")

	w.after(0.2)
	w.replace(func() error { return w.server.start(filepath.Join(w.dir, "1")) })
	w.note("etcd killed")

	w.after(0.45)
	ok(w, saveSnapshot(w.Context(), w.direct, snapshot))

	w.after(0.6)
	w.replace(func() error {
		if err := w.server.restore(snapshot, filepath.Join(w.dir, "2")); err != nil {
			return err
		}

		w.life.Store(2)

		return w.server.start(filepath.Join(w.dir, "2"))
	})
	w.note("etcd restored")

	w.after(0.8)
	w.replace(func() error { return w.server.start(filepath.Join(w.dir, "2")) })
	w.note("etcd killed")
}

func (w *world) after(part float64) {
	for float64(w.number.Load()) < part*float64(w.last) {
		time.Sleep(time.Millisecond)
	}
}

// replace kills etcd and starts another one.
func (w *world) replace(start func() error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.server.kill()
	ok(w, start())
}

func (w *world) check(readers []*reader) {
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()

	var (
		lives [2]truth
		err   error
	)

	w.now() // waits until it answers
	lives[1], err = readTruth(ctx, w.direct, "/p")
	ok(w, err)

	w.replace(func() error { return w.server.start(filepath.Join(w.dir, "1")) })

	w.now()
	lives[0], err = readTruth(ctx, w.direct, "/p")
	ok(w, err)

	untrue, lostEvents, resumed := 0, 0, 0

	for _, c := range w.claims {
		if !c.holds(lives) {
			untrue++
			w.Errorf("%s of %s, called at %v and answered at %v, is not true", c.what, c.id, c.from, c.to)
		}
	}

	for _, r := range readers {
		resumed += r.resumed

		if n := lost(r.told, lives[0], lives[1]); n > 0 {
			lostEvents += n
			w.Errorf("the reader at store %d, every %s, received %d events, and missed %d", r.at, r.every, len(r.told), n)
		}
	}

	w.Logf("%d operations of two processes, %d answers, %d changes in etcd; faults: %v; watches resumed %d times", w.last,
		len(w.claims), len(lives[0].changes)+len(lives[1].changes), w.faults, resumed)
	w.Logf("lost events %d; false acknowledgements %d", lostEvents, untrue)

	if len(w.claims) < int(w.last)/2 || resumed == 0 {
		w.Error("too little was answered or resumed: too little was tested")
	}
}

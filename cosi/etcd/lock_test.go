// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/etcd"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// patience is the time after which a test of locks gives up.
const patience = 30 * time.Second

func acquire(t testing.TB, client *clientv3.Client, holder string, opts ...etcd.LockOption) *etcd.Lock {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	lock, err := etcd.Acquire(ctx, client, "/lock", append(opts, etcd.WithHolder(holder), etcd.WithLease(3*time.Second))...)
	ok(t, err)
	t.Cleanup(func() { lock.Release(context.Background()) })

	return lock
}

// knowsLoss checks that the holder knows that it lost the lock.
func knowsLoss(t testing.TB, lock *etcd.Lock) {
	t.Helper()

	select {
	case <-lock.Lost():
	default:
		t.Error("the previous holder does not know that it lost the lock")
	}
}

// holder waits until the lock has the holder, "" for none.
func holder(t testing.TB, client *clientv3.Client, want string) {
	t.Helper()

	retry(t, func() error {
		got, err := etcd.Holder(t.Context(), client, "/lock")
		if errors.Is(err, etcd.ErrNotHeld) {
			got, err = "", nil
		}

		if err == nil && got != want {
			err = fmt.Errorf("holder: got %q, want %q", got, want)
		}

		return err
	})
}

// TestLock: who waits gets the lock in the order of the calls, is told who holds it, and leaves no trace when it gives up.
func TestLock(t *testing.T) {
	srv := ownServer(t, t.TempDir())
	client := dialTo(t, srv.endpoint())

	first := acquire(t, client, "first")
	holder(t, client, "first")

	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()

	_, err := etcd.Acquire(short, client, "/lock", etcd.WithHolder("impatient"))

	var locked *etcd.LockedError
	if !errors.As(err, &locked) || locked.Holder != "first" || !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "first holds it") {
		t.Errorf("while it is held: got %v, want a LockedError that names first, and its cause", err)
	}

	got := make(chan *etcd.Lock, 2)

	for i := range 2 {
		name := fmt.Sprint("waiter ", i)

		go func() { got <- acquire(t, client, name) }()

		retry(t, func() error {
			queue, err := client.Get(t.Context(), "/lock/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			if err == nil && queue.Count != int64(i+2) { // that the impatient one has left is a part of this
				err = fmt.Errorf("got %d in the queue, want %d", queue.Count, i+2)
			}

			return err
		})
	}

	for i, last := 0, first; i < 2; i++ {
		ok(t, last.Release(t.Context()))
		within(t, "Lost after Release", patience, last.Lost())

		next := within(t, "the next one acquires the lock", patience, got)
		holder(t, client, fmt.Sprint("waiter ", i))

		if next.Place() <= last.Place() {
			t.Errorf("places of consecutive holders: got %d after %d", next.Place(), last.Place())
		}

		ok(t, last.Release(t.Context())) // again

		last = next
	}
}

// TestLockFence: a holder that was cut off loses the lock after the next one may have it. None of its writes is made.
func TestLockFence(t *testing.T) {
	srv := ownServer(t, t.TempDir())
	way := newProxy(t, srv.endpoint())
	direct := dialTo(t, srv.endpoint())

	first := acquire(t, dialTo(t, way.endpoint()), "first")
	st := openAt(t, direct, "/fenced") // its connection works, as if the lease alone were late

	fenced, cancel := first.Context(t.Context())
	defer cancel()

	ok(t, typed.Set(fenced, st, "", "book", BookSpec{Title: "by first"}))

	hung := make(chan struct{})

	go func() {
		defer close(hung)

		way.hang(8 * time.Second)
	}()

	second := acquire(t, direct, "second") // when the lease has expired

	knowsLoss(t, first) // before the second one had it

	if cause := context.Cause(fenced); !errors.Is(cause, etcd.ErrNotLeading) {
		t.Errorf("cause of the end: got %v, want %v", cause, etcd.ErrNotLeading)
	}

	ptr := resource.PointerOf[BookSpec]("", "book")
	stale := etcd.Fenced(t.Context(), first) // one that does not know it

	for what, write := range map[string]func() error{
		"set":           func() error { return typed.Set(stale, st, "", "book", BookSpec{Title: "late"}) },
		"create":        func() error { return typed.Set(stale, st, "", "other", BookSpec{Title: "late"}) },
		"add finalizer": func() error { return st.AddFinalizer(stale, ptr, "late") },
		"destroy":       func() error { return st.Destroy(stale, ptr) },
	} {
		if err := write(); !errors.Is(err, etcd.ErrFenced) {
			t.Errorf("%s by the one that lost the lock: got %v, want %v", what, err, etcd.ErrFenced)
		}
	}

	res, err := direct.Txn(t.Context()).If(first.Held()).Then(clientv3.OpPut("/late", "")).Commit()
	ok(t, err)

	if res.Succeeded {
		t.Error("a transaction on the condition Held succeeded for the one that lost the lock")
	}

	// A conflict is decided again, also with a fence.
	ok(t, typed.Set(etcd.Fenced(t.Context(), second), st, "", "book", BookSpec{Title: "by second"}))

	got, err := typed.Get[BookSpec](t.Context(), st, "", "book")
	ok(t, err)

	if got.TypedSpec().Title != "by second" || len(got.Metadata().Finalizers()) > 0 {
		t.Errorf("got %v", got)
	}

	<-hung
}

// TestLockOfStoppedProcess: a process that is stopped while it holds the lock and continues later, like a paused virtual machine,
// does not notice at once that it lost the lock. Its fenced writes are refused all the same.
func TestLockOfStoppedProcess(t *testing.T) {
	if at := os.Getenv("LOCK_HOLDER"); at != "" {
		holdAndWrite(t, at)

		return
	}

	srv := ownServer(t, t.TempDir())
	client := dialTo(t, srv.endpoint())
	st := openAt(t, client, "/fenced")

	self, err := os.Executable()
	ok(t, err)

	//program:self the test itself
	cmd := exec.Command(self, "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "LOCK_HOLDER="+srv.endpoint())

	var out strings.Builder

	cmd.Stdout, cmd.Stderr = &out, &out
	ok(t, cmd.Start())

	ended := false

	defer func() {
		if !ended {
			cmd.Process.Kill()
			cmd.Wait()
		}
	}()

	// It writes all the time.
	version := func() uint64 {
		r, err := typed.Get[BookSpec](t.Context(), st, "", "book")
		if err != nil {
			return 0
		}

		return r.Metadata().Version()
	}

	retry(t, func() error {
		if v := version(); v < 2 {
			return errors.New("the other process has not written twice")
		}

		return nil
	})

	ok(t, cmd.Process.Signal(syscall.SIGSTOP))

	second := acquire(t, client, "second")

	ok(t, typed.Set(etcd.Fenced(t.Context(), second), st, "", "book", BookSpec{Title: "by second"}))

	before := version()

	ok(t, cmd.Process.Signal(syscall.SIGCONT))

	err = cmd.Wait() // it ends when a write is refused
	ended = true

	if err != nil || !strings.Contains(out.String(), "refused: ") {
		t.Errorf("the process that was stopped: got %v, want that its write is refused\n%s", err, out.String())
	}

	if after := version(); after != before {
		t.Errorf("the process that was stopped has written: version %d, want %d", after, before)
	}
}

// holdAndWrite writes under the lock until a write is refused. It does not look whether it holds the lock.
func holdAndWrite(t *testing.T, endpoint string) {
	client := dialTo(t, endpoint)
	st := openAt(t, client, "/fenced")
	ctx := etcd.Fenced(t.Context(), acquire(t, client, "first"))

	for i := 0; ; i++ {
		err := typed.Set(ctx, st, "", "book", BookSpec{Title: fmt.Sprint(i)})
		if errors.Is(err, etcd.ErrFenced) {
			fmt.Println("refused:", err)

			return
		}

		ok(t, err)
	}
}

// TestLockOfKilledProcess: the lock of a holder that vanished expires, and so does the resource that shows it.
func TestLockOfKilledProcess(t *testing.T) {
	srv := ownServer(t, t.TempDir())
	client := dialTo(t, srv.endpoint())
	st := openAt(t, client, "/shown")

	show := func(name string) etcd.LockOption {
		return etcd.ShownAs("/shown", func(time.Time) resource.Resource {
			r := resource.New[BookSpec]("", "lock")
			r.TypedSpec().Title = name

			return r
		})
	}

	events := make(chan state.Event, 100)
	ok(t, st.Watch(t.Context(), resource.PointerOf[BookSpec]("", "lock"), events))

	gone := dialTo(t, srv.endpoint())
	first := acquire(t, gone, "first", show("first"))

	ok(t, gone.Close()) // from now on it cannot renew its lease

	second := acquire(t, client, "second", show("second"))
	knowsLoss(t, first)
	ok(t, second.Release(t.Context()))

	var got []string

	for len(got) < 5 {
		ev := within(t, fmt.Sprintf("an event after %q", got), patience, events)

		what := ev.Type.String()
		if ev.Resource != nil && ev.Type == state.Created {
			what += " " + ev.Resource.Spec().(*BookSpec).Title
		}

		got = append(got, what)
	}

	if text, want := strings.Join(got, ", "), "destroyed, created first, destroyed, created second, destroyed"; !strings.EqualFold(text, want) {
		t.Errorf("events of the resource that shows the lock: got %s, want %s", text, want)
	}
}

// TestLockRevoked: when etcd has no such lease any more, the holder knows it at its next renewal.
func TestLockRevoked(t *testing.T) {
	srv := ownServer(t, t.TempDir())
	client := dialTo(t, srv.endpoint())

	lock := acquire(t, client, "first")

	leases, err := client.Leases(t.Context())
	ok(t, err)

	for _, l := range leases.Leases {
		_, err := client.Revoke(t.Context(), l.ID)
		ok(t, err)
	}

	within(t, "the lock is lost", patience, lock.Lost())
	acquire(t, client, "second")
}

// TestLockWithoutServer: an error, not a wait, when etcd does not answer.
func TestLockWithoutServer(t *testing.T) {
	srv := ownServer(t, t.TempDir())
	client := dialTo(t, srv.endpoint())
	srv.kill()

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()

	var locked *etcd.LockedError
	if _, err := etcd.Acquire(ctx, client, "/lock"); err == nil || errors.As(err, &locked) {
		t.Errorf("got %v, want an error that names no holder", err)
	}
}

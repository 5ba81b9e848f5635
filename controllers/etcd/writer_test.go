// SPDX-License-Identifier: Apache-2.0

//go:build linux

package etcd

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// writer writes keys until it is stopped, and remembers those that were acknowledged.
type writer struct {
	stop context.CancelFunc
	done chan struct{}
	// enough is closed when some writes were acknowledged: the members may leave within half a second.
	enough       chan struct{}
	acknowledged []int
	failed       atomic.Int64
}

func startWriter(client *clientv3.Client) *writer {
	ctx, cancel := context.WithCancel(context.Background())
	w := &writer{stop: cancel, done: make(chan struct{}), enough: make(chan struct{})}

	go func() {
		defer close(w.done)

		pace := time.NewTicker(5 * time.Millisecond) // it must not keep a small computer busy
		defer pace.Stop()

		for i := 0; ctx.Err() == nil; i++ {
			<-pace.C

			try, done := context.WithTimeout(ctx, 5*time.Second)
			_, err := client.Put(try, "/written/"+strconv.Itoa(i), "x")

			done()

			if err == nil {
				if w.acknowledged = append(w.acknowledged, i); len(w.acknowledged) == 10 {
					close(w.enough)
				}
			} else if ctx.Err() == nil {
				w.failed.Add(1)
			}
		}
	}()

	return w
}

// check stops the writer, and checks that each acknowledged write is there.
func (w *writer) check(t *testing.T, client *clientv3.Client) {
	t.Helper()

	select {
	case <-w.enough:
	case <-time.After(fleetPatience):
		t.Error("writes are not acknowledged any more")
	}

	w.stop()
	<-w.done

	list, err := client.Get(t.Context(), "/written/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}

	there := map[string]bool{}
	for _, kv := range list.Kvs {
		there[string(kv.Key)] = true
	}

	for _, i := range w.acknowledged {
		if !there["/written/"+strconv.Itoa(i)] {
			t.Errorf("the acknowledged write %d is lost", i)
		}
	}

	t.Logf("%d writes were acknowledged, %d failed", len(w.acknowledged), w.failed.Load())
}
